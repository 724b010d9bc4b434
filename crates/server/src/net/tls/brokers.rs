//! TLS between the brokers on one storage. Each trusts exactly the certificates that the others' cards name: a program
//! that can store a card can also store records. So there is no authority to configure, and names and dates are
//! ignored.

use rawline_broker::cluster::Fingerprint;
use ring::digest;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};
use std::collections::HashSet;
use std::sync::{Arc, PoisonError, RwLock};
use tokio::sync::Notify;

/// A certificate's fingerprint.
pub(super) fn fingerprint(certificate: &CertificateDer<'_>) -> Fingerprint {
    let digest = digest::digest(&digest::SHA256, certificate);
    match digest.as_ref().try_into() {
        Ok(bytes) => Fingerprint(bytes),
        Err(_) => unreachable!("a SHA-256 of {} bytes", digest.as_ref().len()),
    }
}

/// The certificates of the other brokers, as far as this one has read their cards.
#[derive(Debug, Default)]
pub(super) struct Known {
    certificates: RwLock<HashSet<Fingerprint>>,
    /// A client has presented an unknown certificate: it may be a broker that has just started.
    pub stranger: Notify,
}

impl Known {
    pub fn replace(&self, certificates: HashSet<Fingerprint>) {
        *self.certificates.write().unwrap_or_else(PoisonError::into_inner) = certificates;
    }

    fn has(&self, certificate: &CertificateDer<'_>) -> bool {
        self.certificates.read().unwrap_or_else(PoisonError::into_inner).contains(&fingerprint(certificate))
    }
}

/// Accepts clients by their authority, and other brokers by their cards, so that a broker's certificate need not be one
/// for clients.
#[derive(Debug)]
pub(super) struct ClientsAndBrokers {
    pub clients: Arc<dyn ClientCertVerifier>,
    pub brokers: Arc<Known>,
}

impl ClientCertVerifier for ClientsAndBrokers {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.clients.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        if self.brokers.has(certificate) {
            return Ok(ClientCertVerified::assertion());
        }
        let verified = self.clients.verify_client_cert(certificate, intermediates, now);
        if verified.is_err() {
            self.brokers.stranger.notify_one();
        }
        verified
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.clients.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.clients.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.clients.supported_verify_schemes()
    }
}

/// Accepts the certificates that a broker's card names.
#[derive(Debug)]
pub(super) struct Pinned {
    pub certificates: Vec<Fingerprint>,
    pub provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.certificates.contains(&fingerprint(certificate)) {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
