//! A sketch of a distribution: quantiles with a relative error of 1 %, regardless of how many sketches are merged.
//!
//! This is a DDSketch (Masson, Rim, Lee, "DDSketch", 2019) with the bins of `sketches-ddsketch`. Only bins with values
//! are stored, because windows usually have few. Bins are never collapsed, so that the result doesn't depend on the
//! order of merges.
//!
//! ```text
//! version  1 byte, 1
//! bins     in the order of their values:
//!   bin    the first: zigzag varint of its number; the others: varint of (the difference to the previous, at least 1);
//!          each is doubled, plus one if the bin has more than one value
//!   count  only then: varint of its number of values, minus two
//! ```
//!
//! A bin's number is 0 for zero (and values below 2.3e-308), positive for positive values: key + 40,000, where the
//! library's key is floor(ln(value) / ln(1.01 / 0.99)); for infinity it is 80,000. Negative values have the negative of
//! these numbers. NaN is in no bin.

use sketches_ddsketch::Config;
use std::sync::LazyLock;

/// Maximum relative error of a quantile.
pub const RELATIVE_ERROR: f64 = 0.01;

const VERSION: u8 = 1;
/// Greater than the absolute value of any key: keys are between -35,415 and 35,487.
const KEY_OFFSET: i32 = 40_000;
const BIN_OF_INFINITY: i32 = 80_000;

/// Bins are never collapsed here, so their limit doesn't matter.
static MAPPING: LazyLock<Config> = LazyLock::new(|| Config::new(RELATIVE_ERROR, 2048, f64::MIN_POSITIVE));

/// The distribution of a window's values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sketch {
    /// Bins with their number of values, at least 1 each, in the order of the bins.
    bins: Vec<(i32, u64)>,
}

impl Sketch {
    /// An empty sketch.
    pub fn new() -> Sketch {
        Sketch::default()
    }

    /// Number of values in it.
    pub fn count(&self) -> u64 {
        self.bins.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// Adds a value `count` times. Ignores NaN.
    pub fn add(&mut self, value: f64, count: u64) {
        if count > 0
            && let Some(bin) = bin_of(value)
        {
            self.merge(&Sketch { bins: vec![(bin, count)] });
        }
    }

    /// Adds the values of another sketch.
    pub fn merge(&mut self, other: &Sketch) {
        let mut merged = Vec::with_capacity(self.bins.len() + other.bins.len());
        let (mut ours, mut theirs) = (self.bins.iter().copied().peekable(), other.bins.iter().copied().peekable());
        loop {
            let bin = match (ours.peek(), theirs.peek()) {
                (Some((our, _)), Some((their, _))) => *our.min(their),
                (Some((bin, _)), None) | (None, Some((bin, _))) => *bin,
                (None, None) => break,
            };
            let of_bin = |(other, count): (i32, u64)| if other == bin { count } else { 0 };
            let our_count = ours.next_if(|(other, _)| *other == bin).map_or(0, of_bin);
            let their_count = theirs.next_if(|(other, _)| *other == bin).map_or(0, of_bin);
            merged.push((bin, our_count.saturating_add(their_count)));
        }
        self.bins = merged;
    }

    /// The value below which a part `q` of the values lies, from 0 to 1: the value with the nearest rank, within
    /// [`RELATIVE_ERROR`]. `None` if there are no values.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let last = self.count().checked_sub(1)?;
        let rank = (q.clamp(0.0, 1.0) * last as f64).round() as u64;
        let mut before = 0_u64;
        for &(bin, count) in &self.bins {
            before = before.saturating_add(count);
            if before > rank {
                return Some(value_of(bin));
            }
        }
        self.bins.last().map(|&(bin, _)| value_of(bin))
    }

    /// Parses the bytes of a sketch. `None` if they are invalid.
    pub fn from_bytes(bytes: &[u8]) -> Option<Sketch> {
        let (&version, mut rest) = bytes.split_first()?;
        if version != VERSION {
            return None;
        }
        let mut bins: Vec<(i32, u64)> = Vec::with_capacity(rest.len() / 2);
        while !rest.is_empty() {
            let number = take_varint(&mut rest)?;
            let bin = match bins.last() {
                None => {
                    let zigzag = number >> 1;
                    i32::try_from((zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed()).ok()?
                }
                Some(&(before, _)) => {
                    let step = i32::try_from(number >> 1).ok().filter(|step| *step > 0)?;
                    before.checked_add(step)?
                }
            };
            if bin.abs() > BIN_OF_INFINITY {
                return None;
            }
            let count = if number & 1 == 1 { take_varint(&mut rest)?.checked_add(2)? } else { 1 };
            bins.push((bin, count));
        }
        Some(Sketch { bins })
    }

    /// Appends its bytes to `bytes`.
    pub fn to_bytes(&self, bytes: &mut Vec<u8>) {
        let mut writer = SketchWriter::new(bytes);
        self.bins.iter().for_each(|&(bin, count)| writer.bin(bin, count));
    }
}

/// The number of a value's bin; `None` for NaN.
#[inline]
pub(crate) fn bin_of(value: f64) -> Option<i32> {
    if value.is_nan() {
        return None;
    }
    let size = value.abs();
    let bin = if size < f64::MIN_POSITIVE {
        0
    } else if size.is_infinite() {
        BIN_OF_INFINITY
    } else {
        MAPPING.key(size) + KEY_OFFSET
    };
    Some(if value < 0.0 { -bin } else { bin })
}

fn value_of(bin: i32) -> f64 {
    let size = match bin.abs() {
        0 => 0.0,
        BIN_OF_INFINITY => f64::INFINITY,
        // The greatest bin extends beyond the greatest number.
        number => MAPPING.value(number - KEY_OFFSET).min(f64::MAX),
    };
    if bin < 0 { -size } else { size }
}

/// Appends a sketch's bytes, bin by bin.
pub(crate) struct SketchWriter<'a> {
    bytes: &'a mut Vec<u8>,
    before: Option<i32>,
}

