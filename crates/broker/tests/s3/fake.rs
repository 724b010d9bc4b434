//! S3 servers as they should not be: they keep no condition, or not under a race, or not their word.

use rawline_testkit::http::{Request, answer, serve};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What is wrong with a server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fault {
    /// Takes the condition for an unknown header.
    Ignores,
    /// Looks, then writes, without a lock between.
    Races,
    /// Answers that the object exists, and writes over it.
    Lies,
    /// Says that it does not know the header.
    Refuses,
}

/// Serves any bucket from memory and takes every signature.
pub async fn start(fault: Fault) -> SocketAddr {
    let objects: Arc<Mutex<HashMap<String, Vec<u8>>>> = Arc::default();
    serve(move |request| {
        let objects = objects.clone();
        async move { handle(fault, &objects, request).await }
    })
    .await
}

/// Stores an object in such a server.
pub async fn put(server: SocketAddr, target: &str, body: &[u8]) {
    let mut stream = TcpStream::connect(server).await.unwrap();
    let head = format!("PUT {target} HTTP/1.1\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all(&[head.as_bytes(), body].concat()).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
}

async fn handle(fault: Fault, objects: &Mutex<HashMap<String, Vec<u8>>>, request: Request) -> Vec<u8> {
    let stored = answer("200 OK", "ETag: \"e\"\r\n", b"");
    let exists = || answer("412 Precondition Failed", "", b"<Error><Code>PreconditionFailed</Code></Error>");
    let key = request.target.clone();
    match request.method.as_str() {
        "PUT" => {
            let is_there = objects.lock().unwrap().contains_key(&key);
            match fault {
                Fault::Refuses => {
                    return answer("501 Not Implemented", "", b"<Error><Code>NotImplemented</Code></Error>");
                }
                Fault::Races if is_there => return exists(),
                Fault::Races => tokio::time::sleep(Duration::from_millis(20)).await,
                Fault::Ignores | Fault::Lies => {}
            }
            objects.lock().unwrap().insert(key, request.body);
            if is_there && fault == Fault::Lies { exists() } else { stored }
        }
        "GET" => match objects.lock().unwrap().get(&key) {
            Some(bytes) => {
                let length = bytes.len();
                let range = format!("ETag: \"e\"\r\nContent-Range: bytes 0-{}/{length}\r\n", length - 1);
                answer(
                    "206 Partial Content",
                    &format!("{range}Last-Modified: Sun, 01 Nov 2026 00:00:00 GMT\r\n"),
                    bytes,
                )
            }
            None => answer("404 Not Found", "", b"<Error><Code>NoSuchKey</Code></Error>"),
        },
        _ => answer("200 OK", "", b"<DeleteResult></DeleteResult>"),
    }
}
