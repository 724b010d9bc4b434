//! SCRAM (RFC 5802, RFC 7677): the broker's side of the exchange, two messages in and two out.
//!
//! The client proves that it knows a key, and the broker that it does too, and neither sends it. For a key of the keys
//! file, the user is the key's name. For a key that the broker was started with, any user name will do.

use crate::access::scram::{Credential, Hash};
use crate::access::{Caller, Candidates};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rawline_kafka::sasl::{SaslError, ScramFinal, ScramFirst};
use ring::hmac;
use std::sync::Arc;
use subtle::ConstantTimeEq;

/// Size of the broker's part of a nonce, in bytes.
pub const RANDOM_BYTES: usize = 18;

/// Why a client isn't authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ScramError {
    #[error(transparent)]
    Message(#[from] SaslError),
    #[error("the second message of SCRAM is not about the first")]
    Other,
    #[error("a user can't act as another one here")]
    Authorization,
    #[error(
        "the password is none of the broker's API keys; with SCRAM, the user of a key of the keys file is its name"
    )]
    Proof,
}

/// An exchange whose first messages have been sent.
pub struct Exchange {
    hash: Hash,
    candidates: Candidates,
    /// The binding of the second message to the first: its header, in base64.
    binding: String,
    /// Both parts.
    nonce: String,
    /// The first message without its header, and the broker's, with a comma after each.
    messages: String,
}

impl Exchange {
    /// Takes the client's first message. Returns the broker's, which has a nonce that was never used before.
    pub fn begin(
        hash: Hash,
        candidates: impl FnOnce(&str) -> Candidates,
        nonce: &str,
        message: &[u8],
    ) -> Result<(Exchange, Vec<u8>), ScramError> {
        let first = ScramFirst::read(message)?;
        if first.authorization.is_some_and(|authorization| authorization != first.user) {
            return Err(ScramError::Authorization);
        }
        let candidates = candidates(first.user);
        let nonce = format!("{}{nonce}", first.nonce);
        let response = format!("r={nonce},s={},i={}", BASE64_STANDARD.encode(&candidates.salt), candidates.iterations);
        let messages = format!("{},{response},", first.bare);
        let binding = BASE64_STANDARD.encode(first.header);
        Ok((Exchange { hash, candidates, binding, nonce, messages }, response.into_bytes()))
    }

    /// Takes the client's second message. Returns the broker's, which proves that it has the key, and the caller.
    pub fn finish(self, message: &[u8]) -> Result<(Vec<u8>, Arc<Caller>), ScramError> {
        let last = ScramFinal::read(message)?;
        if last.binding != self.binding || last.nonce != self.nonce {
            return Err(ScramError::Other);
        }
        let proof = BASE64_STANDARD.decode(last.proof).map_err(|_| ScramError::Proof)?;
        let messages = format!("{}{}", self.messages, last.without_proof);
        let (caller, credential) = self.find(messages.as_bytes(), &proof).ok_or(ScramError::Proof)?;
        let server_key = hmac::Key::new(self.hash.hmac(), &credential.server_key);
        let signature = hmac::sign(&server_key, messages.as_bytes());
        Ok((format!("v={}", BASE64_STANDARD.encode(signature)).into_bytes(), caller.clone()))
    }

    /// The candidate whose key the proof was made with. Takes the same time whichever it is.
    fn find(&self, messages: &[u8], proof: &[u8]) -> Option<&(Arc<Caller>, Arc<Credential>)> {
        let mut found = None;
        for candidate in &self.candidates.all {
            let stored_key = &candidate.1.stored_key;
            let signature = hmac::sign(&hmac::Key::new(self.hash.hmac(), stored_key), messages);
            if proof.len() != signature.as_ref().len() {
                return None;
            }
            let client_key: Vec<u8> = proof.iter().zip(signature.as_ref()).map(|(proof, byte)| proof ^ byte).collect();
            if self.hash.digest(&client_key).as_ref().ct_eq(stored_key).into() {
                found = Some(candidate);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::scram::ITERATIONS;

    fn candidates(hash: Hash, keys: &[&str]) -> Candidates {
        let salt = BASE64_STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let credential = |key: &&str| Arc::new(Credential::derive(hash, key, &salt, ITERATIONS));
        let all = keys.iter().map(|key| (Caller::unknown(), credential(key))).collect();
        Candidates { salt: salt.clone(), iterations: ITERATIONS, all }
    }

    const NONCE: &str = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
    const FIRST: &[u8] = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO";
    const WITHOUT_PROOF: &str = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";

    fn finish(hash: Hash, keys: &[&str], proof: &str) -> Result<String, ScramError> {
        let (exchange, message) = Exchange::begin(hash, |_| candidates(hash, keys), NONCE, FIRST).unwrap();
        let expected = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
        assert_eq!(message, expected.as_bytes());
        let (message, _) = exchange.finish(format!("{WITHOUT_PROOF},p={proof}").as_bytes())?;
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
            for keys in [&[][..], &["other"]] {
                assert_eq!(finish(hash, keys, proof), Err(ScramError::Proof));
            }
        }
        let [(_, of_256, _), (_, of_512, _)] = PROOFS;
        for proof in [of_512, "AAAA", "!", &of_256.replace('d', "e")] {
            assert_eq!(finish(Hash::Sha256, &["pencil"], proof), Err(ScramError::Proof), "{proof}");
        }
    }

    #[test]
    fn messages_belong_together() {
        let hash = Hash::Sha256;
        let proof = PROOFS[0].1;
        for other in [
            // Another nonce, only the client's part, another header.
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k1",
            "c=biws,r=rOprNGfwEbeRWgbNEkqO",
            "c=eSws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0",
        ] {
            let (exchange, _) = Exchange::begin(hash, |_| candidates(hash, &["pencil"]), NONCE, FIRST).unwrap();
            let finished = exchange.finish(format!("{other},p={proof}").as_bytes()).map(drop);
            assert_eq!(finished, Err(ScramError::Other), "{other}");
        }
        let begin = |message: &[u8]| Exchange::begin(hash, |_| candidates(hash, &["pencil"]), NONCE, message).map(drop);
        assert_eq!(begin(b"n,a=admin,n=user,r=1"), Err(ScramError::Authorization));
        assert_eq!(begin(b"n,a=user,n=user,r=1"), Ok(()));
        assert_eq!(begin(b"p=tls-unique,,n=user,r=1"), Err(SaslError::ChannelBinding.into()));
    }
}