impl SketchWriter<'_> {
    pub(crate) fn new(bytes: &mut Vec<u8>) -> SketchWriter<'_> {
        bytes.push(VERSION);
        SketchWriter { bytes, before: None }
    }

    /// Adds the next bin, which is greater than the previous one and has at least one value.
    #[inline]
    pub(crate) fn bin(&mut self, bin: i32, count: u64) {
        let number = match self.before {
            None => u64::from(((bin << 1) ^ (bin >> 31)).cast_unsigned()),
            Some(before) => u64::from(bin.wrapping_sub(before).cast_unsigned()),
        };
        self.before = Some(bin);
        put_varint(self.bytes, number << 1 | u64::from(count > 1));
        if count > 1 {
            put_varint(self.bytes, count - 2);
        }
    }
}

#[inline]
fn put_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for i in 0..10 {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        if i == 9 && byte > 1 {
            return None;
        }
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sketch(values: &[f64]) -> Sketch {
        let mut sketch = Sketch::new();
        values.iter().for_each(|&value| sketch.add(value, 1));
        sketch
    }

    #[test]
    fn quantiles_are_within_the_error() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..50 {
            let mut values: Vec<f64> = (0..random.usize(1..400))
                .map(|_| (random.f64() - 0.3) * 10f64.powi(random.i32(-12..12)))
                .chain([0.0])
                .collect();
            let sketch = sketch(&values);
            values.sort_by(f64::total_cmp);
            for q in [0.0, 0.1, 0.5, 0.9, 0.99, 1.0] {
                let want = values[(q * (values.len() - 1) as f64).round() as usize];
                let got = sketch.quantile(q).unwrap();
                assert!((got - want).abs() <= want.abs() * (RELATIVE_ERROR + 1e-9), "{q}: {got} for {want}");
            }
        }
    }

    #[test]
    fn sketches_merge_in_any_order_and_survive_their_bytes() {
        let mut random = fastrand::Rng::with_seed(2);
        for _ in 0..200 {
            let values: Vec<f64> = (0..random.usize(0..50)).map(|_| f64::from_bits(random.u64(..))).collect();
            let (left, right) = values.split_at(random.usize(0..=values.len()));
            let mut merged = sketch(right);
            merged.merge(&sketch(left));
            assert_eq!(merged, sketch(&values));
            let mut bytes = Vec::new();
            merged.to_bytes(&mut bytes);
            assert_eq!(Sketch::from_bytes(&bytes), Some(merged));
        }
    }

    #[test]
    fn every_number_has_a_bin_and_the_bin_its_number() {
        let sizes = [f64::MIN_POSITIVE, f64::MAX, 1.0, 0.999_999, 1e-300, 1e300, 5e-324, 0.0, f64::INFINITY];
        for size in sizes.into_iter().chain(sizes.map(|size| -size)) {
            let bin = bin_of(size).unwrap();
            let back = value_of(bin);
            assert!(bin.abs() <= BIN_OF_INFINITY);
            let near = (back - size).abs() <= size.abs() * (RELATIVE_ERROR + 1e-9);
            assert!(near || back == size || (back == 0.0 && size.abs() < f64::MIN_POSITIVE), "{size}: {back}");
        }
        assert_eq!(bin_of(f64::NAN), None);
        assert_eq!(Sketch::new().quantile(0.5), None);
    }

    #[test]
    fn foreign_bytes_are_refused() {
        let mut random = fastrand::Rng::with_seed(3);
        for _ in 0..2000 {
            let mut bytes: Vec<u8> = (0..random.usize(0..20)).map(|_| random.u8(..)).collect();
            if let Some(first) = bytes.first_mut() {
                *first = VERSION;
            }
            if let Some(sketch) = Sketch::from_bytes(&bytes) {
                let ordered = sketch.bins.windows(2).all(|pair| pair[0].0 < pair[1].0);
                assert!(ordered && sketch.bins.iter().all(|(_, count)| *count > 0));
            }
        }
        assert_eq!(Sketch::from_bytes(&[]), None);
        assert_eq!(Sketch::from_bytes(&[2]), None);
    }
}
