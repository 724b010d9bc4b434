//! Where the brokers on one storage keep their cards.

use crate::store_error::StoreError;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Names one run of a broker. Its text is 16 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BrokerId(pub u64);

impl BrokerId {
    /// The number by which Kafka's clients know the broker: positive.
    pub fn node(self) -> i32 {
        ((self.0 >> 32) as u32 & 0x7FFF_FFFF).max(1) as i32
    }
}

impl fmt::Display for BrokerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl From<BrokerId> for String {
    fn from(id: BrokerId) -> String {
        id.to_string()
    }
}

/// A text that names no broker.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no broker's id: 16 hexadecimal digits")]
pub struct BrokerIdInvalid(String);

impl FromStr for BrokerId {
    type Err = BrokerIdInvalid;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_hex = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = is_hex.then(|| u64::from_str_radix(text, 16).ok()).flatten();
        number.map(BrokerId).ok_or_else(|| BrokerIdInvalid(text.to_owned()))
    }
}

impl TryFrom<String> for BrokerId {
    type Error = BrokerIdInvalid;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

/// Where brokers keep their cards. Each call is one request.
pub trait MemberStore: Send + Sync + 'static {
    /// Stores a broker's card in place of the one before.
    fn put(&self, id: BrokerId, card: Bytes) -> BoxFuture<'static, Result<(), StoreError>>;

    /// A broker's card, and how long ago it was stored by the store's own clock; `None` if it has no card.
    fn get(&self, id: BrokerId) -> BoxFuture<'static, Result<Option<(Bytes, Duration)>, StoreError>>;

    /// The brokers that have a card.
    fn list(&self) -> BoxFuture<'static, Result<Vec<BrokerId>, StoreError>>;

    /// Deletes a card. One that is gone already doesn't matter.
    fn delete(&self, id: BrokerId) -> BoxFuture<'static, Result<(), StoreError>>;
}
