//! Errors in responses of Kafka's protocol, by API and code. They are rare, so one lock is enough.

use rawline_broker::metrics::{Text, families};
use rawline_kafka::{Api, ErrorCode};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The counts of errors.
#[derive(Debug, Default)]
pub(super) struct KafkaErrors(Mutex<BTreeMap<(Api, i16), u64>>);

impl KafkaErrors {
    fn counts(&self) -> MutexGuard<'_, BTreeMap<(Api, i16), u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn add(&self, api: Api, error: i16) {
        *self.counts().entry((api, error)).or_default() += 1;
    }

    /// All of an API.
    pub fn of(&self, api: Api) -> u64 {
        self.counts().range((api, i16::MIN)..=(api, i16::MAX)).map(|(_, count)| count).sum()
    }

    pub fn render(&self, text: &mut Text) {
        let counts = self.counts().clone();
        let series = counts.iter().map(|((api, error), count)| ([api.name().to_owned(), name_of(*error)], count));
        text.counters(&families::KAFKA_ERRORS, series);
    }
}

/// The name of an error as Kafka writes it, such as `NOT_COORDINATOR`.
fn name_of(error: i16) -> String {
    let Some(known) = ErrorCode::ALL.iter().find(|code| i16::from(**code) == error) else { return error.to_string() };
    let mut name = String::new();
    for character in format!("{known:?}").chars() {
        if character.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(character.to_ascii_uppercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_the_names_that_kafka_gives_them() {
        assert_eq!(name_of(ErrorCode::NotLeaderOrFollower.into()), "NOT_LEADER_OR_FOLLOWER");
        assert_eq!(name_of(ErrorCode::UnknownServerError.into()), "UNKNOWN_SERVER_ERROR");
        assert_eq!(name_of(9999), "9999");
    }

    #[test]
    fn errors_are_counted_by_api() {
        let errors = KafkaErrors::default();
        for (api, error) in [(Api::Fetch, 1), (Api::Fetch, -1), (Api::Produce, 1)] {
            errors.add(api, error);
        }
        assert_eq!([Api::Fetch, Api::Produce, Api::Metadata].map(|api| errors.of(api)), [2, 1, 0]);
    }
}
