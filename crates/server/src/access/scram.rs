//! The part of a key that SCRAM (RFC 5802) needs: neither the key nor these values allow to log in as a client.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ring::{digest, hmac, pbkdf2};
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

/// Number of iterations of the hash: the minimum that RFC 7677 and Kafka's clients accept. Keys are random and can't be
/// guessed, so more iterations would cost clients time without protecting them.
pub(crate) const ITERATIONS: NonZeroU32 = NonZeroU32::MIN.saturating_add(4095);

/// More would keep clients busy for minutes.
const ITERATIONS_MAX: u32 = 1 << 24;

/// Size of a salt in bytes.
pub(crate) const SALT_BYTES: usize = 18;

/// Which hash a mechanism has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hash {
    Sha256,
    Sha512,
}

impl Hash {
    pub fn hmac(self) -> hmac::Algorithm {
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

    pub fn digest(self, bytes: &[u8]) -> digest::Digest {
        digest::digest(self.hmac().digest_algorithm(), bytes)
    }

    fn bytes(self) -> usize {
        self.hmac().digest_algorithm().output_len()
    }

    /// The password with salt: from it follow the keys of both sides. As Kafka's clients do, it isn't normalized.
    fn salted(self, password: &str, salt: &[u8], iterations: NonZeroU32) -> hmac::Key {
        let mut salted = vec![0; self.bytes()];
        pbkdf2::derive(self.pbkdf2(), iterations, salt, password.as_bytes(), &mut salted);
        hmac::Key::new(self.hmac(), &salted)
    }
}

/// The stored values of a key for one hash.
///
/// As a text: the number of iterations, the salt, the stored key and the server's key in base64, with `$` between them.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Credential {
    pub salt: Vec<u8>,
    pub iterations: NonZeroU32,
    /// The hash of the key that clients prove to have.
    pub stored_key: Vec<u8>,
    pub server_key: Vec<u8>,
}

impl Credential {
    pub fn derive(hash: Hash, password: &str, salt: &[u8], iterations: NonZeroU32) -> Credential {
        let salted = hash.salted(password, salt, iterations);
        let stored_key = hash.digest(hmac::sign(&salted, b"Client Key").as_ref()).as_ref().to_vec();
        let server_key = hmac::sign(&salted, b"Server Key").as_ref().to_vec();
        Credential { salt: salt.to_vec(), iterations, stored_key, server_key }
    }

    /// Whether the sizes are those of a hash.
    pub fn is_of(&self, hash: Hash) -> bool {
        self.stored_key.len() == hash.bytes() && self.server_key.len() == hash.bytes()
    }
}

impl fmt::Display for Credential {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [salt, stored, server] =
            [&self.salt, &self.stored_key, &self.server_key].map(|bytes| BASE64_STANDARD.encode(bytes));
        write!(formatter, "{}${salt}${stored}${server}", self.iterations)
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Credential")
    }
}

impl FromStr for Credential {
    type Err = ();

    fn from_str(text: &str) -> Result<Credential, ()> {
        let mut fields = text.split('$');
        let iterations: NonZeroU32 = fields.next().and_then(|count| count.parse().ok()).ok_or(())?;
        let mut bytes = || fields.next().and_then(|field| BASE64_STANDARD.decode(field).ok()).ok_or(());
        let (salt, stored_key, server_key) = (bytes()?, bytes()?, bytes()?);
        let is_allowed = iterations >= ITERATIONS && iterations.get() <= ITERATIONS_MAX && !salt.is_empty();
        if fields.next().is_some() || !is_allowed {
            return Err(());
        }
        Ok(Credential { salt, iterations, stored_key, server_key })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_is_read_as_it_was_written() {
        for hash in [Hash::Sha256, Hash::Sha512] {
            let credential = Credential::derive(hash, "pencil", b"salt", ITERATIONS);
            assert!(credential.is_of(hash));
            assert_eq!(credential.to_string().parse(), Ok(credential));
        }
    }

    #[test]
    fn what_is_not_a_credential_is_refused() {
        let text = Credential::derive(Hash::Sha256, "pencil", b"salt", ITERATIONS).to_string();
        for wrong in ["", "4096", "$$$", &text.replace("4096", "4095"), &format!("{text}$"), &text.replace('=', "?")] {
            assert_eq!(wrong.parse::<Credential>(), Err(()), "{wrong}");
        }
        assert!(!text.parse::<Credential>().unwrap().is_of(Hash::Sha512));
    }
}
