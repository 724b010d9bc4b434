//! The brokers on one storage.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The body of `GET /brokers`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokerList {
    /// The brokers on the storage, by id; none if a storage has one broker, as a directory does.
    pub brokers: Vec<BrokerInfo>,
}

/// A broker, as the responding one sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokerInfo {
    /// Names a run of a broker.
    pub id: String,
    /// Its URL for other brokers and clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Its address for Kafka's clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kafka: Option<String>,
    /// The zone that it runs in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// Whether it counts.
    pub state: BrokerState,
    /// Whether it owns a journal, to whose topics it appends.
    pub is_owner: bool,
    /// The numbers of the journals that it owns.
    #[serde(default)]
    pub journals: Vec<u32>,
    /// Whether it is the responding broker.
    pub is_me: bool,
    /// Whether it stores nothing.
    pub is_read_only: bool,
    /// How long ago it was last known to live, in milliseconds.
    pub silent_ms: u64,
    /// How many journal objects it has not read yet, as far as it has said.
    pub objects_lag: u64,
    /// Its version.
    pub version: String,
}

/// Whether a broker counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BrokerState {
    /// It responds.
    Live,
    /// It is about to stop.
    Leaving,
    /// The responding broker can't reach it.
    Unreachable,
    /// It has not stored its card for a while.
    Silent,
}

impl fmt::Display for BrokerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BrokerState::Live => "live",
            BrokerState::Leaving => "leaving",
            BrokerState::Unreachable => "unreachable",
            BrokerState::Silent => "silent",
        })
    }
}
