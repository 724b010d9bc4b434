//! An emulator of Azure Blob Storage: Azurite, one per test process.

use crate::cloud_bucket::CloudBucket;
use crate::server::{Server, program, request};
use rawline_broker::store::s3::Service;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::OnceCell;

/// Azurite's account. Its key is published.
const ACCOUNT: &str = "devstoreaccount1";

/// Allows everything in that account until 2199: a shared access signature, made with the published key.
const SIGNATURE: &str = "sv=2021-12-02&ss=b&srt=sco&sp=rwdlac&se=2199-01-01T00%3A00%3A00Z&spr=https%2Chttp\
                         &sig=2r3xS1Uz5MaUNa40q0pl%2FxHzdbmRb7U7oWEgS2chB7o%3D";

/// A new container on the process' emulator, which is started for the first.
pub async fn bucket() -> CloudBucket {
    static SERVER: OnceCell<Server> = OnceCell::const_new();
    static BUCKETS: AtomicU64 = AtomicU64::new(0);
    let server = SERVER.get_or_init(start).await;
    let name = format!("bucket-{}", BUCKETS.fetch_add(1, Ordering::Relaxed));
    let target = format!("/{ACCOUNT}/{name}?restype=container&{SIGNATURE}");
    assert_eq!(request(server.address, "PUT", &target, "").await, Some(201), "creating {name}");
    let variables = [
        ("AZURE_STORAGE_CONNECTION_STRING", "UseDevelopmentStorage=true".to_owned()),
        ("AZURE_STORAGE_BLOB_ENDPOINT", format!("http://{}/{ACCOUNT}", server.address)),
    ];
    CloudBucket::new(Service::Azure, name, server, &variables)
}

async fn start() -> Server {
    let azurite = "azurite/node_modules/azurite/dist/src/blob/main.js";
    let azurite = program(azurite, "RAWLINE_AZURE_SERVER", "emulator of Azure Blob Storage (Azurite)");
    let arguments = |address: SocketAddr, _: &Path| {
        let flags = ["--inMemoryPersistence", "--silent", "--disableTelemetry", "--skipApiVersionCheck"];
        let mut arguments = vec![azurite.to_str().unwrap().to_owned()];
        arguments.extend(flags.map(str::to_owned));
        arguments.extend(["--blobPort".to_owned(), address.port().to_string()]);
        arguments
    };
    Server::start(Path::new("node"), arguments, &[]).await
}
