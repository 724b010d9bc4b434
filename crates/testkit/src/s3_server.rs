//! A real S3 server: one per test process, gone when the process is gone.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::OnceCell;

pub const ACCESS_KEY: &str = "test";
pub const SECRET_KEY: &str = "testtesttest";

/// A running server. Its folder goes when it goes; `buckets` in it holds a folder a bucket.
struct Server {
    address: SocketAddr,
    dir: PathBuf,
    _process: Child,
}

/// A new, empty bucket.
pub struct Bucket {
    pub name: String,
    pub address: SocketAddr,
    dir: PathBuf,
    server_dir: PathBuf,
}

impl Bucket {
    /// A new folder, for a cache: it outlives the test, because copies are written after a commit has returned.
    pub fn cache_dir(&self) -> PathBuf {
        let prefix = format!("{}-cache-", self.name);
        tempfile::Builder::new().prefix(&prefix).tempdir_in(&self.server_dir).unwrap().keep()
    }

    /// The file that holds an object.
    pub fn file(&self, key: &str) -> PathBuf {
        self.dir.join(key)
    }

    /// The variables that lead a store to the server.
    pub fn variables(&self) -> Vec<(String, String)> {
        variables(self.address)
    }
}

/// The variables that lead a store to a server at `address`.
pub fn variables(address: SocketAddr) -> Vec<(String, String)> {
    let pairs = [
        ("AWS_ENDPOINT_URL", format!("http://{address}")),
        ("AWS_ACCESS_KEY_ID", ACCESS_KEY.to_owned()),
        ("AWS_SECRET_ACCESS_KEY", SECRET_KEY.to_owned()),
    ];
    pairs.map(|(name, value)| (name.to_owned(), value)).to_vec()
}

/// A new bucket on the process' server, which is started for the first.
pub async fn bucket() -> Bucket {
    static SERVER: OnceCell<Server> = OnceCell::const_new();
    static BUCKETS: AtomicU64 = AtomicU64::new(0);
    let server = SERVER.get_or_init(start).await;
    let name = format!("bucket-{}", BUCKETS.fetch_add(1, Ordering::Relaxed));
    let dir = server.dir.join("buckets").join(&name);
    std::fs::create_dir(&dir).unwrap();
    Bucket { name, address: server.address, dir, server_dir: server.dir.clone() }
}

async fn start() -> Server {
    let program = program();
    // Somebody else may take the port between its being found and the server's listening.
    for _ in 0..5 {
        let dir = tempfile::Builder::new().prefix("rawline-s3-").tempdir().unwrap().keep();
        std::fs::create_dir(dir.join("buckets")).unwrap();
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
        // The shell waits for the end of its standard input, which comes with this process' end, however that ends.
        let mut process = Command::new("sh")
            .arg("-c")
            .arg(concat!(
                r#""$0" --port "$1" --quiet posix "$2/buckets" >&2 & server=$!; read _; "#,
                r#"kill $server; wait $server; rm -rf "$2""#
            ))
            .arg(&program)
            .arg(address.to_string())
            .arg(&dir)
            .env("ROOT_ACCESS_KEY", ACCESS_KEY)
            .env("ROOT_SECRET_KEY", SECRET_KEY)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        for _ in 0..500 {
            if is_ready(address).await {
                return Server { address, dir, _process: process };
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        drop(process.stdin.take());
        process.wait().unwrap();
    }
    panic!("{} does not start", program.display());
}

/// Whether an S3 server answers there: any answer to a request without credentials will do.
async fn is_ready(address: SocketAddr) -> bool {
    let Ok(mut stream) = TcpStream::connect(address).await else { return false };
    let request = format!("GET / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    let mut answer = [0; 12];
    stream.write_all(request.as_bytes()).await.is_ok()
        && stream.read_exact(&mut answer).await.is_ok()
        && answer.starts_with(b"HTTP/1.1 403")
}

#[allow(clippy::disallowed_methods)] // A test's settings come from the environment.
fn program() -> PathBuf {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/bin/versitygw");
    let program = std::env::var_os("RAWLINE_S3_SERVER").map_or(default, PathBuf::from);
    assert!(
        program.is_file(),
        "no S3 server at {}: run `make tools`, or set RAWLINE_S3_SERVER to a versitygw binary",
        program.display()
    );
    program
}
