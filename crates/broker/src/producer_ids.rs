//! Draws the ids of named producers at random, so that a client can't guess another's.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rawline_journal::NAMED_IDS;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// A source of ids. Clones draw from the same one.
#[derive(Clone)]
pub struct ProducerIds(Arc<Mutex<StdRng>>);

impl ProducerIds {
    /// Ids that follow from a number, for simulations.
    pub fn of_seed(seed: u64) -> ProducerIds {
        ProducerIds(Arc::new(Mutex::new(StdRng::seed_from_u64(seed))))
    }

    /// Ids that follow from a secret of a secure random source.
    pub fn of_secret(secret: [u8; 32]) -> ProducerIds {
        ProducerIds(Arc::new(Mutex::new(StdRng::from_seed(secret))))
    }

    pub(crate) fn draw(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).random_range(NAMED_IDS)
    }
}

impl fmt::Debug for ProducerIds {
    /// Without the state of the next ids.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ProducerIds")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn ids_are_those_of_names_and_say_nothing_of_each_other() {
        let draw = |ids: ProducerIds| (0..1_000).map(|_| ids.draw()).collect::<Vec<_>>();
        let (one, again) = (draw(ProducerIds::of_seed(1)), draw(ProducerIds::of_seed(1)));
        let (other, secret) = (draw(ProducerIds::of_seed(2)), draw(ProducerIds::of_secret([7; 32])));
        assert_eq!(one, again, "a simulation's");
        let all: BTreeSet<u64> = one.iter().chain(&other).chain(&secret).copied().collect();
        assert_eq!(all.len(), 3_000);
        assert!(all.iter().all(|id| NAMED_IDS.contains(id)));
        let is_near = |pair: &[u64]| pair[1].abs_diff(pair[0]) < 1 << 32;
        assert!(!one.windows(2).any(is_near) && one.iter().any(|id| id % 2 == 1) && one.iter().any(|id| id % 2 == 0));
    }
}
