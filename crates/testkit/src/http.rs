//! Just enough HTTP/1.1 to stand between a store and its server, or in the server's place.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A request as it came, one a connection.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Everything before the body.
    pub head: String,
    pub body: Vec<u8>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }

    /// Whether this is a request of that method for an object of a topic or a journal, or a snapshot, not of the probe.
    pub fn is_for_object(&self, method: &str) -> bool {
        self.method == method && self.target.contains(".rw") && !self.target.contains(".rawline-probe")
    }
}

/// The bytes of an answer, none to cut the line.
pub struct Answer {
    bytes: Vec<u8>,
    /// Whether the connection ends with them. If not, nothing more comes.
    ends: bool,
}

impl From<Vec<u8>> for Answer {
    fn from(bytes: Vec<u8>) -> Answer {
        Answer { bytes, ends: true }
    }
}

/// Listens on a free port and answers every request with what `handler` makes of it.
pub async fn serve<F>(handler: impl Fn(Request) -> F + Send + Sync + 'static) -> SocketAddr
where
    F: Future<Output: Into<Answer>> + Send,
{
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let handler = Arc::new(handler);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let handler = handler.clone();
            tokio::spawn(async move {
                if let Some(request) = read_request(&mut stream).await {
                    let Answer { bytes, ends } = handler(request).await.into();
                    // The store may have given up.
                    let _ = stream.write_all(&bytes).await;
                    if !ends {
                        std::future::pending::<()>().await;
                    }
                    let _ = stream.shutdown().await;
                }
            });
        }
    });
    address
}

async fn read_request(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let head_bytes = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..head_bytes].to_vec()).ok()?;
    let mut first = head.split(' ');
    let (method, target) = (first.next()?.to_owned(), first.next()?.to_owned());
    let mut request = Request { method, target, head, body: bytes.split_off(head_bytes) };
    let length: usize = request.header("content-length").map_or(0, |length| length.parse().unwrap());
    while request.body.len() < length {
        if stream.read_buf(&mut request.body).await.ok()? == 0 {
            return None;
        }
    }
    Some(request)
}

/// An answer that ends with the connection.
pub fn answer(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n{headers}\r\n");
    [head.as_bytes(), body].concat()
}

/// What a proxy does with a request.
#[derive(Debug, Clone)]
pub enum Act {
    Forward,
    /// Answers this status itself, in S3's form.
    Refuse(&'static str, &'static str),
    /// Passes the request on, and cuts the line instead of passing the answer back.
    LoseAnswer,
    /// Passes so many bytes of the answer back and cuts the line.
    CutAnswer(usize),
    /// Passes so many bytes of the answer back, and then nothing.
    StallAnswer(usize),
    /// Waits before it passes the request on.
    Delay(Duration),
    /// Passes the request on when the counter has reached this number.
    After(Arc<AtomicUsize>, usize),
    /// Says that the request is done, and doesn't pass it on.
    Forget,
    /// Passes the request on, and keeps the answer.
    HoldAnswer,
    /// Never answers.
    Hang,
}

/// Stands between a store and a server and remembers what went through.
pub struct Proxy {
    pub address: SocketAddr,
    pub requests: Arc<Mutex<Vec<Request>>>,
}

impl Proxy {
    pub async fn start(server: SocketAddr, rule: impl Fn(&Request) -> Act + Send + Sync + 'static) -> Proxy {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = requests.clone();
        let rule = Arc::new(rule);
        let address = serve(move |request| {
            let act = rule(&request);
            seen.lock().unwrap().push(request.clone());
            async move {
                let answer = match act {
                    Act::Forward => forward(server, &request).await,
                    Act::Refuse(status, code) => {
                        let body = format!("<Error><Code>{code}</Code><Message>no</Message></Error>");
                        answer(status, "Content-Type: application/xml\r\n", body.as_bytes())
                    }
                    Act::LoseAnswer => {
                        forward(server, &request).await;
                        Vec::new()
                    }
                    Act::CutAnswer(bytes) => {
                        let mut answer = forward(server, &request).await;
                        answer.truncate(bytes);
                        answer
                    }
                    Act::StallAnswer(bytes) => {
                        let mut answer = forward(server, &request).await;
                        answer.truncate(bytes);
                        return Answer { bytes: answer, ends: false };
                    }
                    Act::After(counter, count) => {
                        while counter.load(Ordering::SeqCst) < count {
                            tokio::time::sleep(Duration::from_millis(1)).await;
                        }
                        forward(server, &request).await
                    }
                    Act::Delay(pause) => {
                        tokio::time::sleep(pause).await;
                        forward(server, &request).await
                    }
                    Act::Forget => {
                        let date = httpdate::fmt_http_date(std::time::SystemTime::now());
                        answer("200 OK", &format!("ETag: \"e\"\r\nDate: {date}\r\n"), b"")
                    }
                    Act::HoldAnswer => {
                        forward(server, &request).await;
                        std::future::pending().await
                    }
                    Act::Hang => std::future::pending().await,
                };
                answer.into()
            }
        })
        .await;
        Proxy { address, requests }
    }

    /// How many requests of that method for a topic's objects went through.
    pub fn count(&self, method: &str) -> usize {
        self.requests.lock().unwrap().iter().filter(|request| request.is_for_object(method)).count()
    }
}

/// Passes a request on. Returns the answer.
pub async fn forward(server: SocketAddr, request: &Request) -> Vec<u8> {
    let mut stream = TcpStream::connect(server).await.unwrap();
    // This header is not signed, so it may be added.
    let head = request.head.replacen("\r\n", "\r\nConnection: close\r\n", 1);
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&request.body).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    // What the store reads must not look as if the connection could be used again.
    let end = answer.windows(2).position(|two| two == b"\r\n").unwrap() + 2;
    answer.splice(end..end, *b"Connection: close\r\n");
    answer
}
