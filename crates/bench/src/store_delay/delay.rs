//! How long a bucket takes for a request: always the same time, or a distribution given by quantiles.

use crate::time::parse_time;
use serde::{Serialize, Serializer};
use std::fmt;
use std::time::Duration;

/// A burst of refusals begins with one of this many requests: at ten requests a second, one or two a minute.
const REQUESTS_PER_BURST: u32 = 500;
/// Minimum and maximum number of requests in a burst. Half of them are refused.
const BURST_REQUESTS: (u32, u32) = (20, 60);

/// A distribution with a name.
struct Preset {
    name: &'static str,
    /// Quantiles, and their times in milliseconds.
    quantiles: &'static [(f64, f64)],
    refuses: bool,
}

/// Times until the first byte of a response. The quantile 0 is the fastest one.
const PRESETS: [Preset; 3] = [
    Preset {
        name: "s3",
        quantiles: &[(0.0, 12.0), (0.5, 25.0), (0.95, 60.0), (0.99, 120.0), (0.999, 400.0), (0.99999, 10_000.0)],
        refuses: false,
    },
    Preset {
        name: "stormy",
        // One in 643 takes over 10 s.
        quantiles: &[(0.0, 30.0), (0.5, 80.0), (0.95, 880.0), (1.0 - 1.0 / 643.0, 10_000.0), (0.9999, 15_000.0)],
        refuses: true,
    },
    Preset { name: "express", quantiles: &[(0.0, 3.0), (0.5, 5.0), (0.99, 15.0), (0.9999, 60.0)], refuses: false },
];

/// How long requests take.
#[derive(Debug, Clone, PartialEq)]
pub struct Delay {
    /// As it was given, and what a file has.
    text: String,
    quantiles: Quantiles,
    /// Whether some requests are refused with 503, in bursts.
    refuses: bool,
}

impl Delay {
    /// Parses the flag: a time, the name of a distribution, or a file of quantiles.
    pub fn parse(text: &str) -> Result<Delay, String> {
        if let Ok(time) = parse_time(text) {
            let quantiles = Quantiles(vec![(0.0, time.as_secs_f64())]);
            return Ok(Delay { text: format!("{time:?}"), quantiles, refuses: false });
        }
        if let Some(Preset { quantiles, refuses, .. }) = PRESETS.iter().find(|preset| preset.name == text) {
            let quantiles = quantiles.iter().map(|(quantile, ms)| (*quantile, ms / 1e3));
            return Ok(Delay { text: text.to_owned(), quantiles: Quantiles(quantiles.collect()), refuses: *refuses });
        }
        let content = std::fs::read_to_string(text).map_err(|error| {
            format!(
                "{text:?} is not a time greater than 0, such as 50ms, not one of s3, stormy and express, and not a \
                 file of quantiles: {error}"
            )
        })?;
        let quantiles = Quantiles::parse(&content).map_err(|error| format!("{text}: {error}"))?;
        Ok(Delay { text: format!("{text} ({quantiles})"), quantiles, refuses: false })
    }
}

impl fmt::Display for Delay {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl Serialize for Delay {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Quantiles from 0 to below 1, ascending, and their times in seconds.
#[derive(Debug, Clone, PartialEq)]
struct Quantiles(Vec<(f64, f64)>);

impl Quantiles {
    /// Parses lines of a quantile and its milliseconds. Empty lines and those that begin with `#` are skipped.
    fn parse(content: &str) -> Result<Quantiles, String> {
        let mut quantiles: Vec<(f64, f64)> = Vec::new();
        for (number, line) in (1..).zip(content.lines().map(str::trim)) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let error = |reason: &str| format!("line {number}, {line:?}, {reason}");
            let mut words = line.split_whitespace().map(str::parse::<f64>);
            let (Some(Ok(quantile)), Some(Ok(ms)), None) = (words.next(), words.next(), words.next()) else {
                return Err(error("is not a quantile and milliseconds, such as 0.99 120"));
            };
            if !(0.0..1.0).contains(&quantile) {
                return Err(error("has a quantile that is not from 0 to below 1"));
            }
            // A day is more than any request takes.
            if !(ms > 0.0 && ms <= 86_400_000.0) {
                return Err(error("has a time that is not above 0 and at most 86400000 milliseconds"));
            }
            if quantiles.last().is_some_and(|(before, shorter)| *before >= quantile || *shorter > ms / 1e3) {
                return Err(error("doesn't ascend: give the quantiles in order, with times that don't get shorter"));
            }
            quantiles.push((quantile, ms / 1e3));
        }
        if quantiles.is_empty() {
            return Err("no line has a quantile and its milliseconds, such as 0.99 120".to_owned());
        }
        Ok(Quantiles(quantiles))
    }

