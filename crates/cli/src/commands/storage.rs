//! The value of `--storage`: the kind of storage that it names.

use rawline_broker::store::s3::Service;
use std::fmt;
use std::str::FromStr;

/// A storage as it was named on the command line.
#[derive(Debug, Clone)]
pub struct StorageArg {
    pub name: String,
    pub kind: StorageKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StorageKind {
    Memory,
    Directory,
    Bucket(Service),
}

const MEMORY: &str = "memory:";

/// A directory, unless it is a URL.
impl FromStr for StorageArg {
    type Err = String;

    fn from_str(name: &str) -> Result<StorageArg, String> {
        let kind = match Service::of(name) {
            Some(service) => StorageKind::Bucket(service),
            None if name == MEMORY => StorageKind::Memory,
            None => {
                check_directory(name)?;
                StorageKind::Directory
            }
        };
        Ok(StorageArg { name: name.to_owned(), kind })
    }
}

impl fmt::Display for StorageArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl StorageArg {
    pub fn is_bucket(&self) -> bool {
        matches!(self.kind, StorageKind::Bucket(_))
    }

    pub fn is_directory(&self) -> bool {
        self.kind == StorageKind::Directory
    }
}

/// Fails if the name of a directory is probably a URL that was misspelled, such as `s3:/bucket` or `memory`: a broker
/// would create a directory, and store records where they are not looked for.
fn check_directory(name: &str) -> Result<(), String> {
    let is_scheme =
        |text: &&str| text.len() > 1 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    let schemes = || Service::ALL.into_iter().map(Service::scheme).chain([MEMORY.trim_end_matches(':')]);
    let scheme = name.split_once(':').map(|(scheme, _)| scheme).filter(is_scheme);
    let Some(scheme) = scheme.or_else(|| schemes().find(|scheme| *scheme == name)) else { return Ok(()) };
    Err(format!(
        "{name:?} looks like a URL with {scheme}, but isn't one; give s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, \
         az://CONTAINER/PREFIX, memory:, or a directory, such as ./{name}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_storage_is_memory_a_directory_or_a_bucket() {
        let kind = |name: &str| name.parse::<StorageArg>().map(|storage| storage.kind);
        assert_eq!(kind("memory:"), Ok(StorageKind::Memory));
        for (bucket, service) in [("s3://b/p", Service::S3), ("gs://b", Service::Gcs), ("az://c/p", Service::Azure)] {
            assert_eq!(kind(bucket), Ok(StorageKind::Bucket(service)), "{bucket}");
        }
        for directory in ["data", "./memory", "/var/lib/rawline", "./s3:/x", "a/b:c", "C:", "data.s3", "../az"] {
            assert_eq!(kind(directory), Ok(StorageKind::Directory), "{directory}");
        }
        for wrong in ["s3:/bucket", "s3:bucket", "memory", "s3", "az", "gs:", "http://x", "file:///x", "memory:x"] {
            let error = kind(wrong).unwrap_err();
            assert!(error.contains(wrong) && error.contains("./"), "{error}");
        }
    }
}
