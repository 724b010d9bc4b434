//! `--store-delay`: a proxy between a bucket's clients and its endpoint that adds a delay to each request.
//!
//! A test S3 server on the same machine responds within a millisecond or two; a real bucket takes tens of them. What a
//! broker does with that time decides how fast it is on a bucket, so it has to be part of a measurement.
//!
//! The proxy forwards both directions byte for byte, so that signatures, which cover the header `Host`, stay valid. It
//! doesn't parse them: with HTTP/1.1, a connection's requests take turns, so the first bytes that return after bytes of
//! a request are the beginning of its response. The proxy holds these back; everything else flows. A request takes as
//! long as the server needs, plus the delay. Requests on different connections are delayed at the same time, and
//! bandwidth isn't limited.

use super::time::{as_text, parse_time};
use crate::error::BenchError;
use serde::Serialize;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

/// The variables that name an endpoint, the first one that is set counts; those of `rawline_broker::store::s3`.
pub const ENDPOINT_VARIABLES: [&str; 3] = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"];

/// Maximum number of bytes forwarded by one call. Both directions of eight busy connections fit in the CPU's cache.
const BUFFER_BYTES: usize = 128 << 10;

/// The flag `--store-delay`.
#[derive(Debug, Clone, clap::Args, Serialize)]
pub struct DelayArgs {
    /// Time that a proxy adds to each request to the bucket, such as 50ms: a real bucket's latency with a test server's
    /// bucket. Needs --storage s3://… and an AWS_ENDPOINT_URL that begins with http://
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    #[serde(serialize_with = "as_text")]
    pub store_delay: Option<Duration>,
}

impl DelayArgs {
    /// Starts the proxy, if the flag is given. `variables` lead to the bucket.
    pub async fn start(
        &self,
        storage: Option<&str>,
        variables: &[(String, String)],
    ) -> Result<Option<StoreDelay>, BenchError> {
        let Some(delay) = self.store_delay else { return Ok(None) };
        if !storage.is_some_and(|storage| storage.starts_with("s3://")) {
            let reason = "--store-delay delays the requests to a bucket; give --storage s3://BUCKET/PREFIX too";
            return Err(BenchError::Usage(reason.to_owned()));
        }
        StoreDelay::start(delay, variables).await.map(Some)
    }
}

/// A running proxy. Dropping it closes its connections.
pub struct StoreDelay {
    /// The bucket's endpoint for clients.
    pub endpoint: String,
    /// CPU time of its thread in nanoseconds, written whenever the thread has nothing to do.
    cpu_ns: Arc<AtomicU64>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl StoreDelay {
    /// Starts a proxy before the endpoint that `variables` name.
    pub async fn start(delay: Duration, variables: &[(String, String)]) -> Result<StoreDelay, BenchError> {
        let server = Server::of(variables)?;
        // A wrong address is reported here, by its name. Later it would be a failed request to the proxy.
        TcpStream::connect(&server.address).await.map_err(|error| {
            let address = &server.address;
            failed(&format!("can't connect to {address}: {error}; start the S3 server, or correct AWS_ENDPOINT_URL"))
        })?;
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
        let bound = listener.and_then(|listener| {
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            Ok((listener, address))
        });
        let (listener, address) = bound.map_err(|error| failed(&error.to_string()))?;
        let endpoint = format!("http://{address}{}", server.path);

        // The proxy has a separate thread, so that neither it nor the benchmark's client waits for the other, and
        // its CPU time is known.
        let cpu_ns = Arc::new(AtomicU64::new(0));
        let written = cpu_ns.clone();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .on_thread_park(move || written.store(thread_cpu_ns(), Ordering::Relaxed))
            .build()
            .map_err(|error| failed(&error.to_string()))?;
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            runtime.block_on(async move {
                tokio::select! {
                    _ = stopped => {}
                    () = accept(listener, server.address, delay) => {}
                }
            });
        });
        Ok(StoreDelay { endpoint, cpu_ns, stop: Some(stop), thread: Some(thread) })
    }

    /// The variables that lead to the bucket through the proxy.
    pub fn variables(&self, mut variables: Vec<(String, String)>) -> Vec<(String, String)> {
        variables.retain(|(name, _)| !ENDPOINT_VARIABLES.contains(&name.as_str()));
        variables.push(("AWS_ENDPOINT_URL".to_owned(), self.endpoint.clone()));
        variables
    }

    /// CPU time of the proxy so far.
    pub fn cpu(&self) -> Duration {
        Duration::from_nanos(self.cpu_ns.load(Ordering::Relaxed))
    }
}

impl Drop for StoreDelay {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It has panicked only if it is broken, which requests have reported already.
            let _ = thread.join();
        }
    }
}

fn failed(reason: &str) -> BenchError {
    BenchError::Failed(format!("can't start the proxy of --store-delay: {reason}"))
}

fn thread_cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// The S3 server.
#[derive(Debug, PartialEq)]
struct Server {
    /// Host and port.
    address: String,
    /// Path below which it has its buckets; mostly empty.
    path: String,
}

