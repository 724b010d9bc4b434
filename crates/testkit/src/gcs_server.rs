//! An emulator of Google Cloud Storage: `tools/gcs-server`, one per test process.

use crate::cloud_bucket::CloudBucket;
use crate::server::{Server, program, request};
use rawline_broker::store::s3::Service;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::OnceCell;

/// A new bucket on the process' emulator, which is started for the first.
pub async fn bucket() -> CloudBucket {
    static SERVER: OnceCell<Server> = OnceCell::const_new();
    create(SERVER.get_or_init(|| start(&[])).await).await
}

/// A new bucket on an emulator that ignores the condition of a PUT.
pub async fn unconditional_bucket() -> CloudBucket {
    static SERVER: OnceCell<Server> = OnceCell::const_new();
    create(SERVER.get_or_init(|| start(&["-unconditional"])).await).await
}

async fn start(flags: &[&str]) -> Server {
    let program =
        program("bin/gcs-server", "RAWLINE_GCS_SERVER", "emulator of Google Cloud Storage (tools/gcs-server)");
    let arguments = |address: SocketAddr, _: &std::path::Path| {
        let address = address.to_string();
        ["-address", &address].iter().chain(flags).map(|&argument| argument.to_owned()).collect()
    };
    Server::start(&program, arguments, &[]).await
}

async fn create(server: &Server) -> CloudBucket {
    static BUCKETS: AtomicU64 = AtomicU64::new(0);
    let name = format!("bucket-{}", BUCKETS.fetch_add(1, Ordering::Relaxed));
    let status = request(server.address, "POST", "/storage/v1/b", &format!(r#"{{"name":"{name}"}}"#)).await;
    assert_eq!(status, Some(200), "creating {name}");
    let variables = [("STORAGE_EMULATOR_HOST", server.address.to_string())];
    CloudBucket::new(Service::Gcs, name, server, &variables)
}
