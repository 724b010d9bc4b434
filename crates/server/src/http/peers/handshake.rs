//! How two brokers recognize each other on a connection, and agree on a key for its requests. No I/O.
//!
//! ```text
//! asking broker                                answering broker
//!   hello: ids of both, share          ──►
//!                                      ◄──       share, signature of ids and shares
//!   proof: signature of ids and shares ──►       looks up the asking broker's card
//! ```
//!
//! Each signs with the key of its run, whose public half is in its card on the storage. The shares are X25519 public
//! keys that are made for the connection, so nothing can be replayed and no clock is needed. From the shared secret
//! comes the key with which the asking broker authenticates each request: a connection's authority can't be used by
//! another program whose requests a proxy sends on the same connection, nor by one that reads them.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use rawline_broker::cluster::{BrokerId, PublicKey};
use ring::agreement::{self, EphemeralPrivateKey, UnparsedPublicKey, X25519};
use ring::rand::SystemRandom;
use ring::signature::{self, ED25519, Ed25519KeyPair, KeyPair};
use ring::{digest, hmac};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Maximum size of a message in bytes.
pub(crate) const MESSAGE_BYTES_MAX: usize = 4 << 10;

/// Prefix of the answering broker's signature, which distinguishes it from the asking broker's.
const ANSWERS: &[u8] = b"rawline: this broker answers\0";

/// The same of the asking broker's.
const ASKS: &[u8] = b"rawline: this broker asks\0";

/// Each authenticated message begins with its purpose.
const REQUEST: &[u8] = b"request\0";
const CALLER: &[u8] = b"caller\0";

/// The key pair of one run of a broker. Its private half never leaves the process.
pub struct PeerKey {
    pair: Ed25519KeyPair,
    public: PublicKey,
}

impl PeerKey {
    /// A new one.
    #[expect(clippy::disallowed_methods, reason = "a secret that nothing can predict")]
    pub fn generate() -> PeerKey {
        PeerKey::from_seed(&rand::random())
    }

    fn from_seed(seed: &[u8; 32]) -> PeerKey {
        let Ok(pair) = Ed25519KeyPair::from_seed_unchecked(seed) else { unreachable!("any 32 bytes are a seed") };
        let Ok(public) = pair.public_key().as_ref().try_into() else { unreachable!("an Ed25519 key has 32 bytes") };
        PeerKey { pair, public: PublicKey(public) }
    }

    /// The data by which other brokers recognize this one.
    pub fn public(&self) -> PublicKey {
        self.public
    }

    fn sign(&self, role: &[u8], said: &Said) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(self.pair.sign(&said.signed_as(role)))
    }
}

impl fmt::Debug for PeerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PeerKey({:?})", self.public)
    }
}

/// The other side isn't the broker that it claims to be, or its message is malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it doesn't prove that it is the broker of its card on the storage: is another program at its address?")]
pub(crate) struct NotProven;

/// The two brokers of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pair {
    pub asking: BrokerId,
    pub answering: BrokerId,
}

/// The messages of both sides, which both sign.
struct Said {
    pair: Pair,
    asking: [u8; 32],
    answering: [u8; 32],
}

impl Said {
    fn signed_as(&self, role: &[u8]) -> Vec<u8> {
        let Pair { asking, answering } = self.pair;
        let ids = [asking.0.to_be_bytes(), answering.0.to_be_bytes()].concat();
        [role, &ids, &self.asking, &self.answering].concat()
    }

    fn check(&self, role: &[u8], signature: &str, public: &PublicKey) -> Result<(), NotProven> {
        let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).map_err(|_| NotProven)?;
        let public = signature::UnparsedPublicKey::new(&ED25519, public.0);
        public.verify(&self.signed_as(role), &signature).map_err(|_| NotProven)
    }
}

/// The first message.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Hello {
    pub from: BrokerId,
    pub to: BrokerId,
    share: String,
}

/// The response to it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Answer {
    share: String,
    signature: String,
}

/// The second message.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Proof {
    signature: String,
}

/// One side's secret for a connection, and its public share.
struct Share {
    private: EphemeralPrivateKey,
    public: [u8; 32],
}

impl Share {
    fn generate() -> Result<Share, NotProven> {
        let private = EphemeralPrivateKey::generate(&X25519, &SystemRandom::new()).map_err(|_| NotProven)?;
        let public = private.compute_public_key().map_err(|_| NotProven)?;
        Ok(Share { private, public: public.as_ref().try_into().map_err(|_| NotProven)? })
    }

