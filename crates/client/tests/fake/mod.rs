//! A broker that stores nothing: it records received appends, and can be slow, or paused like a stopped process.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The appends that all brokers have received: each one's name, and the last byte of a record.
pub type Log = Arc<Mutex<Vec<(char, u8)>>>;

/// A broker, as its tests see it.
pub struct Fake {
    pub url: String,
    /// While it is set, connections are open and nothing responds.
    pub is_paused: AtomicBool,
    /// Number of liveness checks received.
    pub questions: AtomicUsize,
}

/// How a broker stores records.
struct Store {
    name: char,
    log: Log,
    /// The URL that its responses name; empty for none.
    owner: String,
    takes: Duration,
}

/// Starts a broker that records appends, and names this owner in its responses, which take some time.
pub fn broker(name: char, log: &Log, owner: impl Into<String>, takes: Duration) -> Arc<Fake> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let fake = Arc::new(Fake { url, is_paused: AtomicBool::default(), questions: AtomicUsize::default() });
    let store = Arc::new(Store { name, log: log.clone(), owner: owner.into(), takes });
    let serving = fake.clone();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let (connection, store, fake) = (connection.unwrap(), store.clone(), serving.clone());
            std::thread::spawn(move || fake.serve(connection, &store));
        }
    });
    fake
}

impl Fake {
    fn serve(&self, mut connection: TcpStream, store: &Store) {
        let mut bytes = Vec::new();
        loop {
            let mut piece = [0; 4096];
            match connection.read(&mut piece) {
                Ok(length) if length > 0 => bytes.extend_from_slice(&piece[..length]),
                _ => return,
            }
            while let Some(head) = bytes.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                self.wait_while_paused();
                let text = String::from_utf8(bytes[..head].to_vec()).unwrap();
                let (response, end) = if text.starts_with("GET") {
                    (self.look_up(&text), head + 4)
                } else {
                    let (_, length) = text.rsplit_once("content-length: ").unwrap();
                    let end = head + 4 + length.lines().next().unwrap().parse::<usize>().unwrap();
                    if bytes.len() < end {
                        break;
                    }
                    (store.append(&bytes[..end]), end)
                };
                bytes.drain(..end);
                self.wait_while_paused();
                // A client may have given up.
                let _ = connection.write_all(response.as_bytes());
            }
        }
    }

    fn wait_while_paused(&self) {
        while self.is_paused.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn look_up(&self, head: &str) -> String {
        if head.starts_with("GET /health") {
            self.questions.fetch_add(1, Ordering::SeqCst);
            return "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nok\n".to_owned();
        }
        // A producer asks for the number of partitions.
        let no_topic = "{\"code\":\"topic_not_found\",\"error\":\"none\"}";
        format!("HTTP/1.1 404 Not Found\r\ncontent-length: {}\r\n\r\n{no_topic}", no_topic.len())
    }
}

impl Store {
    fn append(&self, request: &[u8]) -> String {
        // Padding follows the record.
        let record = *request.iter().rfind(|byte| **byte != 0).unwrap();
        std::thread::sleep(self.takes);
        let mut log = self.log.lock().unwrap();
        log.push((self.name, record));
        let text = format!("{{\"first_offset\":{},\"next_offset\":{}}}", log.len() - 1, log.len());
        let owner = if self.owner.is_empty() { String::new() } else { format!("Rawline-Owner: {}\r\n", self.owner) };
        format!("HTTP/1.1 201 Created\r\n{owner}content-length: {}\r\n\r\n{text}", text.len())
    }
}

/// The names of the brokers that have stored records.
pub fn names(log: &Log) -> String {
    log.lock().unwrap().iter().map(|(name, _)| *name).collect()
}
