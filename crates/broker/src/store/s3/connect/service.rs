//! The common settings of the clients of all services.

use crate::store::s3::address::Address;
use crate::store::s3::failed::Reply;
use crate::store::s3::requests::CountingConnector;
use object_store::aws::AwsCredentialProvider;
use object_store::azure::AzureCredentialProvider;
use object_store::gcp::GcpCredentialProvider;
use object_store::list::PaginatedListStore;
use object_store::{ClientOptions, ObjectStore, RetryConfig};
use std::sync::Arc;
use std::time::Duration;

/// A client for a bucket.
pub struct Connected {
    /// Sends requests, none of them twice: after a PUT whose response was lost, a retry would fail because the object
    /// exists, and only the caller can see whose object it is.
    pub store: Arc<dyn ObjectStore>,
    pub(in crate::store::s3) pages: Arc<dyn PaginatedListStore>,
    /// Whether a listing can begin after a key.
    pub(in crate::store::s3) has_start_after: bool,
    /// The URL that they are sent to.
    pub endpoint: String,
    pub(in crate::store::s3) credentials: Credentials,
}

/// Where a client gets its credentials.
pub(in crate::store::s3) enum Credentials {
    S3(AwsCredentialProvider),
    Gcs(GcpCredentialProvider),
    Azure(AzureCredentialProvider),
}

impl Credentials {
    /// Gets them once.
    pub async fn check(&self) -> object_store::Result<()> {
        match self {
            Credentials::S3(provider) => provider.get_credential().await.map(drop),
            Credentials::Gcs(provider) => provider.get_credential().await.map(drop),
            Credentials::Azure(provider) => provider.get_credential().await.map(drop),
        }
    }
}

/// What messages say about a service.
pub(in crate::store::s3) struct Words {
    /// The variables that may be wrong.
    pub variables: &'static str,
    /// The variables to set without credentials.
    pub no_credentials: &'static str,
    /// The permission that a denied request needs.
    pub access_denied: &'static str,
    /// What listens at the endpoint.
    pub server: &'static str,
    /// The header that creates an object only if it doesn't exist.
    pub condition: &'static str,
    /// The alternative to a server that ignores it.
    pub instead: &'static str,
    /// The command that creates an empty object, of a bucket and a key.
    pub create_empty: fn(bucket: &str, key: &str) -> String,
    /// The advice for an error code of the service.
    pub advice: fn(code: &str, reply: &Reply) -> Option<&'static str>,
}

/// The common settings of the clients of all services.
pub(super) struct ClientSettings<'a> {
    pub address: &'a Address,
    pub variables: Variables<'a>,
    pub connect_timeout: Duration,
}

impl ClientSettings<'_> {
    /// Options for requests to `endpoint`. Without TLS and with credentials that need no request, nothing is requested
    /// over TLS, so a container without certificates will do.
    pub fn options(&self, endpoint: &str, has_credentials: bool) -> ClientOptions {
        let is_plain = endpoint.starts_with("http://");
        ClientOptions::new()
            .with_allow_http(is_plain)
            .with_no_system_certificates(is_plain && has_credentials)
            .with_timeout_disabled()
            .with_connect_timeout(self.connect_timeout)
    }

    pub fn connector(&self, endpoint: &str) -> CountingConnector {
        CountingConnector { bucket: self.address.bucket.clone(), endpoint: endpoint.to_owned(), sessions: None }
    }

    pub fn retry(&self) -> RetryConfig {
        RetryConfig { max_retries: 0, ..RetryConfig::default() }
    }
}

/// Variables of the environment. An empty one counts as not set.
#[derive(Clone, Copy)]
pub(super) struct Variables<'a>(pub &'a [(String, String)]);

impl<'a> Variables<'a> {
    /// The first of these that is set.
    pub fn first(self, names: &[&str]) -> Option<&'a str> {
        names.iter().find_map(|wanted| self.all().find(|(name, _)| name == wanted).map(|(_, value)| value))
    }

    /// Those that `object_store` knows by its own name, which is theirs in lower case.
    pub fn known<K: std::str::FromStr>(self, prefix: &str) -> impl Iterator<Item = (K, &'a str)> {
        let ours = self.all().filter(move |(name, _)| name.starts_with(prefix));
        ours.filter_map(|(name, value)| Some((name.to_ascii_lowercase().parse().ok()?, value)))
    }

    fn all(self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str())).filter(|(_, value)| !value.is_empty())
    }
}