    /// The time that this share of requests, above 0 and at most 1, exceeds. Between two quantiles, the logarithm of
    /// the time is linear in the logarithm of this share, as in the tails that real buckets have. Before the first
    /// quantile and after the last one, the time is theirs.
    fn exceeded_by(&self, share: f64) -> f64 {
        let after = self.0.partition_point(|(quantile, _)| 1.0 - quantile >= share);
        let at = |index: usize| self.0.get(index).copied();
        match (after.checked_sub(1).and_then(at), at(after)) {
            (Some((low, shorter)), Some((high, longer))) => {
                let position = ((1.0 - low) / share).ln() / ((1.0 - low) / (1.0 - high)).ln();
                shorter * (longer / shorter).powf(position)
            }
            (Some((_, time)), None) | (None, Some((_, time))) => time,
            (None, None) => unreachable!("no quantiles"),
        }
    }
}

impl fmt::Display for Quantiles {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (quantile, seconds)) in self.0.iter().enumerate() {
            let comma = if number > 0 { ", " } else { "" };
            write!(formatter, "{comma}{quantile} {}", (seconds * 1e6).round() / 1e3)?;
        }
        Ok(())
    }
}

/// Draws of one delay, the same for the same seed.
pub struct Draws {
    delay: Delay,
    random: fastrand::Rng,
    /// Number of requests left in this burst.
    burst: u32,
}

/// What happens to a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drawn {
    /// Time until the first byte of the response.
    pub delay: Duration,
    /// Whether the response is 503.
    pub is_refused: bool,
}

impl Draws {
    pub fn new(delay: Delay, seed: u64) -> Draws {
        Draws { delay, random: fastrand::Rng::with_seed(seed), burst: 0 }
    }

    /// Those of a bucket that is always in a burst.
    #[cfg(test)]
    pub fn refusing(delay: Delay) -> Draws {
        Draws { burst: u32::MAX, ..Draws::new(Delay { refuses: true, ..delay }, 1) }
    }

    /// The next request's.
    pub fn next(&mut self) -> Drawn {
        // Above 0: `f64` is below 1.
        let share = 1.0 - self.random.f64();
        let delay = Duration::from_secs_f64(self.delay.quantiles.exceeded_by(share));
        Drawn { delay, is_refused: self.delay.refuses && self.is_refused() }
    }

