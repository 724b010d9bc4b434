//! Clients for buckets, by the variables that the users of each service know.

mod azure;
mod gcs;
mod s3;
mod service;

pub use service::Connected;
pub(super) use service::{Credentials, Words};

use super::address::{Address, Service};
use super::failed::error_chain;
use crate::store_error::StoreError;
use service::{ClientSettings, Variables};
use std::time::Duration;

/// What messages say about a service.
pub(super) fn words(service: Service) -> &'static Words {
    match service {
        Service::S3 => &s3::WORDS,
        Service::Gcs => &gcs::WORDS,
        Service::Azure => &azure::WORDS,
    }
}

/// A client for the bucket of an address. `variables` are those of [`super::S3Config`].
pub fn connect(
    address: &Address,
    variables: &[(String, String)],
    connect_timeout: Duration,
) -> Result<Connected, StoreError> {
    // Fails where the process has chosen one already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = ClientSettings { address, variables: Variables(variables), connect_timeout };
    let connected = match address.service {
        Service::S3 => s3::connect(&client),
        Service::Gcs => gcs::connect(&client),
        Service::Azure => azure::connect(&client),
    };
    connected.map_err(|error| {
        let (cause, variables) = (error_chain(&error), words(address.service).variables);
        StoreError::human(format!("can't use {address}: {cause}; check the variables {variables}"))
    })
}
