//! An exact sum of floating-point numbers, independent of their order.
//!
//! The exact sum is held as a few non-overlapping numbers (Shewchuk, "Adaptive Precision Floating-Point Arithmetic",
//! 1997); sums of ordinary measurements need one or two. It is stored as the sum rounded to an `f64`. If that is
//! inexact, the rounded rest follows, and so on: 8 bytes each, little-endian.

use smallvec::SmallVec;

/// Numbers from this size on are summed separately, so that 2^53 smaller ones can be added without overflow.
const LARGE: f64 = 9.979_201_547_673_6e291; // 2^970

/// Large numbers are multiplied by this, which is exact, so that 2^53 of them can be added without overflow.
const SCALE: f64 = 1.0 / UNSCALE;
const UNSCALE: f64 = (1_u128 << 127) as f64 * 2.0; // 2^128

/// Smaller numbers aren't scaled: they might lose digits. 2^-700: their last digit is below 2^-752.
const SCALED_MIN: f64 = 1.90109156629516e-211;

/// Represents the part below all scaled numbers, whose last digits are above 2^-881, when their sum is rounded.
const STICKY: f64 = f64::MIN_POSITIVE;

/// Numbers in increasing order of magnitude, non-overlapping, none of them zero.
type Parts = SmallVec<[f64; 2]>;

/// An exact sum of `f64`s. NaN and infinities follow IEEE 754; so does a sum that exceeds the largest number.
#[derive(Debug, Clone, Default)]
pub struct ExactSum {
    parts: Parts,
    /// The sum of the large numbers, multiplied by [`SCALE`].
    large: Option<Box<Parts>>,
    /// Sum of the values that are not finite; 0 if all are.
    special: f64,
}

impl ExactSum {
    /// Adds a number.
    #[inline]
    pub fn add(&mut self, value: f64) {
        if value.is_nan() || value.abs() >= LARGE {
            self.add_large(value);
        } else {
            grow(&mut self.parts, value);
        }
    }

    #[cold]
    fn add_large(&mut self, value: f64) {
        match value.is_finite() {
            true => grow(self.large.get_or_insert_default(), value * SCALE),
            false => self.special += value,
        }
    }

    /// Adds another sum.
    pub fn add_sum(&mut self, other: &ExactSum) {
        self.special += other.special;
        other.parts.iter().for_each(|&part| grow(&mut self.parts, part));
        if let Some(large) = &other.large {
            let parts = self.large.get_or_insert_default();
            large.iter().for_each(|&part| grow(parts, part));
        }
    }

    /// Adds a stored sum: `sum` and `sum_rest`.
    pub fn add_stored(&mut self, sum: f64, rest: Option<&[u8]>) {
        self.add(sum);
        for part in rest.unwrap_or_default().as_chunks().0 {
            self.add(f64::from_le_bytes(*part));
        }
    }

    /// The sum, rounded once to the nearest number.
    pub fn value(&self) -> f64 {
        if self.special != 0.0 {
            // Always the same NaN, since which NaN came first depends on the order.
            return if self.special.is_nan() { f64::NAN } else { self.special };
        }
        match &self.large {
            None => rounded(&self.parts),
            Some(large) => self.rounded_with(large),
        }
    }

    /// The sum of all parts, rounded once, where there are large ones.
    fn rounded_with(&self, large: &Parts) -> f64 {
        let (mut scaled, mut small) = (large.clone(), Parts::new());
        for &part in &self.parts {
            match part.abs() >= SCALED_MIN {
                true => grow(&mut scaled, part * SCALE),
                false => grow(&mut small, part),
            }
        }
        if scaled.last().is_none_or(|top| top.abs() < LARGE * SCALE) {
            // The large numbers have canceled each other: what is left can be unscaled without overflow.
            scaled.iter().for_each(|&part| grow(&mut small, part * UNSCALE));
            return rounded(&small);
        }
        // Of the small parts, which are below all others, only the sign can change the rounding.
        if let Some(top) = small.last() {
            scaled.insert(0, STICKY.copysign(*top));
        }
        rounded(&scaled) * UNSCALE
    }

    /// Appends the stored form of the rounding error of [`ExactSum::value`] to `rest`; nothing if the value is exact or
    /// infinite.
    pub fn rest_into(&self, rest: &mut Vec<u8>) {
        if !self.value().is_finite() {
            return;
        }
        let mut left = self.clone();
        loop {
            left.add(-left.value());
            if left.value() == 0.0 {
                return;
            }
            rest.extend_from_slice(&left.value().to_le_bytes());
        }
    }
}

/// Adds a number to parts, exactly.
#[inline]
fn grow(parts: &mut Parts, value: f64) {
    let mut carried = value;
    let mut kept = 0;
    for i in 0..parts.len() {
        let Some(&part) = parts.get(i) else { break };
        let (sum, error) = two_sum(carried, part);
        if error != 0.0 {
            if let Some(place) = parts.get_mut(kept) {
                *place = error;
            }
            kept += 1;
        }
        carried = sum;
    }
    parts.truncate(kept);
    if carried != 0.0 {
        parts.push(carried);
    }
}

/// The sum of parts, rounded once to the nearest number.
fn rounded(parts: &[f64]) -> f64 {
    let mut parts = parts.iter().rev().copied();
    let mut high = parts.next().unwrap_or(0.0);
    while let Some(part) = parts.next() {
        let (sum, error) = two_sum(high, part);
        high = sum;
        if error != 0.0 {
            // Halfway between two numbers, the rest decides.
            if let Some(next) = parts.next()
                && (error < 0.0) == (next < 0.0)
            {
                let doubled = error * 2.0;
                let up = high + doubled;
                if doubled == up - high {
                    high = up;
                }
            }
            break;
        }
    }
    high
}

