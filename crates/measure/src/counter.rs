//! The growth of a counter that may restart at zero.
//!
//! From `before` to `last`, a counter grows by `last - before` plus, for each time that it falls, the value before the
//! fall. A [`Stretch`] keeps the sum of those values, so that stretches can be joined without their measurements.

/// A summary of a counter's values from one time to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stretch {
    /// The value with the earliest time; if several have that time, the one with the smallest offset.
    pub first: f64,
    /// Its time, milliseconds since the Unix epoch.
    pub first_time: i64,
    /// The value with the latest time; if several have that time, the one with the greatest offset.
    pub last: f64,
    /// Its time.
    pub last_time: i64,
    /// Sum of the values before each fall.
    pub reset_sum: f64,
}

/// The value before a fall, if the counter restarted between two values; otherwise 0.
pub(crate) fn lost(before: f64, after: f64) -> f64 {
    if after < before { before } else { 0.0 }
}

impl Stretch {
    /// One value.
    pub fn of(value: f64, time_ms: i64) -> Stretch {
        Stretch { first: value, first_time: time_ms, last: value, last_time: time_ms, reset_sum: 0.0 }
    }

    /// Adds a stretch whose values have greater offsets, at any times.
    ///
    /// If the two overlap in time, only the restarts of the stretch with more of them count: the result may be less
    /// than the true growth, but is never greater.
    pub fn join(&mut self, other: &Stretch) {
        // NaN is not a counter's value.
        let joined = if other.last.is_nan() {
            return;
        } else if self.last.is_nan() {
            *other
        } else if other.first_time >= self.last_time {
            self.then(other)
        } else if other.last_time < self.first_time {
            other.then(self)
        } else {
            let (first, first_time) = match other.first_time < self.first_time {
                true => (other.first, other.first_time),
                false => (self.first, self.first_time),
            };
            let (last, last_time) = match other.last_time >= self.last_time {
                true => (other.last, other.last_time),
                false => (self.last, self.last_time),
            };
            let through = |part: &Stretch| lost(first, part.first) + part.reset_sum + lost(part.last, last);
            Stretch { first, first_time, last, last_time, reset_sum: through(self).max(through(other)) }
        };
        *self = joined;
    }

    fn then(&self, later: &Stretch) -> Stretch {
        assert!(later.first_time >= self.last_time, "{later:?} begins before {self:?} ends");
        Stretch {
            first: self.first,
            first_time: self.first_time,
            last: later.last,
            last_time: later.last_time,
            reset_sum: self.reset_sum + lost(self.last, later.first) + later.reset_sum,
        }
    }

    /// Growth per second from the last value of an earlier stretch to the last value of this one. `None` if no time
    /// passed.
    pub fn rate_since(&self, before: &Stretch) -> Option<f64> {
        let seconds = self.last_time.saturating_sub(before.last_time) as f64 / 1000.0;
        let grown = (self.last - before.last) + (lost(before.last, self.first) + self.reset_sum);
        (seconds > 0.0).then_some(grown / seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stretch(values: &[(i64, f64)]) -> Stretch {
        let mut parts = values.iter().map(|&(time_ms, value)| Stretch::of(value, time_ms));
        let mut all = parts.next().unwrap();
        parts.for_each(|part| all.join(&part));
        all
    }

    #[test]
    fn a_counter_that_fell_began_again() {
        let rate = |before: (i64, f64), now: &[(i64, f64)]| stretch(now).rate_since(&Stretch::of(before.1, before.0));
        assert_eq!(rate((0, 10.0), &[(2000, 30.0)]), Some(10.0));
        assert_eq!(rate((0, 10.0), &[(2000, 4.0)]), Some(2.0));
        assert_eq!(rate((0, 10.0), &[(0, 30.0)]), None);
        // 10 to 50, again to 20, again to 30: 40 + 20 + 30.
        assert_eq!(rate((0, 10.0), &[(1000, 50.0), (2000, 20.0), (3000, 0.0), (9000, 30.0)]), Some(10.0));
    }

    #[test]
    fn parts_in_order_come_to_the_whole() {
        let mut random = fastrand::Rng::with_seed(17);
        for _ in 0..500 {
            let values: Vec<(i64, f64)> = (0..random.i64(2..40)).map(|i| (i / 2, random.u8(..) as f64)).collect();
            let whole = stretch(&values);
            let cut = random.usize(1..values.len());
            let mut joined = stretch(&values[..cut]);
            joined.join(&stretch(&values[cut..]));
            assert_eq!(joined, whole);
        }
    }

    #[test]
    fn growth_is_never_too_great_where_parts_overlap() {
        let mut random = fastrand::Rng::with_seed(18);
        for _ in 0..2_000 {
            let mut value = 0.0;
            let values: Vec<(i64, f64)> = (0..random.i64(2..30))
                .map(|i| {
                    value = if random.u8(0..6) == 0 { 0.0 } else { value + random.u8(..) as f64 };
                    (i, value)
                })
                .collect();
            let whole = stretch(&values);
            let (early, late): (Vec<_>, Vec<_>) = values.iter().partition(|_| random.bool());
            if early.is_empty() || late.is_empty() {
                continue;
            }
            let mut joined = stretch(&early);
            joined.join(&stretch(&late));
            assert_eq!((joined.first, joined.last), (whole.first, whole.last));
            assert!(joined.reset_sum <= whole.reset_sum, "{joined:?} of {values:?}");
        }
    }

    #[test]
    fn what_is_not_a_number_hides_no_fall() {
        let counter =
            stretch(&[(0, f64::NAN), (1, 90.0), (2, 100.0), (3, f64::NAN), (4, 0.0), (5, 50.0), (6, f64::NAN)]);
        assert_eq!(counter, Stretch { first: 90.0, first_time: 1, last: 50.0, last_time: 5, reset_sum: 100.0 });
    }

    #[test]
    fn a_fall_that_only_late_values_show_counts() {
        let mut counter = stretch(&[(0, 10.0), (10, 100.0)]);
        counter.join(&stretch(&[(3, 50.0), (4, 0.0)]));
        assert_eq!(counter, Stretch { first: 10.0, first_time: 0, last: 100.0, last_time: 10, reset_sum: 50.0 });
    }
}