    fn text(&self) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(self.public)
    }

    /// The key of the connection.
    fn agree(self, other: &[u8; 32], said: &Said) -> Result<ConnectionKey, NotProven> {
        let derive = |shared: &[u8]| {
            let digest = digest::digest(&digest::SHA256, &[shared, &said.signed_as(b"rawline: key\0")].concat());
            ConnectionKey(hmac::Key::new(hmac::HMAC_SHA256, digest.as_ref()))
        };
        agreement::agree_ephemeral(self.private, &UnparsedPublicKey::new(&X25519, other), derive).map_err(|_| NotProven)
    }
}

fn share_of(text: &str) -> Result<[u8; 32], NotProven> {
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).map_err(|_| NotProven)?;
    bytes.try_into().map_err(|_| NotProven)
}

/// The asking broker, after its hello.
pub(crate) struct Asking {
    pair: Pair,
    share: Share,
}

impl Asking {
    /// Begins, with the first message.
    pub fn begin(pair: Pair) -> Result<(Asking, Hello), NotProven> {
        let share = Share::generate()?;
        let hello = Hello { from: pair.asking, to: pair.answering, share: share.text() };
        Ok((Asking { pair, share }, hello))
    }

    /// Checks that the answer is from the broker with this public key. Returns the second message.
    pub fn finish(
        self,
        own: &PeerKey,
        answer: &Answer,
        other: &PublicKey,
    ) -> Result<(Proof, ConnectionKey), NotProven> {
        let answering = share_of(&answer.share)?;
        let said = Said { pair: self.pair, asking: self.share.public, answering };
        said.check(ANSWERS, &answer.signature, other)?;
        let key = self.share.agree(&answering, &said)?;
        Ok((Proof { signature: own.sign(ASKS, &said) }, key))
    }
}

/// The answering broker, after its answer.
pub(crate) struct Answering {
    said: Said,
    key: ConnectionKey,
}

impl Answering {
    /// Answers a hello that is for this broker.
    pub fn begin(own: &PeerKey, hello: &Hello) -> Result<(Answering, Answer), NotProven> {
        let (share, asking) = (Share::generate()?, share_of(&hello.share)?);
        let said = Said { pair: Pair { asking: hello.from, answering: hello.to }, asking, answering: share.public };
        let answer = Answer { share: share.text(), signature: own.sign(ANSWERS, &said) };
        let key = share.agree(&asking, &said)?;
        Ok((Answering { said, key }, answer))
    }

    /// The broker that the other side claims to be.
    pub fn asking(&self) -> BrokerId {
        self.said.pair.asking
    }

    /// Checks that it is the broker with this public key.
    pub fn finish(self, proof: &Proof, other: &PublicKey) -> Result<ConnectionKey, NotProven> {
        self.said.check(ASKS, &proof.signature, other)?;
        Ok(self.key)
    }
}

/// Authenticates the requests of one connection.
pub(crate) struct ConnectionKey(hmac::Key);

/// The authenticated parts of a request: its client, method, path and query.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claim<'a> {
    /// Greater than those of the requests before it on the connection.
    pub number: u64,
    pub method: &'a str,
    /// The path and the query.
    pub target: &'a str,
    /// The client, if it isn't the broker itself.
    pub caller: &'a str,
}

impl Claim<'_> {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = [REQUEST, &self.number.to_be_bytes()].concat();
        for part in [self.method, self.target, self.caller] {
            bytes.extend((part.len() as u64).to_be_bytes());
            bytes.extend(part.as_bytes());
        }
        bytes
    }
}

impl ConnectionKey {
    /// The code of a request.
    pub fn code(&self, claim: &Claim<'_>) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(hmac::sign(&self.0, &claim.bytes()))
    }

    /// Whether this is the code of a request.
    pub fn is_code_of(&self, claim: &Claim<'_>, code: &str) -> bool {
        let code = BASE64_URL_SAFE_NO_PAD.decode(code).unwrap_or_default();
        hmac::verify(&self.0, &claim.bytes(), &code).is_ok()
    }

