//! `--store-delay`: a proxy between a bucket's clients and its endpoint that takes as long as a real bucket does.
//!
//! A test S3 server on the same machine responds within a millisecond or two; a real bucket takes tens of them, and
//! some requests take seconds. What a broker does with that time decides how fast it is on a bucket, so it has to be
//! part of a measurement. `delay.rs` says how long a request takes, `connection.rs` forwards.

mod connection;
mod delay;
mod head;
mod pacer;

use crate::error::BenchError;
use connection::{Link, forward};
use delay::{Delay, Draws};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

/// The variables that name an endpoint, the first one that is set counts; those of `rawline_broker::store::s3`.
pub const ENDPOINT_VARIABLES: [&str; 3] = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"];

/// What AWS documents for one connection to S3: 85 to 90 MB/s.
const MB_PER_SECOND: f64 = 90.0;

/// The flags of the proxy.
#[derive(Debug, Clone, clap::Args)]
pub struct DelayArgs {
    /// Time that a proxy adds to each request to the bucket, for a test server in place of a real bucket: the same time
    /// for all, such as 50ms, or a distribution. s3: p50 25 ms, p95 60, p99 120, p99.9 400, one in 100,000 takes 10 s.
    /// stormy, a busy bucket: p50 80 ms, p95 880, one in 643 over 10 s, and bursts of 503 SlowDown. express, S3 Express
    /// One Zone: p50 5 ms, p99 15, p99.99 60. FILE has lines of a quantile from 0 to below 1 and milliseconds, such as
    /// "0.99 120", ascending; times between them are interpolated. Needs --storage s3://… and an AWS_ENDPOINT_URL that
    /// begins with http://
    #[arg(long, value_name = "TIME|s3|stormy|express|FILE", value_parser = Delay::parse)]
    pub store_delay: Option<Delay>,

    /// Bandwidth of each connection through that proxy in MB/s, in each direction; none for no limit [default: 90]
    #[arg(long, value_name = "MB/S", value_parser = Bandwidth::parse, requires = "store_delay")]
    pub store_bandwidth: Option<Bandwidth>,

    /// Seed of the proxy's times and refusals [default: 1]
    #[arg(long, value_name = "N", requires = "store_delay")]
    pub store_seed: Option<u64>,
}

/// Bandwidth of a connection in MB/s, if it is limited.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bandwidth(Option<f64>);

impl Bandwidth {
    fn parse(text: &str) -> Result<Bandwidth, String> {
        if matches!(text, "none" | "0") {
            return Ok(Bandwidth(None));
        }
        // Less would be a byte every second; more is more than memory has.
        let found = text.parse().ok().filter(|mb| (1e-6..=1e6).contains(mb));
        found
            .map(|mb| Bandwidth(Some(mb)))
            .ok_or_else(|| format!("{text:?} is not a number of MB/s, such as 90, nor none"))
    }
}

impl DelayArgs {
    fn bandwidth(&self) -> Bandwidth {
        self.store_bandwidth.unwrap_or(Bandwidth(Some(MB_PER_SECOND)))
    }

    fn seed(&self) -> u64 {
        self.store_seed.unwrap_or(1)
    }

    /// Starts the proxy of a benchmark, if the flag is given. `variables` lead to the bucket.
    pub async fn start(
        &self,
        storage: Option<&str>,
        variables: &[(String, String)],
    ) -> Result<Option<StoreDelay>, BenchError> {
        if self.store_delay.is_none() {
            return Ok(None);
        }
        if !storage.is_some_and(|storage| storage.starts_with("s3://")) {
            let reason = "--store-delay delays the requests to a bucket; give --storage s3://BUCKET/PREFIX too";
            return Err(BenchError::Usage(reason.to_owned()));
        }
        self.listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), variables).await.map(Some)
    }

    /// Starts the proxy at an address.
    pub async fn listen(&self, address: SocketAddr, variables: &[(String, String)]) -> Result<StoreDelay, BenchError> {
        let Some(delay) = self.store_delay.clone() else {
            return Err(BenchError::Usage("give --store-delay, such as --store-delay s3".to_owned()));
        };
        StoreDelay::start(delay, self.bandwidth(), self.seed(), address, variables).await
    }
}

