//! The mechanisms of authentication, and the keys for them.

use crate::access::scram::Hash;
use crate::access::{Access, Candidates};

/// The supported mechanisms, if the broker has keys.
pub struct Sasl {
    pub(super) access: Access,
    /// Of the keys that the broker was started with.
    sha_256: Candidates,
    sha_512: Candidates,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mechanism {
    Plain,
    Scram(Hash),
}

impl Mechanism {
    pub const ALL: [Mechanism; 3] = [Mechanism::Plain, Mechanism::Scram(Hash::Sha256), Mechanism::Scram(Hash::Sha512)];

    pub fn name(self) -> &'static str {
        match self {
            Mechanism::Plain => "PLAIN",
            Mechanism::Scram(Hash::Sha256) => "SCRAM-SHA-256",
            Mechanism::Scram(Hash::Sha512) => "SCRAM-SHA-512",
        }
    }
}

impl Sasl {
    /// `None` if clients need no key.
    pub fn new(access: &Access) -> Option<Sasl> {
        if access.is_open() {
            return None;
        }
        let [sha_256, sha_512] = [Hash::Sha256, Hash::Sha512].map(|hash| access.fixed_candidates(hash));
        Some(Sasl { access: access.clone(), sha_256, sha_512 })
    }

    /// The callers as which a client with this user name can authenticate.
    pub(super) fn candidates(&self, hash: Hash, user: &str) -> Candidates {
        let fixed = match hash {
            Hash::Sha256 => &self.sha_256,
            Hash::Sha512 => &self.sha_512,
        };
        self.access.candidates(hash, user, fixed)
    }
}