/// The rounded sum and the rounding error.
#[inline]
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_rounded = sum - a;
    let a_rounded = sum - b_rounded;
    (sum, (a - a_rounded) + (b - b_rounded))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(values: &[f64]) -> ExactSum {
        let mut sum = ExactSum::default();
        values.iter().for_each(|&value| sum.add(value));
        sum
    }

    fn stored(sum: &ExactSum) -> (u64, Vec<u8>) {
        let mut rest = Vec::new();
        sum.rest_into(&mut rest);
        (sum.value().to_bits(), rest)
    }

    #[test]
    fn nothing_is_lost_to_rounding() {
        assert_eq!(sum(&[1e16, 1.0, -1e16]).value(), 1.0);
        assert_eq!(sum(&[1e100, 1.0, -1e100, 1e-100]).value(), 1.0);
        assert_eq!(sum(&[0.1; 10]).value(), 1.0);
        // Halfway, where the last part decides: 2^53 + 1 + 2^-60.
        assert_eq!(sum(&[9_007_199_254_740_992.0, 1.0, 2f64.powi(-60)]).value(), 9_007_199_254_740_994.0);
        assert_eq!(sum(&[9_007_199_254_740_992.0, 1.0, -(2f64.powi(-60))]).value(), 9_007_199_254_740_992.0);
        assert_eq!(sum(&[]).value().to_bits(), 0);
        assert_eq!(sum(&[-0.0]).value().to_bits(), 0);
    }

    #[test]
    fn order_and_borders_do_not_show() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..300 {
            let scale = random.i32(0..300);
            let mut values: Vec<f64> = (0..random.usize(1..60))
                .map(|_| (random.f64() - 0.5) * 10f64.powi(random.i32(-scale / 2..=scale / 2)))
                .collect();
            let whole = stored(&sum(&values));
            random.shuffle(&mut values);
            assert_eq!(stored(&sum(&values)), whole);
            let (left, right) = values.split_at(random.usize(0..=values.len()));
            let mut joined = sum(right);
            let (sum_left, rest_left) = stored(&sum(left));
            joined.add_stored(f64::from_bits(sum_left), Some(&rest_left));
            assert_eq!(stored(&joined), whole);
            let mut added = sum(left);
            added.add_sum(&sum(right));
            assert_eq!(stored(&added), whole);
        }
    }

    #[test]
    fn what_is_not_finite_stays_so() {
        assert!(sum(&[1.0, f64::NAN, f64::INFINITY]).value().is_nan());
        assert!(sum(&[f64::NEG_INFINITY, 1.0, f64::INFINITY]).value().is_nan());
        assert_eq!(sum(&[f64::INFINITY, -1.0]).value(), f64::INFINITY);
        // Depending on the order, an intermediate sum of these would overflow or not.
        assert_eq!(sum(&[f64::MAX, f64::MAX, -1.0]).value(), f64::INFINITY);
        assert_eq!(sum(&[f64::MAX, -f64::MAX, 1.0]).value(), 1.0);
        let (value, rest) = stored(&sum(&[f64::INFINITY, 0.1, 0.7]));
        assert_eq!((f64::from_bits(value), rest), (f64::INFINITY, vec![]));
        assert_eq!((LARGE, UNSCALE, SCALE), (2f64.powi(970), 2f64.powi(128), 2f64.powi(-128)));
        assert_eq!(SCALED_MIN, 2f64.powi(-700));
    }

    #[test]
    fn large_numbers_are_summed_like_others() {
        assert_eq!(sum(&[1e300; 3]).value(), 3e300);
        assert_eq!(sum(&[1e308, 1e308, -1.5e308]).value(), 5e307);
        assert_eq!(sum(&[f64::MAX, 1.0]).value(), f64::MAX);
        // Half of the last digit more would be rounded up, to infinity.
        let half = 2f64.powi(970);
        assert_eq!(sum(&[f64::MAX, half]).value(), f64::INFINITY);
        assert_eq!(sum(&[f64::MAX, half, -f64::MIN_POSITIVE]).value(), f64::MAX);
        assert_eq!(sum(&[1e300, 1e-320, -1e300]).value(), 1e-320);
        let mut random = fastrand::Rng::with_seed(19);
        for _ in 0..2_000 {
            // Far below the large numbers, the sums are the same but for their exponent.
            let values: Vec<f64> =
                (0..random.usize(1..30)).map(|_| (random.f64() - 0.5) * 2f64.powi(random.i32(850..1015))).collect();
            let down = |values: &[f64]| values.iter().map(|value| value * 2f64.powi(-500)).collect::<Vec<_>>();
            let want = sum(&down(&values)).value() * 2f64.powi(500);
            let whole = sum(&values);
            assert_eq!(whole.value(), want, "{values:?}");
            let (left, right) = values.split_at(values.len() / 2);
            let mut added = sum(left);
            added.add_sum(&sum(right));
            assert_eq!(added.value(), want);
            let mut read = ExactSum::default();
            let (value, rest) = stored(&whole);
            read.add_stored(f64::from_bits(value), Some(&rest));
            read.add(-want);
            let mut exact = whole.clone();
            exact.add(-want);
            assert_eq!(read.value(), exact.value(), "{values:?}");
        }
    }
}