impl Serialize for DelayArgs {
    /// What is used, not only what was given.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("DelayArgs", 3)?;
        let used = self.store_delay.as_ref();
        let mb = used.map(|_| self.bandwidth().0.map_or_else(|| "none".to_owned(), |mb| mb.to_string()));
        fields.serialize_field("store_delay", &used)?;
        fields.serialize_field("store_bandwidth", &mb)?;
        fields.serialize_field("store_seed", &used.map(|_| self.seed()))?;
        fields.end()
    }
}

/// A running proxy. Dropping it closes its connections.
pub struct StoreDelay {
    /// The bucket's endpoint for clients.
    pub endpoint: String,
    /// CPU time of its thread in nanoseconds, written whenever the thread has nothing to do.
    cpu_ns: Arc<AtomicU64>,
    link: Arc<Link>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl StoreDelay {
    /// Starts a proxy before the endpoint that `variables` name.
    async fn start(
        delay: Delay,
        bandwidth: Bandwidth,
        seed: u64,
        address: SocketAddr,
        variables: &[(String, String)],
    ) -> Result<StoreDelay, BenchError> {
        let server = Server::of(variables)?;
        // A wrong address is reported here, by its name. Later it would be a failed request to the proxy.
        TcpStream::connect(&server.address).await.map_err(|error| {
            let address = &server.address;
            failed(&format!("can't connect to {address}: {error}; start the S3 server, or correct AWS_ENDPOINT_URL"))
        })?;
        let listener = std::net::TcpListener::bind(address);
        let bound = listener.and_then(|listener| {
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            Ok((listener, address))
        });
        let (listener, address) = bound.map_err(|error| failed(&format!("can't listen on {address}: {error}")))?;
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
        let link = Arc::new(Link {
            server: server.address,
            bytes_per_second: bandwidth.0.map(|mb| mb * 1e6),
            draws: Mutex::new(Draws::new(delay, seed)),
            requests: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        });
        let (stop, stopped) = oneshot::channel();
        let shared = link.clone();
        let thread = std::thread::spawn(move || {
            runtime.block_on(async move {
                tokio::select! {
                    _ = stopped => {}
                    () = accept(listener, shared) => {}
                }
            });
        });
        Ok(StoreDelay { endpoint, cpu_ns, link, stop: Some(stop), thread: Some(thread) })
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

    /// Number of requests so far, and of those that got 503.
    pub fn requests(&self) -> (u64, u64) {
        (self.link.requests.load(Ordering::Relaxed), self.link.refused.load(Ordering::Relaxed))
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
async fn accept(listener: std::net::TcpListener, link: Arc<Link>) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    let mut connections = tokio::task::JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((client, _)) => {
                    let link = link.clone();
                    connections.spawn(async move {
                        // A broken connection is an error of the client's request; dropping both ends reports it.
                        if let Err(error) = forward(client, &link).await {
                            tracing::debug!(%error, "a connection through the proxy broke");
                        }
                    });
                }
                // Out of file descriptors, for example: some connection ends soon.
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::time::Instant;

    const DELAY: Duration = Duration::from_millis(30);
    const LARGE: usize = 3 << 20;

    /// A server of HTTP/1.1 whose responses have the request's head and body as their body.
    fn echo() -> String {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                std::thread::spawn(move || {
                    while let Some(request) = read_message(&mut stream) {
                        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", request.len());
                        stream.write_all(&[head.as_bytes(), &request].concat()).unwrap();
                    }
                });
            }
        });
        format!("http://{address}")
    }

