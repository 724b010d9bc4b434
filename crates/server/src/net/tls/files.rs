//! The files of certificates and keys, and the settings of TLS that follow from them.

use super::brokers::{ClientsAndBrokers, Known};
use rustls::RootCertStore;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The files of certificates, in PEM.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    /// The broker's certificate, followed by those between it and its authority, if there are any.
    pub certificate: PathBuf,
    /// The certificate's private key.
    pub key: PathBuf,
    /// Certificates of authorities: clients must present a certificate that one of them has signed. Without it, clients
    /// need no certificate.
    pub client_ca: Option<PathBuf>,
}

/// Why files can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TlsError {
    /// A file can't be read.
    #[error("cannot read {path:?}: {reason}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        reason: String,
    },
    /// A file lacks its content.
    #[error("{path:?} has no {what} in PEM ({reason})")]
    Content {
        /// The file.
        path: PathBuf,
        /// The missing content.
        what: &'static str,
        /// The error of the parser.
        reason: String,
    },
    /// The certificate and the key don't fit each other, or a kind of key isn't supported.
    #[error("cannot use the certificate in {certificate:?} with the key in {key:?} ({reason})")]
    Pair {
        /// The file of the certificate.
        certificate: PathBuf,
        /// The file of the key.
        key: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The authorities of clients can't be used.
    #[error("cannot use the authorities in {path:?} ({reason})")]
    Authorities {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
}

/// The content of the files, and where it is from.
pub(super) struct Loaded {
    files: TlsFiles,
    certificate: Vec<u8>,
    key: Vec<u8>,
    client_ca: Option<Vec<u8>>,
}

impl TlsFiles {
    /// Reads the files. Their content is not looked at.
    pub(super) fn load(&self) -> Result<Loaded, TlsError> {
        Ok(Loaded {
            files: self.clone(),
            certificate: read(&self.certificate)?,
            key: read(&self.key)?,
            client_ca: self.client_ca.as_deref().map(read).transpose()?,
        })
    }
}

impl Loaded {
    /// Whether both have the same bytes.
    pub fn is_same(&self, other: &Loaded) -> bool {
        (&self.certificate, &self.key, &self.client_ca) == (&other.certificate, &other.key, &other.client_ca)
    }

    /// The certificate with those between it and its authority, and its key.
    pub fn pair(&self) -> Result<Pair, TlsError> {
        let TlsFiles { certificate, key, .. } = &self.files;
        let chain = certificates(certificate, &self.certificate)?;
        let private = PrivateKeyDer::from_pem_slice(&self.key).map_err(|error| TlsError::Content {
            path: key.clone(),
            what: "private key",
            reason: error.to_string(),
        })?;
        Ok(Pair { chain, private })
    }

    /// The settings of connections that clients open, and these brokers.
    pub fn config(&self, pair: &Pair, brokers: Option<&Arc<Known>>) -> Result<ServerConfig, TlsError> {
        let wrong = |error: rustls::Error| TlsError::Pair {
            certificate: self.files.certificate.clone(),
            key: self.files.key.clone(),
            reason: error.to_string(),
        };
        let provider = Arc::new(ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider.clone());
        let config = config.with_safe_default_protocol_versions().map_err(wrong)?;
        let config = match (&self.files.client_ca, &self.client_ca) {
            (Some(path), Some(pem)) => {
                let roots = Arc::new(authorities(path, pem)?);
                let clients = WebPkiClientVerifier::builder_with_provider(roots, provider).build();
                let clients =
                    clients.map_err(|error| TlsError::Authorities { path: path.clone(), reason: error.to_string() })?;
                match brokers.cloned() {
                    Some(brokers) => config.with_client_cert_verifier(Arc::new(ClientsAndBrokers { clients, brokers })),
                    None => config.with_client_cert_verifier(clients),
                }
            }
            _ => config.with_no_client_auth(),
        };
        let mut config = config.with_single_cert(pair.chain.clone(), pair.private.clone_key()).map_err(wrong)?;
        // Clients that connect again resume their session with a ticket, which takes no memory of the broker. The
        // ticket's key is this configuration's: after a change of the authorities, certificates are looked at again.
        config.ticketer = ring::Ticketer::new().map_err(wrong)?;
        Ok(config)
    }
}

/// A certificate, followed by those between it and its authority, and its key.
pub(super) struct Pair {
    pub chain: Vec<CertificateDer<'static>>,
    pub private: PrivateKeyDer<'static>,
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    std::fs::read(path).map_err(|error| TlsError::Read { path: path.to_owned(), reason: error.to_string() })
}

/// The certificates of a file, at least one.
fn certificates(path: &Path, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let wrong = |reason: String| TlsError::Content { path: path.to_owned(), what: "certificate", reason };
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match all {
        Ok(all) if all.is_empty() => Err(wrong("no section begins with CERTIFICATE".to_owned())),
        Ok(all) => Ok(all),
        Err(error) => Err(wrong(error.to_string())),
    }
}

fn authorities(path: &Path, pem: &[u8]) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path, pem)? {
        let added = roots.add(certificate);
        added.map_err(|error| TlsError::Authorities { path: path.to_owned(), reason: error.to_string() })?;
    }
    Ok(roots)
}
