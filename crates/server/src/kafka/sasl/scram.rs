//! SCRAM (RFC 5802, RFC 7677): the broker's side of the exchange, two messages in and two out.
//!
//! The client proves that it knows a key, and the broker that it does too, and neither sends it. Any user name will do:
//! whoever has a key is welcome, so an exchange looks the same for every name.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rawline_kafka::sasl::{SaslError, ScramFinal, ScramFirst};
use ring::{digest, hmac, pbkdf2};
use std::num::NonZeroU32;
use std::sync::Arc;
use subtle::ConstantTimeEq;

/// How often a key is hashed: the least that RFC 7677 and Kafka's clients accept. Keys are random, not words that can
/// be guessed, so more would cost clients time and protect nobody.
pub const ITERATIONS: NonZeroU32 = NonZeroU32::MIN.saturating_add(4095);

/// Size of a salt and of the broker's part of a nonce, in bytes.
pub const RANDOM_BYTES: usize = 18;

/// Which hash a mechanism has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hash {
    Sha256,
    Sha512,
}

/// Why a client isn't authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ScramError {
    #[error(transparent)]
    Message(#[from] SaslError),
    #[error("the second message of SCRAM is not about the first")]
    Other,
    #[error("a user can't act as another one here")]
    Authorization,
    #[error("the password is none of the broker's API keys")]
    Proof,
}

/// What the broker keeps of its keys for one hash. With it, one can't authenticate as a client.
pub struct Verifiers {
    hash: Hash,
    salt: Vec<u8>,
    iterations: NonZeroU32,
    keys: Vec<Verifier>,
}

struct Verifier {
    /// The hash of the key that clients prove to have.
    stored_key: digest::Digest,
    server_key: hmac::Key,
}

impl Hash {
    fn hmac(self) -> hmac::Algorithm {
        match self {
            Hash::Sha256 => hmac::HMAC_SHA256,
            Hash::Sha512 => hmac::HMAC_SHA512,
        }
    }

    fn pbkdf2(self) -> pbkdf2::Algorithm {
        match self {
            Hash::Sha256 => pbkdf2::PBKDF2_HMAC_SHA256,
            Hash::Sha512 => pbkdf2::PBKDF2_HMAC_SHA512,
        }
    }

    fn digest(self, bytes: &[u8]) -> digest::Digest {
        digest::digest(self.hmac().digest_algorithm(), bytes)
    }

    /// The password with salt: from it follow the keys of both sides. As Kafka's clients do, it isn't normalized.
    fn salted(self, password: &str, salt: &[u8], iterations: NonZeroU32) -> hmac::Key {
        let mut salted = vec![0; self.hmac().digest_algorithm().output_len()];
        pbkdf2::derive(self.pbkdf2(), iterations, salt, password.as_bytes(), &mut salted);
        hmac::Key::new(self.hmac(), &salted)
    }
}

impl Verifiers {
    /// Of these keys, which share the salt.
    pub fn new<'a>(
        hash: Hash,
        salt: &[u8],
        iterations: NonZeroU32,
        keys: impl Iterator<Item = &'a str>,
    ) -> Arc<Verifiers> {
        let verifier = |key| {
            let salted = hash.salted(key, salt, iterations);
            let stored_key = hash.digest(hmac::sign(&salted, b"Client Key").as_ref());
            let server_key = hmac::Key::new(hash.hmac(), hmac::sign(&salted, b"Server Key").as_ref());
            Verifier { stored_key, server_key }
        };
        Arc::new(Verifiers { hash, salt: salt.to_vec(), iterations, keys: keys.map(verifier).collect() })
    }

    /// The one whose key the proof was made with. Takes the same time whichever it is.
    fn find(&self, messages: &[u8], proof: &[u8]) -> Option<&Verifier> {
        let mut found = None;
        for verifier in &self.keys {
            let stored_key = verifier.stored_key.as_ref();
            let signature = hmac::sign(&hmac::Key::new(self.hash.hmac(), stored_key), messages);
            if proof.len() != signature.as_ref().len() {
                return None;
            }
            let client_key: Vec<u8> = proof.iter().zip(signature.as_ref()).map(|(proof, byte)| proof ^ byte).collect();
            if self.hash.digest(&client_key).as_ref().ct_eq(stored_key).into() {
                found = Some(verifier);
            }
        }
        found
    }
}

/// An exchange whose first messages have been sent.
pub struct Exchange {
    verifiers: Arc<Verifiers>,
    /// What binds the second message to the first: its header, in base64.
    binding: String,
    /// Both parts.
    nonce: String,
    /// The first message without its header, and the broker's, with a comma after each.
    messages: String,
}

