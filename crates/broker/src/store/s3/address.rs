//! Addresses of places in buckets, such as `s3://BUCKET/PREFIX`.

use crate::store_error::{Setting, StoreError};
use object_store::path::Path;
use std::fmt;

/// A service that has buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    /// Amazon S3, and servers with its API.
    S3,
    /// Google Cloud Storage.
    Gcs,
    /// Azure Blob Storage, where a bucket is called a container.
    Azure,
}

impl Service {
    /// Every service.
    pub const ALL: [Service; 3] = [Service::S3, Service::Gcs, Service::Azure];

    /// The service of an address; `None` if it isn't one of a bucket.
    pub fn of(url: &str) -> Option<Service> {
        Service::ALL.into_iter().find(|service| url.strip_prefix(service.scheme()).is_some_and(is_after_scheme))
    }

    /// The scheme of its addresses, before `://`.
    pub fn scheme(self) -> &'static str {
        match self {
            Service::S3 => "s3",
            Service::Gcs => "gs",
            Service::Azure => "az",
        }
    }
}

fn is_after_scheme(rest: &str) -> bool {
    rest.starts_with("://")
}

/// A place in a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The service of the bucket.
    pub service: Service,
    /// The bucket's name.
    pub bucket: String,
    /// Prefix of every key, without a slash at its ends; may be empty.
    pub prefix: String,
}

impl Address {
    /// Reads `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX` or `az://CONTAINER/PREFIX`. There may be no prefix.
    pub fn parse(url: &str) -> Result<Address, StoreError> {
        let wrong = |why: &str| {
            StoreError::human(format!(
                "{url:?} isn't a place in a bucket: {why}; write it as s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or \
                 az://CONTAINER/PREFIX, or without a prefix"
            ))
            .about(Setting::Storage)
        };
        let service = Service::of(url).ok_or_else(|| wrong("it does not begin with s3://, gs:// or az://"))?;
        let (_, rest) = url.split_once("://").unwrap_or_default();
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if service == Service::S3 && bucket.ends_with(DIRECTORY) && zone_of(bucket).is_none() {
            return Err(wrong("a directory bucket's name is NAME--ZONE--x-s3"));
        }
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        if bucket.is_empty() || !bucket.bytes().all(plain) {
            return Err(wrong("a bucket's name has letters, digits, '.', '-' and '_' only"));
        }
        let prefix = prefix.trim_end_matches('/');
        if !prefix.is_empty() && Path::parse(prefix).ok().is_none_or(|path| path.as_ref() != prefix) {
            return Err(wrong("the prefix has an empty part or a character that a key can't have"));
        }
        Ok(Address { service, bucket: bucket.to_owned(), prefix: prefix.to_owned() })
    }

    /// The availability zone of a directory bucket (S3 Express One Zone).
    pub(super) fn zone(&self) -> Option<&str> {
        zone_of(&self.bucket).filter(|_| self.service == Service::S3)
    }
}

/// The end of a directory bucket's name, `NAME--ZONE--x-s3`.
const DIRECTORY: &str = "--x-s3";

fn zone_of(bucket: &str) -> Option<&str> {
    let (name, zone) = bucket.strip_suffix(DIRECTORY)?.rsplit_once("--")?;
    Some(zone).filter(|zone| !name.is_empty() && !zone.is_empty())
}

/// The bucket, without the prefix.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.service.scheme(), self.bucket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rawline_batch::Kind;

    #[test]
    fn places_in_buckets_are_read_from_urls() {
        let parsed = |url: &str| {
            let Address { service, bucket, prefix } = Address::parse(url).unwrap();
            (service, bucket, prefix)
        };
        assert_eq!(parsed("s3://bucket"), (Service::S3, "bucket".to_owned(), String::new()));
        assert_eq!(parsed("s3://bucket/"), (Service::S3, "bucket".to_owned(), String::new()));
        assert_eq!(parsed("s3://my-bucket.x/a/b/"), (Service::S3, "my-bucket.x".to_owned(), "a/b".to_owned()));
        assert_eq!(parsed("gs://bucket_1/a"), (Service::Gcs, "bucket_1".to_owned(), "a".to_owned()));
        assert_eq!(parsed("az://container/a/b"), (Service::Azure, "container".to_owned(), "a/b".to_owned()));
        assert_eq!(Address::parse("az://container/a/b").unwrap().to_string(), "az://container");
        for wrong in [
            "",
            "s3:",
            "s3://",
            "s3:///prefix",
            "bucket/prefix",
            "http://bucket",
            "s3://b/a//b",
            "s3://b/../a",
            "s3://b u/c",
            "gs:/b",
            "s3://name--x-s3/a",
            "s3://--use1-az4--x-s3",
            "az://container@account.blob.core.windows.net/a",
        ] {
            let error = Address::parse(wrong).unwrap_err();
            assert!(error.kind == Kind::TellHuman && error.message.contains("s3://BUCKET/PREFIX"), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_directory_bucket_has_a_zone() {
        let zone = |url: &str| Address::parse(url).unwrap().zone().map(str::to_owned);
        assert_eq!(zone("s3://name--with--use1-az4--x-s3/prefix").as_deref(), Some("use1-az4"));
        assert_eq!((zone("s3://name/prefix--use1-az4--x-s3"), zone("gs://name--use1-az4--x-s3")), (None, None));
    }

    #[test]
    fn only_buckets_have_a_service() {
        assert_eq!(Service::of("gs://bucket/prefix"), Some(Service::Gcs));
        for other in ["memory:", "data", "/var/lib/s3", "s3", "gs:bucket", "abfs://container"] {
            assert_eq!(Service::of(other), None, "{other}");
        }
    }
}
