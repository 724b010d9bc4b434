//! A real S3 server: one per test process, stopped with the process.

use crate::directory_bucket;
use crate::server::{Server, cache_dir, program};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::OnceCell;

pub const ACCESS_KEY: &str = "test";
pub const SECRET_KEY: &str = "testtesttest";

/// A new, empty bucket.
pub struct Bucket {
    pub name: String,
    pub address: SocketAddr,
    dir: PathBuf,
    server_dir: PathBuf,
}

impl Bucket {
    /// A new folder, for a cache.
    pub fn cache_dir(&self) -> PathBuf {
        cache_dir(&self.server_dir, &self.name)
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
    let server = server().await;
    new_bucket(server, "", server.address)
}

/// A new bucket of S3 Express One Zone, as far as its clients can tell: the same server after a proxy.
pub async fn directory_bucket() -> Bucket {
    let server = server().await;
    new_bucket(server, "--use1-az4--x-s3", directory_bucket::start(server.address).await)
}

/// A bucket of each kind.
pub async fn buckets() -> [Bucket; 2] {
    [bucket().await, directory_bucket().await]
}

async fn server() -> &'static Server {
    static SERVER: OnceCell<Server> = OnceCell::const_new();
    SERVER.get_or_init(start).await
}

fn new_bucket(server: &Server, ending: &str, address: SocketAddr) -> Bucket {
    static BUCKETS: AtomicU64 = AtomicU64::new(0);
    let name = format!("bucket-{}{ending}", BUCKETS.fetch_add(1, Ordering::Relaxed));
    let dir = server.dir.join("buckets").join(&name);
    std::fs::create_dir(&dir).unwrap();
    Bucket { name, address, dir, server_dir: server.dir.clone() }
}

async fn start() -> Server {
    let program = program("bin/versitygw", "RAWLINE_S3_SERVER", "S3 server (versitygw)");
    let arguments = |address: SocketAddr, dir: &Path| {
        let buckets = dir.join("buckets");
        std::fs::create_dir(&buckets).unwrap();
        let arguments = ["--port", &address.to_string(), "--quiet", "posix", buckets.to_str().unwrap()];
        arguments.map(str::to_owned).to_vec()
    };
    Server::start(&program, arguments, &[("ROOT_ACCESS_KEY", ACCESS_KEY), ("ROOT_SECRET_KEY", SECRET_KEY)]).await
}