    fn is_refused(&mut self) -> bool {
        if self.burst == 0 && self.random.u32(0..REQUESTS_PER_BURST) == 0 {
            self.burst = self.random.u32(BURST_REQUESTS.0..=BURST_REQUESTS.1);
        }
        if self.burst == 0 {
            return false;
        }
        self.burst -= 1;
        self.random.bool()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: usize = 400_000;

    fn draw(name: &str, seed: u64) -> Vec<Drawn> {
        let mut draws = Draws::new(Delay::parse(name).unwrap(), seed);
        (0..DRAWS).map(|_| draws.next()).collect()
    }

    /// Milliseconds of these quantiles of the draws.
    fn quantiles(drawn: &[Drawn]) -> impl Fn(f64) -> f64 {
        let mut times: Vec<f64> = drawn.iter().map(|drawn| drawn.delay.as_secs_f64() * 1e3).collect();
        times.sort_unstable_by(f64::total_cmp);
        move |quantile| times[(quantile * (DRAWS - 1) as f64) as usize]
    }

    #[test]
    fn draws_have_the_quantiles_of_their_distribution() {
        for preset in &PRESETS {
            let drawn = draw(preset.name, 7);
            let found = quantiles(&drawn);
            // The quantiles above 0.9999 are a few draws.
            for &(quantile, ms) in preset.quantiles.iter().filter(|(quantile, _)| *quantile < 0.9999) {
                let found = found(quantile);
                assert!((found / ms - 1.0).abs() < 0.1, "{}: {quantile} is {found} ms, not {ms}", preset.name);
            }
        }
        let slow = draw("s3", 7).iter().filter(|drawn| drawn.delay >= Duration::from_secs(10)).count();
        assert!((1..12).contains(&slow), "{slow} of {DRAWS} requests take 10 s, not about 4");
        let over = draw("stormy", 7).iter().filter(|drawn| drawn.delay > Duration::from_secs(10)).count();
        assert!((530..720).contains(&over), "{over} of {DRAWS} requests take over 10 s, not one in 643");
    }

    #[test]
    fn times_between_two_quantiles_are_log_linear() {
        let quantiles = Quantiles::parse("0.9 10\n0.999 1000\n").unwrap();
        for (share, ms) in [(1.0, 10.0), (0.1, 10.0), (0.01, 100.0), (0.001, 1000.0), (1e-9, 1000.0)] {
            let found = quantiles.exceeded_by(share) * 1e3;
            assert!((found / ms - 1.0).abs() < 1e-9, "{share}: {found}");
        }
    }

    #[test]
    fn only_stormy_refuses_requests_and_does_so_in_bursts() {
        assert!(draw("s3", 1).iter().chain(&draw("express", 1)).all(|drawn| !drawn.is_refused));
        let refused: Vec<usize> =
            draw("stormy", 1).iter().enumerate().filter(|(_, drawn)| drawn.is_refused).map(|(at, _)| at).collect();
        let bursts = 1 + refused.windows(2).filter(|pair| pair[1] - pair[0] > BURST_REQUESTS.1 as usize).count();
        let each = refused.len() as f64 / bursts as f64;
        assert!((15.0..30.0).contains(&each), "{} refusals in {bursts} bursts", refused.len());
    }

    #[test]
    fn the_same_seed_draws_the_same() {
        assert_eq!(draw("stormy", 3), draw("stormy", 3));
        assert_ne!(draw("stormy", 3), draw("stormy", 4));
        let constant = Delay::parse("40ms").unwrap();
        assert_eq!(constant.to_string(), "40ms");
        let drawn = Drawn { delay: Duration::from_millis(40), is_refused: false };
        assert_eq!(Draws::new(constant, 1).next(), drawn);
    }

    #[test]
    fn a_file_has_quantiles_and_what_it_lacks_is_reported() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let parse = |content: &str| {
            std::fs::write(file.path(), content).unwrap();
            Delay::parse(file.path().to_str().unwrap())
        };
        let found = parse("# measured\n0 4.5\n\n  0.5\t9\n0.99 100\n").unwrap();
        assert_eq!(found.quantiles, Quantiles(vec![(0.0, 0.0045), (0.5, 0.009), (0.99, 0.1)]));
        assert!(found.to_string().ends_with(" (0 4.5, 0.5 9, 0.99 100)"), "{found}");
        for (content, words) in [
            ("", "no line has a quantile"),
            ("0.5", "line 1, \"0.5\", is not a quantile"),
            ("0.5 1 2", "such as 0.99 120"),
            ("0.5 1\n\nhalf 2", "line 3"),
            ("1 5", "0 to below 1"),
            ("-0.1 5", "0 to below 1"),
            ("NaN 5", "0 to below 1"),
            ("0.5 0", "above 0"),
            ("0.5 NaN", "above 0"),
            ("0.5 inf", "above 0"),
            ("0.5 5\n0.5 6", "doesn't ascend"),
            ("0.5 5\n0.6 4", "times that don't get shorter"),
        ] {
            let error = parse(content).unwrap_err();
            assert!(error.contains(words), "{content:?}: {error}");
        }
        let error = Delay::parse("/no/such/file").unwrap_err();
        assert!(error.contains("s3, stormy and express") && error.contains("50ms"), "{error}");
    }
}
