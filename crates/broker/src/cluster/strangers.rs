//! How often this broker looks into the storage for the card of a broker that it doesn't know: any program that
//! connects can be the reason. No clock.

use crate::limits::{STRANGERS_AT_ONCE, STRANGERS_EVERY};
use std::time::Duration;

/// The looks so far.
#[derive(Debug, Default)]
pub(super) struct Strangers {
    /// Until when the looks that were admitted use up the rate.
    used_until: Duration,
}

impl Strangers {
    /// Whether a look is admitted now.
    pub fn admit(&mut self, now: Duration) -> bool {
        let is_admitted = self.used_until < now + STRANGERS_AT_ONCE * STRANGERS_EVERY;
        if is_admitted {
            self.used_until = self.used_until.max(now) + STRANGERS_EVERY;
        }
        is_admitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_for_strangers_are_few_whatever_connects() {
        let mut strangers = Strangers::default();
        let start = Duration::from_secs(100);
        let admitted = |strangers: &mut Strangers, now| (0..10_000).filter(|_| strangers.admit(now)).count();
        assert_eq!(admitted(&mut strangers, start), STRANGERS_AT_ONCE as usize);
        assert_eq!(admitted(&mut strangers, start + STRANGERS_EVERY), 1);
        assert_eq!(admitted(&mut strangers, start + 3 * STRANGERS_EVERY), 2);
        assert_eq!(admitted(&mut strangers, start + Duration::from_secs(3600)), STRANGERS_AT_ONCE as usize);
    }
}
