//! Means, spreads and quantiles of measurements.

use super::history::MainFigures;
use hdrhistogram::Histogram;
use serde::Serialize;
use std::time::Duration;

/// Mean, minimum and maximum of the runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Spread {
    /// Mean.
    pub avg: f64,
    /// Minimum.
    pub min: f64,
    /// Maximum.
    pub max: f64,
}

impl Spread {
    /// `None` without values.
    pub fn of(values: impl Iterator<Item = f64>) -> Option<Spread> {
        let values: Vec<f64> = values.collect();
        let count = values.len();
        (count > 0).then(|| Spread {
            avg: values.iter().sum::<f64>() / count as f64,
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
    }

    /// Prints a line.
    pub fn print(&self, name: &str, digits: usize) {
        println!("  {name:<22} {:.digits$} / {:.digits$} / {:.digits$}", self.avg, self.min, self.max);
    }
}

/// Times of requests in microseconds.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Latency {
    /// Requests measured.
    pub count: u64,
    /// Mean.
    pub mean: f64,
    /// Median: 50 % of the requests took no longer.
    pub p50: f64,
    /// 90 %.
    pub p90: f64,
    /// 99 %.
    pub p99: f64,
    /// 99.9 %.
    pub p999: f64,
    /// Maximum.
    pub max: f64,
}

impl Latency {
    /// Reads a histogram made by [`new_histogram`].
    pub fn of(histogram: &Histogram<u64>) -> Latency {
        let at = |quantile: f64| histogram.value_at_quantile(quantile) as f64 / 1e3;
        Latency {
            count: histogram.len(),
            mean: histogram.mean() / 1e3,
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max: histogram.max() as f64 / 1e3,
        }
    }

    /// Adds it in milliseconds, as `p50_ms` and so on after the prefix.
    pub fn add_to(&self, figures: &mut MainFigures, prefix: &str) {
        let times = [("mean", self.mean), ("p50", self.p50), ("p90", self.p90), ("p99", self.p99), ("max", self.max)];
        for (name, us) in times {
            figures.add(&format!("{prefix}{name}_ms"), us / 1e3);
        }
        figures.add(&format!("{prefix}p999_ms"), self.p999 / 1e3);
    }

    /// Prints a line in milliseconds.
    pub fn print(&self, name: &str) {
        println!(
            "  {name:<22} p50 {:.3}  p90 {:.3}  p99 {:.3}  p99.9 {:.3}  max {:.3}  mean {:.3} ms",
            self.p50 / 1e3,
            self.p90 / 1e3,
            self.p99 / 1e3,
            self.p999 / 1e3,
            self.max / 1e3,
            self.mean / 1e3
        );
    }
}

/// A histogram of nanoseconds with 3 significant digits. It grows to hold any value.
#[allow(clippy::expect_used)] // The range is 0 to 5 digits, and this is a constant.
pub fn new_histogram() -> Histogram<u64> {
    Histogram::new(3).expect("3 digits are in range")
}

/// Records the time of one request.
pub fn record(histogram: &mut Histogram<u64>, time: Duration) {
    // It can't fail: the histogram grows to hold any value.
    let _ = histogram.record(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_mean_minimum_and_maximum() {
        assert_eq!(Spread::of([3.0, 1.0, 2.0].into_iter()), Some(Spread { avg: 2.0, min: 1.0, max: 3.0 }));
        assert_eq!(Spread::of(std::iter::empty()), None);
    }

    #[test]
    fn latency_is_in_microseconds() {
        let mut histogram = new_histogram();
        for ms in 1..=1000 {
            record(&mut histogram, Duration::from_millis(ms));
        }
        let latency = Latency::of(&histogram);
        let close = |a: f64, b: f64| (a / b - 1.0).abs() < 0.002;
        assert_eq!(latency.count, 1000);
        assert!(close(latency.p50, 500e3) && close(latency.p99, 990e3) && close(latency.max, 1e6), "{latency:?}");
    }
}
