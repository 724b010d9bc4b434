//! Certificates for tests, made when they run.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// An authority, and the folder of its files.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    /// Its certificate.
    pub file: PathBuf,
    directory: tempfile::TempDir,
    issued: AtomicU32,
}

/// Files of a certificate and its private key.
#[derive(Clone)]
pub struct Pair {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

impl Authority {
    pub fn new() -> Authority {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // Authorities are known by their names.
        params.distinguished_name.push(DnType::CommonName, format!("authority {}", fastrand::u64(..)));
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("authority.pem");
        std::fs::write(&file, issuer.pem()).unwrap();
        Authority { issuer, file, directory, issued: AtomicU32::new(0) }
    }

    /// A certificate for a broker of this machine.
    pub fn broker(&self) -> Pair {
        self.issue(&["localhost", "127.0.0.1"], |_| {})
    }

    /// A certificate for these names.
    pub fn issue(&self, names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Pair {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let number = self.issued.fetch_add(1, Ordering::Relaxed);
        let path = |kind: &str| self.directory.path().join(format!("{number}.{kind}.pem"));
        let pair = Pair { certificate: path("certificate"), key: path("key") };
        std::fs::write(&pair.certificate, certificate.pem()).unwrap();
        std::fs::write(&pair.key, key.serialize_pem()).unwrap();
        pair
    }
}
