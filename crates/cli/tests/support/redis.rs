//! A server that speaks Redis's protocol, for tests of benchmarks that compare with Redis.

// Helpers of tests may fail the test.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::disallowed_methods)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

/// Serves commands with the replies of `respond`, each connection on a thread. Returns the server's address.
pub fn serve(respond: impl Fn(&[String]) -> String + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    let respond = Arc::new(respond);
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let respond = respond.clone();
            std::thread::spawn(move || {
                let mut client = client.unwrap();
                let mut from_client = BufReader::new(client.try_clone().unwrap());
                while let Some(words) = command(&mut from_client) {
                    if client.write_all(respond(&words).as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    url
}

/// The replies to commands about the server, and to those whose reply isn't looked at.
pub fn about(words: &[String]) -> String {
    match words[0].as_str() {
        "INFO" => "$19\r\nredis_version:9.8.7\r\n".to_owned(),
        "CONFIG" => "*2\r\n$1\r\nx\r\n$2\r\nno\r\n".to_owned(),
        _ => ":1\r\n".to_owned(),
    }
}

/// Reads an array of texts. `None` at the end of the connection.
fn command(from: &mut BufReader<TcpStream>) -> Option<Vec<String>> {
    let number = |sign: char, from: &mut dyn BufRead| {
        let mut line = String::new();
        from.read_line(&mut line).ok()?;
        line.strip_prefix(sign)?.trim().parse::<usize>().ok()
    };
    let count = number('*', from)?;
    let mut words = Vec::new();
    for _ in 0..count {
        let mut word = vec![0; number('$', from)? + 2];
        from.read_exact(&mut word).ok()?;
        word.truncate(word.len() - 2);
        words.push(String::from_utf8_lossy(&word).into_owned());
    }
    Some(words)
}