    /// Shows that this broker knows a client's key, without telling anything about it.
    pub fn code_of_key(&self, digest: &[u8]) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(hmac::sign(&self.0, &[CALLER, digest].concat()))
    }

    /// Whether the other broker means the key with this digest.
    pub fn is_code_of_key(&self, digest: &[u8], code: &str) -> bool {
        let code = BASE64_URL_SAFE_NO_PAD.decode(code).unwrap_or_default();
        hmac::verify(&self.0, &[CALLER, digest].concat(), &code).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIR: Pair = Pair { asking: BrokerId(1), answering: BrokerId(2) };

    /// The keys at both sides, if both accept each other.
    fn shake(
        keys: [&PeerKey; 2],
        cards: [&PublicKey; 2],
        change: impl FnOnce(&mut Hello, &mut Answer),
    ) -> Result<[ConnectionKey; 2], NotProven> {
        let (asking, mut hello) = Asking::begin(PAIR)?;
        let (answering, mut answer) = Answering::begin(keys[1], &hello)?;
        change(&mut hello, &mut answer);
        let (proof, at_asking) = asking.finish(keys[0], &answer, cards[1])?;
        Ok([at_asking, answering.finish(&proof, cards[0])?])
    }

    #[test]
    fn two_brokers_recognize_each_other_by_their_cards_and_agree_on_a_key() {
        let [one, two, other] = [1, 2, 3].map(|seed| PeerKey::from_seed(&[seed; 32]));
        let (cards, claim) = ([&one.public(), &two.public()], |number| Claim {
            number,
            method: "POST",
            target: "/records?topic-name=t",
            caller: "127.0.0.1 anyone",
        });
        let [asking, answering] = shake([&one, &two], cards, |_, _| {}).unwrap();
        let code = asking.code(&claim(1));
        assert!(answering.is_code_of(&claim(1), &code) && !answering.is_code_of(&claim(2), &code));
        let parts = [
            Claim { method: "GET", ..claim(1) },
            Claim { target: "/records?topic-name=u", ..claim(1) },
            Claim { caller: "", ..claim(1) },
            Claim { target: "/records?topic-name=t1", caller: "27.0.0.1 anyone", ..claim(1) },
        ];
        assert!(parts.iter().all(|part| !answering.is_code_of(part, &code)), "another request");
        let [_, elsewhere] = shake([&one, &two], cards, |_, _| {}).unwrap();
        assert!(!elsewhere.is_code_of(&claim(1), &code), "another connection");
        assert!(!answering.is_code_of(&claim(1), "") && !answering.is_code_of(&claim(1), "%"));
        let shown = asking.code_of_key(b"digest");
        assert!(answering.is_code_of_key(b"digest", &shown) && !answering.is_code_of_key(b"other", &shown));
        assert!(!elsewhere.is_code_of_key(b"digest", &shown));

        // A program that knows the cards, but has no key, or that of another broker.
        for (keys, what) in [([&other, &two], "the asking one"), ([&one, &other], "the answering one")] {
            assert!(shake(keys, cards, |_, _| {}).is_err(), "{what}");
        }
        assert!(shake([&two, &two], cards, |_, _| {}).is_err(), "the roles are signed");
    }

    #[test]
    fn nothing_of_a_handshake_can_be_changed_or_said_again() {
        let [one, two] = [1, 2].map(|seed| PeerKey::from_seed(&[seed; 32]));
        let cards = [&one.public(), &two.public()];
        let (_, hello) = Asking::begin(PAIR).unwrap();
        let (_, before) = Answering::begin(&two, &hello).unwrap();
        assert!(shake([&one, &two], cards, |_, answer| *answer = before).is_err(), "an answer of before");
        for share in ["", "%", &"A".repeat(43), &"A".repeat(44)] {
            let changed = shake([&one, &two], cards, |_, answer| answer.share = share.to_owned());
            assert!(changed.is_err(), "{share:?}");
        }
        for signature in [String::new(), BASE64_URL_SAFE_NO_PAD.encode([0; 64])] {
            assert!(shake([&one, &two], cards, |_, answer| answer.signature = signature).is_err());
        }
        let (asking, hello) = Asking::begin(PAIR).unwrap();
        let (answering, answer) = Answering::begin(&two, &Hello { to: BrokerId(3), ..hello }).unwrap();
        assert!(asking.finish(&one, &answer, cards[1]).is_err(), "meant for another broker");
        assert!(answering.finish(&Proof { signature: answer.signature }, cards[1]).is_err(), "its own signature");
        assert!(!format!("{one:?}").contains(&BASE64_URL_SAFE_NO_PAD.encode([1; 32])));
    }
}