impl Exchange {
    /// Takes the client's first message. Returns the broker's, which has a nonce that was never used before.
    pub fn begin(verifiers: &Arc<Verifiers>, nonce: &str, message: &[u8]) -> Result<(Exchange, Vec<u8>), ScramError> {
        let first = ScramFirst::read(message)?;
        if first.authorization.is_some_and(|authorization| authorization != first.user) {
            return Err(ScramError::Authorization);
        }
        let nonce = format!("{}{nonce}", first.nonce);
        let response = format!("r={nonce},s={},i={}", BASE64_STANDARD.encode(&verifiers.salt), verifiers.iterations);
        let messages = format!("{},{response},", first.bare);
        let binding = BASE64_STANDARD.encode(first.header);
        Ok((Exchange { verifiers: verifiers.clone(), binding, nonce, messages }, response.into_bytes()))
    }

    /// Takes the client's second message. Returns the broker's, which proves that it has the key.
    pub fn finish(self, message: &[u8]) -> Result<Vec<u8>, ScramError> {
        let last = ScramFinal::read(message)?;
        if last.binding != self.binding || last.nonce != self.nonce {
            return Err(ScramError::Other);
        }
        let proof = BASE64_STANDARD.decode(last.proof).map_err(|_| ScramError::Proof)?;
        let messages = format!("{}{}", self.messages, last.without_proof);
        let verifier = self.verifiers.find(messages.as_bytes(), &proof).ok_or(ScramError::Proof)?;
        let signature = hmac::sign(&verifier.server_key, messages.as_bytes());
        Ok(format!("v={}", BASE64_STANDARD.encode(signature)).into_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verifiers(hash: Hash, keys: &[&str]) -> Arc<Verifiers> {
        let salt = BASE64_STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        Verifiers::new(hash, &salt, ITERATIONS, keys.iter().copied())
    }

    const NONCE: &str = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
    const FIRST: &[u8] = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO";
    const WITHOUT_PROOF: &str = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";

    fn finish(hash: Hash, keys: &[&str], proof: &str) -> Result<String, ScramError> {
        let (exchange, message) = Exchange::begin(&verifiers(hash, keys), NONCE, FIRST).unwrap();
        let expected = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
        assert_eq!(message, expected.as_bytes());
        let message = exchange.finish(format!("{WITHOUT_PROOF},p={proof}").as_bytes())?;
        Ok(String::from_utf8(message).unwrap())
    }

    /// RFC 7677, section 3, of SHA-256; of SHA-512, what Python's `hashlib` and `hmac` make of the same messages.
    const PROOFS: [(Hash, &str, &str); 2] = [
        (
            Hash::Sha256,
            "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
            "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
        ),
        (
            Hash::Sha512,
            "gMGXRcevScNtxZ6/8lQYpGtnsNAc3mGcmNomv+xnoOMw+3R2xNJdMNnzMlTN8PPC6wdp6dybEmDYXYTxwnYPJQ==",
            "v=ZQnYEgWQMFmmsM8aQMF0nDDCy/AgCzkwk8CmMZYcMg0vSVlKDanekLtifDSeVGT4+5ZxXnJq199RVG2rR7N7Zw==",
        ),
    ];

    #[test]
    fn exchanges_are_the_rfcs() {
        for (hash, proof, expected) in PROOFS {
            // Of several keys, the one that the client has.
            for keys in [&["pencil"][..], &["other", "pencil"], &["pencil", "other"]] {
                assert_eq!(finish(hash, keys, proof).as_deref(), Ok(expected));
            }
            assert_eq!(finish(hash, &["other"], proof), Err(ScramError::Proof));
        }
        let [(_, of_256, _), (_, of_512, _)] = PROOFS;
        for proof in [of_512, "AAAA", "!", &of_256.replace('d', "e")] {
            assert_eq!(finish(Hash::Sha256, &["pencil"], proof), Err(ScramError::Proof), "{proof}");
        }
    }

    #[test]
    fn messages_belong_together() {
        let verifiers = verifiers(Hash::Sha256, &["pencil"]);
        let proof = PROOFS[0].1;
        for other in [
            // Another nonce, only the client's part, another header.
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k1",
            "c=biws,r=rOprNGfwEbeRWgbNEkqO",
            "c=eSws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0",
        ] {
            let (exchange, _) = Exchange::begin(&verifiers, NONCE, FIRST).unwrap();
            assert_eq!(exchange.finish(format!("{other},p={proof}").as_bytes()), Err(ScramError::Other), "{other}");
        }
        let begin = |message: &[u8]| Exchange::begin(&verifiers, NONCE, message).map(drop);
        assert_eq!(begin(b"n,a=admin,n=user,r=1"), Err(ScramError::Authorization));
        assert_eq!(begin(b"n,a=user,n=user,r=1"), Ok(()));
        assert_eq!(begin(b"p=tls-unique,,n=user,r=1"), Err(SaslError::ChannelBinding.into()));
    }
}