impl Server {
    /// The endpoint that these variables name.
    fn of(variables: &[(String, String)]) -> Result<Server, BenchError> {
        let value = |name: &str| variables.iter().find(|(other, value)| other == name && !value.is_empty());
        let Some((name, endpoint)) = ENDPOINT_VARIABLES.into_iter().find_map(value) else {
            return Err(BenchError::Usage(
                "--store-delay needs a test S3 server: start one, and set AWS_ENDPOINT_URL to its address, such as \
                 http://127.0.0.1:9000. A bucket of AWS has its own latency; omit --store-delay there"
                    .to_owned(),
            ));
        };
        let url: Option<hyper::Uri> = endpoint.parse().ok();
        let plain = url.filter(|url| url.scheme_str() == Some("http"));
        let Some((url, host)) = plain.and_then(|url| url.host().map(str::to_owned).map(|host| (url, host))) else {
            return Err(BenchError::Usage(format!(
                "--store-delay forwards plain HTTP, and {name} is {endpoint}; set it to the server's address without \
                 TLS, such as http://127.0.0.1:9000, or omit --store-delay"
            )));
        };
        let address = format!("{host}:{}", url.port_u16().unwrap_or(80));
        Ok(Server { address, path: url.path().trim_end_matches('/').to_owned() })
    }
}

/// Accepts connections until it is dropped, which drops their tasks too.
async fn accept(listener: std::net::TcpListener, server: String, delay: Duration) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    let mut connections = tokio::task::JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((client, _)) => {
                    let server = server.clone();
                    connections.spawn(async move {
                        // A broken connection is an error of the client's request; dropping both ends reports it.
                        let _ = forward(client, &server, delay).await;
                    });
                }
                // Out of file descriptors, for example: some connection ends soon.
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Forwards a connection until both directions have ended, or one is broken.
async fn forward(mut client: TcpStream, server: &str, delay: Duration) -> io::Result<()> {
    let mut server = TcpStream::connect(server).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    // Whether a request was sent whose response hasn't begun.
    let requested = AtomicBool::new(false);
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    let requests = copy(from_client, to_server, || {
        requested.store(true, Ordering::Relaxed);
        None
    });
    let responses = copy(from_server, to_client, || requested.swap(false, Ordering::Relaxed).then_some(delay));
    tokio::try_join!(requests, responses)?;
    Ok(())
}

/// Copies until the end of the stream. Before each part is written, `hold` returns its delay.
async fn copy(mut from: ReadHalf<'_>, mut to: WriteHalf<'_>, hold: impl Fn() -> Option<Duration>) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let count = from.read(&mut buffer).await?;
        if count == 0 {
            return to.shutdown().await;
        }
        if let Some(delay) = hold() {
            tokio::time::sleep(delay).await;
        }
        to.write_all(buffer.get(..count).unwrap_or_default()).await?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::time::Instant;

    const DELAY: Duration = Duration::from_millis(30);
    const LARGE: usize = 3 << 20;

    /// A server that reads a line and as many bytes as it says, and responds with as many, until the client closes.
    fn echo() -> String {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                std::thread::spawn(move || {
                    let mut length = [0; 8];
                    while stream.read_exact(&mut length).is_ok() {
                        let mut body = vec![0; u64::from_le_bytes(length) as usize];
                        stream.read_exact(&mut body).unwrap();
                        stream.write_all(&body).unwrap();
                    }
                });
            }
        });
        format!("http://{address}")
    }

    fn variables(endpoint: &str) -> Vec<(String, String)> {
        vec![("AWS_ENDPOINT_URL".to_owned(), endpoint.to_owned())]
    }

    fn exchange(stream: &mut std::net::TcpStream, body: &[u8]) -> Duration {
        let began = Instant::now();
        stream.write_all(&(body.len() as u64).to_le_bytes()).unwrap();
        stream.write_all(body).unwrap();
        let mut response = vec![0; body.len()];
        stream.read_exact(&mut response).unwrap();
        assert_eq!(response, body);
        began.elapsed()
    }

    #[tokio::test]
    async fn each_request_of_a_connection_is_delayed_and_forwarded_byte_for_byte() {
        let proxy = StoreDelay::start(DELAY, &variables(&echo())).await.unwrap();
        let address = proxy.endpoint.strip_prefix("http://").unwrap().to_owned();
        let client = tokio::task::spawn_blocking(move || {
            let mut stream = std::net::TcpStream::connect(address).unwrap();
            let mut large = vec![0; LARGE];
            fastrand::Rng::with_seed(1).fill(&mut large);
            for body in [&b"small"[..], &large, b"small again", &large] {
                let took = exchange(&mut stream, body);
                assert!(took >= DELAY, "{} bytes took {took:?}", body.len());
            }
        });
        client.await.unwrap();
        assert!(proxy.cpu() > Duration::ZERO);
    }

    #[tokio::test]
    async fn connections_end_with_the_proxy() {
        let proxy = StoreDelay::start(DELAY, &variables(&echo())).await.unwrap();
        let mut stream = std::net::TcpStream::connect(proxy.endpoint.strip_prefix("http://").unwrap()).unwrap();
        exchange(&mut stream, b"one");
        drop(proxy);
        assert!(!matches!(stream.read(&mut [0]), Ok(1)));
    }

    #[test]
    fn the_endpoint_is_that_of_the_store() {
        let server = Server::of(&variables("http://127.0.0.1:9000/")).unwrap();
        assert_eq!(server, Server { address: "127.0.0.1:9000".to_owned(), path: String::new() });
        let mut both = variables("http://one:1");
        both.push(("AWS_ENDPOINT_URL_S3".to_owned(), "http://[::1]/path".to_owned()));
        let server = Server::of(&both).unwrap();
        assert_eq!(server, Server { address: "[::1]:80".to_owned(), path: "/path".to_owned() });
        for (wrong, word) in [(variables("https://s3.example"), "without TLS"), (Vec::new(), "test S3 server")] {
            let error = Server::of(&wrong).unwrap_err();
            assert!(matches!(&error, BenchError::Usage(reason) if reason.contains(word)), "{error}");
        }
    }
}
