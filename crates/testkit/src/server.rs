//! Starts the servers of tests: one of a kind per test process, stopped with the process.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A running server. Its folder goes when it goes.
pub struct Server {
    pub address: SocketAddr,
    pub dir: PathBuf,
    _process: Child,
}

impl Server {
    /// Starts a program. `arguments` are made of the address to listen on and an empty folder. The server is ready once
    /// it responds to a request, even if by a refusal.
    pub async fn start(
        program: &Path,
        arguments: impl Fn(SocketAddr, &Path) -> Vec<String>,
        variables: &[(&str, &str)],
    ) -> Server {
        let mut printed = String::new();
        // Another program may take the port before the server listens on it.
        for _ in 0..3 {
            let dir = tempfile::Builder::new().prefix("rawline-bucket-").tempdir().unwrap().keep();
            let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
            let log = File::create(dir.join("log")).unwrap();
            // The shell waits for the end of its standard input, which comes with this process' end, however that ends.
            let mut process = Command::new("sh")
                .arg("-c")
                .arg(concat!(
                    r#"dir=$1; shift; "$@" >&2 & server=$!; read _; "#,
                    r#"kill $server; wait $server; rm -rf "$dir""#
                ))
                .arg("sh")
                .arg(&dir)
                .arg(program)
                .args(arguments(address, &dir))
                .envs(variables.iter().copied())
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(log)
                .spawn()
                .unwrap();
            for _ in 0..1000 {
                if request(address, "GET", "/", "").await.is_some() {
                    return Server { address, dir, _process: process };
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            printed = std::fs::read_to_string(dir.join("log")).unwrap();
            drop(process.stdin.take());
            process.wait().unwrap();
        }
        panic!("{} does not start: {printed}", program.display());
    }

    /// A new folder, for a cache: it outlives the test, because copies are written after a commit has returned.
    pub fn cache_dir(&self, bucket: &str) -> PathBuf {
        cache_dir(&self.dir, bucket)
    }
}

/// A new folder in that of a server.
pub fn cache_dir(dir: &Path, bucket: &str) -> PathBuf {
    tempfile::Builder::new().prefix(&format!("{bucket}-cache-")).tempdir_in(dir).unwrap().keep()
}

/// Sends a request without credentials. Returns the response's status, if there is a response.
pub async fn request(address: SocketAddr, method: &str, target: &str, body: &str) -> Option<u16> {
    let mut stream = TcpStream::connect(address).await.ok()?;
    let length = body.len();
    let request = format!(
        "{method} {target} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut status = [0; 12];
    stream.read_exact(&mut status).await.ok()?;
    std::str::from_utf8(&status).ok()?.strip_prefix("HTTP/1.1 ")?.parse().ok()
}

/// The program that `make tools` installs at `path` in `.tools`, or the one that the variable names.
#[allow(clippy::disallowed_methods)] // A test's settings come from the environment.
pub fn program(path: &str, variable: &str, what: &str) -> PathBuf {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools").join(path);
    let program = std::env::var_os(variable).map_or(default, PathBuf::from);
    assert!(program.is_file(), "no {what} at {}: run `make tools`, or set {variable} to one", program.display());
    program
}
