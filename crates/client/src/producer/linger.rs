//! How long an incomplete batch waits for more records while nothing is in flight to its partition.

use super::config::ProducerConfig;
use super::open::Collecting;
use crate::limits::LINGER_MAX;
use std::time::Duration;

/// The wait from the batch's first record on.
///
/// Without a setting, a batch waits as long as the time that it needs to be filled, at the rate of its records so far,
/// is at most [`LINGER_MAX`]. So the records of a caller that waits for each of them, or sends a few, are sent at once;
/// those of a caller that sends as fast as it can fill batches. Records that arrive while a request is in flight wait
/// for the end of that request anyway: the slower the broker, the larger the batches.
pub(super) fn wait(config: &ProducerConfig, batch: &Collecting) -> Duration {
    let records = batch.open.records();
    match config.linger {
        Some(linger) => linger,
        // One record has no rate.
        None if records <= 1 => Duration::ZERO,
        None => {
            let bytes = batch.open.data_bytes() as f64 / config.batch_bytes as f64;
            let records = f64::from(records) / f64::from(config.batch_records_max);
            LINGER_MAX.mul_f64(bytes.max(records).min(1.0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::producer::open::Open;
    use crate::producer::outgoing::{BatchKind, Outgoing};
    use rawline_batch::{Codec, Limits};

    fn waits(linger: Option<Duration>, records: usize, record_bytes: usize) -> Duration {
        let config = ProducerConfig { linger, batch_bytes: 1000, batch_records_max: 100, ..ProducerConfig::default() };
        let mut batch = Collecting::new(Open::new(BatchKind::Rawline, Codec::None, Limits::default()));
        for _ in 0..records {
            batch.open.push(Outgoing::Plain(&vec![0; record_bytes])).unwrap();
        }
        wait(&config, &batch)
    }

    #[test]
    fn the_fuller_a_batch_the_longer_it_waits() {
        assert_eq!(waits(None, 1, 900), Duration::ZERO);
        assert_eq!(waits(None, 2, 100), LINGER_MAX.mul_f64(0.2));
        assert_eq!(waits(None, 9, 100), LINGER_MAX.mul_f64(0.9));
        // By the number of records, if that fills it first.
        assert_eq!(waits(None, 50, 1), LINGER_MAX.mul_f64(0.5));
    }

    #[test]
    fn a_given_time_is_kept() {
        for linger in [Duration::ZERO, Duration::MAX] {
            assert_eq!((waits(Some(linger), 1, 10), waits(Some(linger), 9, 100)), (linger, linger));
        }
    }
}
