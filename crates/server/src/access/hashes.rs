//! A random key and its stored hashes, which don't reveal the key.
//!
//! A key is `NAME.SECRET`: the name finds its entry, so that one hash is computed whatever the number of keys. The
//! secret has 256 random bits, so a salted SHA-256 is enough: dictionary attacks are impossible.

use super::scram::{Credential, Hash, ITERATIONS, SALT_BYTES};
use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use ring::digest;
use std::fmt;
use std::sync::Arc;
use subtle::ConstantTimeEq;

/// Size of a key's secret in bytes.
const SECRET_BYTES: usize = 32;

/// Size of a SHA-256 in bytes.
const SHA_256_BYTES: usize = 32;

/// Random bytes for a key: its secret, and a salt for each hash.
pub(super) const RANDOM_BYTES: usize = SECRET_BYTES + 3 * SALT_BYTES;

/// The stored hashes of a key.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Hashes {
    pub sha_256: Salted,
    /// The credentials for SCRAM of Kafka's clients, if there are any.
    pub scram_sha_256: Option<Arc<Credential>>,
    pub scram_sha_512: Option<Arc<Credential>>,
}

/// A salt and the SHA-256 of it with the key after it. As a text, both in base64 with `$` between them.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Salted {
    salt: Vec<u8>,
    hash: [u8; SHA_256_BYTES],
}

impl Salted {
    fn new(salt: &[u8], key: &[u8]) -> Salted {
        Salted { salt: salt.to_vec(), hash: sha_256(salt, key) }
    }

    /// Reads its text.
    pub fn read(text: &str) -> Option<Salted> {
        let (salt, hash) = text.split_once('$')?;
        let salt = BASE64_STANDARD.decode(salt).ok().filter(|salt| salt.len() >= 8)?;
        let hash = BASE64_STANDARD.decode(hash).ok()?.try_into().ok()?;
        Some(Salted { salt, hash })
    }

    /// Whether it is of this key. Takes the same time for every wrong one of one length.
    pub fn is_of(&self, key: &[u8]) -> bool {
        sha_256(&self.salt, key).ct_eq(&self.hash).into()
    }
}

impl fmt::Display for Salted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}${}", BASE64_STANDARD.encode(&self.salt), BASE64_STANDARD.encode(self.hash))
    }
}

fn sha_256(salt: &[u8], key: &[u8]) -> [u8; SHA_256_BYTES] {
    let mut context = digest::Context::new(&digest::SHA256);
    context.update(salt);
    context.update(key);
    let digest = context.finish();
    match digest.as_ref().try_into() {
        Ok(hash) => hash,
        Err(_) => unreachable!("a SHA-256 of {} bytes", digest.as_ref().len()),
    }
}

impl Hashes {
    /// A new key with this name, and its hashes.
    pub fn generate(name: &str, random: &[u8; RANDOM_BYTES]) -> (String, Hashes) {
        let (secret, salts) = random.split_at(SECRET_BYTES);
        let key = format!("{name}.{}", BASE64_URL_SAFE_NO_PAD.encode(secret));
        let (for_sha, rest) = salts.split_at(SALT_BYTES);
        let (for_256, for_512) = rest.split_at(SALT_BYTES);
        let scram = |hash, salt| Some(Arc::new(Credential::derive(hash, &key, salt, ITERATIONS)));
        let hashes = Hashes {
            sha_256: Salted::new(for_sha, key.as_bytes()),
            scram_sha_256: scram(Hash::Sha256, for_256),
            scram_sha_512: scram(Hash::Sha512, for_512),
        };
        (key, hashes)
    }

    pub fn scram(&self, hash: Hash) -> Option<&Arc<Credential>> {
        match hash {
            Hash::Sha256 => self.scram_sha_256.as_ref(),
            Hash::Sha512 => self.scram_sha_512.as_ref(),
        }
    }
}

impl fmt::Debug for Hashes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Hashes")
    }
}

/// The name in a key.
pub(super) fn name_in(key: &[u8]) -> Option<&str> {
    std::str::from_utf8(key).ok()?.rsplit_once('.').map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_its_name_and_fits_its_hashes_only() {
        let (key, hashes) = Hashes::generate("a.b", &[7; RANDOM_BYTES]);
        assert_eq!(name_in(key.as_bytes()), Some("a.b"));
        assert_eq!(key.len(), "a.b.".len() + 43, "{key}");
        assert!(hashes.sha_256.is_of(key.as_bytes()));
        for wrong in ["", "a.b", "a.b.", &key[..key.len() - 1], &format!("{key}A"), &key.replace("a.b", "a.c")] {
            assert!(!hashes.sha_256.is_of(wrong.as_bytes()), "{wrong}");
        }
        let other = Hashes::generate("a.b", &[8; RANDOM_BYTES]);
        assert!(other.0 != key && other.1 != hashes);
    }

    #[test]
    fn hashes_are_read_as_they_were_written() {
        let (_, hashes) = Hashes::generate("n", &[1; RANDOM_BYTES]);
        assert!(Salted::read(&hashes.sha_256.to_string()) == Some(hashes.sha_256.clone()));
        let text = hashes.sha_256.to_string();
        for wrong in ["", "$", "AAAA$AAAA", &text.replace('$', ""), &text[..text.len() - 4], &format!("{text}$")] {
            assert!(Salted::read(wrong).is_none(), "{wrong}");
        }
        assert_eq!(format!("{hashes:?}"), "Hashes");
    }
}
