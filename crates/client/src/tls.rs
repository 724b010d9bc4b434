//! TLS of connections to one host: trusted certificates, the client's certificate, and explanations of errors.

use rustls::client::WebPkiServerVerifier;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{AlertDescription, CertificateError, ClientConfig, Error, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Certificates for connections over TLS, in PEM. By default, those are trusted that the system trusts (on Linux,
/// `SSL_CERT_FILE` and `SSL_CERT_DIR` can specify others), and no certificate is presented.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsConfig {
    /// File of the authorities' certificates that are trusted instead of the system's.
    pub ca_file: Option<PathBuf>,
    /// File of the client's certificate, and its chain up to the authority, for a broker that asks for
    /// one. Needs `key_file`.
    pub certificate_file: Option<PathBuf>,
    /// File of the private key of the client's certificate.
    pub key_file: Option<PathBuf>,
}

/// TLS settings of connections to one host.
#[derive(Clone)]
pub(crate) struct Tls {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl Tls {
    /// Reads the files.
    pub(crate) fn new(host: &str, files: &TlsConfig) -> Result<Tls, String> {
        let provider = Arc::new(ring::default_provider());
        let wrong = |error: Error| format!("cannot set up TLS ({error}); check the system's certificates");
        let config = ClientConfig::builder_with_provider(provider.clone());
        let config = config.with_safe_default_protocol_versions().map_err(wrong)?;
        let config = match &files.ca_file {
            None => config.with_platform_verifier().map_err(wrong)?,
            Some(path) => {
                let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(authorities(path)?), provider);
                let verifier = verifier.build().map_err(|error| format!("cannot use {path:?} ({error})"))?;
                config.with_webpki_verifier(verifier)
            }
        };
        let config = match (&files.certificate_file, &files.key_file) {
            (None, None) => config.with_no_client_auth(),
            (Some(certificate), Some(key)) => {
                let (chain, private) = (certificates(certificate)?, private_key(key)?);
                config.with_client_auth_cert(chain, private).map_err(|error| {
                    format!("cannot use the certificate in {certificate:?} with the key in {key:?} ({error})")
                })?
            }
            (Some(_), None) => return Err("a client's certificate needs its private key (key_file) too".to_owned()),
            (None, Some(_)) => return Err("a private key needs its certificate (certificate_file) too".to_owned()),
        };
        let name = ServerName::try_from(host.to_owned()).map_err(|error| format!("{host:?}: {error}"))?;
        Ok(Tls { connector: TlsConnector::from(Arc::new(config)), name })
    }

    pub(crate) async fn connect(&self, socket: TcpStream) -> io::Result<Box<TlsStream<TcpStream>>> {
        self.connector.connect(self.name.clone(), socket).await.map(Box::new)
    }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("cannot read {path:?}: {error}"))
}

/// The certificates of a file, at least one.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&read(path)?).collect();
    match all {
        Ok(all) if all.is_empty() => Err(format!("{path:?} has no certificate in PEM")),
        Ok(all) => Ok(all),
        Err(error) => Err(format!("{path:?} has no certificate in PEM ({error})")),
    }
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, String> {
    let key = PrivateKeyDer::from_pem_slice(&read(path)?);
    key.map_err(|error| format!("{path:?} has no private key in PEM ({error})"))
}

fn authorities(path: &Path) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots.add(certificate).map_err(|error| format!("cannot use {path:?} ({error})"))?;
    }
    Ok(roots)
}

/// The TLS error of a failed connection, and what to do; `None` if it failed for another reason.
pub(crate) fn explain(error: &io::Error) -> Option<String> {
    let error = error.get_ref()?.downcast_ref::<Error>()?;
    Some(match hint(error) {
        Some(hint) => format!("{error}: {hint}"),
        None => format!(
            "{error}: check the broker's certificate, and that the system, SSL_CERT_FILE or ca_file trusts its issuer"
        ),
    })
}

/// The advice for an error.
fn hint(error: &Error) -> Option<&'static str> {
    match error {
        Error::InvalidCertificate(error) => certificate_hint(error),
        Error::InvalidMessage(_) => {
            Some("the response isn't TLS; if the broker runs without TLS, use http:// in its address")
        }
        Error::AlertReceived(AlertDescription::CertificateRequired) => {
            Some("the broker asks for a client's certificate; set certificate_file and key_file")
        }
        Error::AlertReceived(
            AlertDescription::UnknownCA
            | AlertDescription::BadCertificate
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateUnknown
            | AlertDescription::CertificateExpired
            | AlertDescription::DecryptError,
        ) => Some(
            "the broker doesn't accept the client's certificate; present a valid one that an authority which \
             the broker trusts has signed (certificate_file, key_file)",
        ),
        _ => None,
    }
}

fn certificate_hint(error: &CertificateError) -> Option<&'static str> {
    match error {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => Some(
            "the broker's certificate has an issuer that isn't trusted; give the issuer's certificate as ca_file, or \
             in SSL_CERT_FILE",
        ),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            Some("use a name of the certificate in the broker's address, or issue one for this name")
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => Some(
            "the broker's certificate has expired; renew it (the broker reloads it), or check this machine's clock",
        ),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            Some("the broker's certificate is not valid yet; check this machine's clock")
        }
        CertificateError::Other(error) if error.to_string().contains("CaUsedAsEndEntity") => Some(
            "the broker presents an authority's certificate; issue one with the extension basicConstraints=CA:FALSE",
        ),
        _ => None,
    }
}