    /// A request or response; `None` at the end of the stream.
    fn read_message(stream: &mut std::net::TcpStream) -> Option<Vec<u8>> {
        let (mut message, mut byte) = (Vec::new(), [0]);
        while !message.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut byte).ok()?;
            message.push(byte[0]);
        }
        let head = std::str::from_utf8(&message).unwrap();
        let length =
            head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).map_or(0, |n| n.parse().unwrap());
        let begin = message.len();
        message.resize(begin + length, 0);
        stream.read_exact(&mut message[begin..]).ok()?;
        Some(message)
    }

    fn variables(endpoint: &str) -> Vec<(String, String)> {
        vec![("AWS_ENDPOINT_URL".to_owned(), endpoint.to_owned())]
    }

    async fn proxy(delay: &str, bandwidth: &str) -> (StoreDelay, std::net::TcpStream) {
        let args = DelayArgs {
            store_delay: Some(Delay::parse(delay).unwrap()),
            store_bandwidth: Some(Bandwidth::parse(bandwidth).unwrap()),
            store_seed: None,
        };
        let proxy = args.start(Some("s3://b"), &variables(&echo())).await.unwrap().unwrap();
        let stream = std::net::TcpStream::connect(proxy.endpoint.strip_prefix("http://").unwrap()).unwrap();
        (proxy, stream)
    }

    /// Sends a request, and returns the response's head and body.
    fn exchange(stream: &mut std::net::TcpStream, request: &[u8]) -> (String, Vec<u8>) {
        stream.write_all(request).unwrap();
        let response = read_message(stream).unwrap();
        let end = response.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap() + 4;
        (String::from_utf8(response[..end].to_vec()).unwrap(), response[end..].to_vec())
    }

    fn put(body: &[u8]) -> Vec<u8> {
        let head = format!("PUT /b/k HTTP/1.1\r\nHost: there\r\nContent-Length: {}\r\n\r\n", body.len());
        [head.as_bytes(), body].concat()
    }

    fn random_bytes(count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        fastrand::Rng::with_seed(1).fill(&mut bytes);
        bytes
    }

    #[tokio::test]
    async fn each_request_of_a_connection_is_delayed_and_forwarded_byte_for_byte() {
        for bandwidth in ["none", "90"] {
            let (proxy, mut stream) = proxy("30ms", bandwidth).await;
            let client = tokio::task::spawn_blocking(move || {
                let large = random_bytes(LARGE);
                for body in [&b"small"[..], &large, b"", &large[..200_000]] {
                    let began = Instant::now();
                    let (head, echoed) = exchange(&mut stream, &put(body));
                    assert!(began.elapsed() >= DELAY, "{} bytes took {:?}", body.len(), began.elapsed());
                    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
                    assert!(echoed == put(body), "{} bytes were changed", body.len());
                }
            });
            client.await.unwrap();
            assert!(proxy.cpu() > Duration::ZERO);
            assert_eq!(proxy.requests(), (4, 0));
        }
    }

    #[tokio::test]
    async fn a_refused_request_gets_a_whole_response_and_the_connection_goes_on() {
        // Short times; the refusals are those of a stormy bucket.
        let (proxy, mut stream) = proxy("1ms", "none").await;
        *proxy.link.draws.lock().unwrap() = Draws::refusing(Delay::parse("1ms").unwrap());
        let client = tokio::task::spawn_blocking(move || {
            let body = random_bytes(300_000);
            let mut refused = 0;
            for _ in 0..100 {
                let (head, received) = exchange(&mut stream, &put(&body));
                if head.starts_with("HTTP/1.1 200") {
                    assert!(received == put(&body), "bytes were changed");
                    continue;
                }
                refused += 1;
                assert!(head.starts_with("HTTP/1.1 503 Slow Down\r\nDate: ") && head.contains(" GMT\r\n"), "{head}");
                assert!(String::from_utf8(received).unwrap().contains("<Code>SlowDown</Code>"));
            }
            refused
        });
        let refused = client.await.unwrap();
        assert!((1..100).contains(&refused), "{refused} of 100 requests were refused");
        assert_eq!(proxy.requests(), (100, refused));
    }

    #[tokio::test]
    async fn connections_end_with_the_proxy() {
        let (proxy, mut stream) = proxy("1ms", "90").await;
        exchange(&mut stream, &put(b"one"));
        drop(proxy);
        assert!(!matches!(stream.read(&mut [0]), Ok(1)));
    }

    #[test]
    fn a_bandwidth_is_a_number_or_none() {
        for (text, expected) in [("90", Some(90.0)), ("0.5", Some(0.5)), ("none", None), ("0", None)] {
            assert_eq!(Bandwidth::parse(text), Ok(Bandwidth(expected)));
        }
        for wrong in ["", "-1", "NaN", "inf", "90MB"] {
            assert!(Bandwidth::parse(wrong).unwrap_err().contains("such as 90"), "{wrong}");
        }
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
