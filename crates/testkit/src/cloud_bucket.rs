//! A bucket of a service other than S3, on an emulator.

use crate::server::{Server, cache_dir};
use rawline_broker::store::s3::Service;
use std::net::SocketAddr;
use std::path::PathBuf;

/// A new, empty bucket.
pub struct CloudBucket {
    /// Its address, such as `gs://bucket-0`.
    pub url: String,
    /// Its name alone.
    pub name: String,
    /// Its emulator's.
    pub address: SocketAddr,
    /// The variables that lead a store to the emulator.
    pub variables: Vec<(String, String)>,
    server_dir: PathBuf,
}

impl CloudBucket {
    pub(crate) fn new(service: Service, name: String, server: &Server, variables: &[(&str, String)]) -> CloudBucket {
        CloudBucket {
            url: format!("{}://{name}", service.scheme()),
            name,
            address: server.address,
            variables: variables.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
            server_dir: server.dir.clone(),
        }
    }

    /// A new folder, for a cache.
    pub fn cache_dir(&self) -> PathBuf {
        cache_dir(&self.server_dir, &self.name)
    }
}
