//! A scale from amounts to pixels: from zero if that shows the differences, otherwise logarithmic.

/// From amounts to a share of the axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    low: f64,
    high: f64,
    logarithmic: bool,
}

/// Beyond this ratio of largest to smallest, the smallest bars of a scale from zero look equal.
const RATIO_MAX: f64 = 12.0;

impl Scale {
    /// For bars: from zero if the largest is at most 12 times the smallest, otherwise logarithmic, and then the lowest
    /// amount is away from the axis' start, so that its bar is visible.
    pub fn fit(amounts: impl Iterator<Item = f64> + Clone) -> Scale {
        let (low, high) = ends(amounts.clone());
        if high <= low * RATIO_MAX {
            return Scale { low: 0.0, high: high * 1.02, logarithmic: false };
        }
        let mut scale = Scale::logarithmic(amounts).unwrap_or(Scale { low: 0.0, high: 1.0, logarithmic: false });
        if scale.logarithmic {
            scale.low /= 1.5;
        }
        scale
    }

    /// Logarithmic; None without an amount above zero.
    pub fn logarithmic(amounts: impl Iterator<Item = f64> + Clone) -> Option<Scale> {
        let (low, high) = ends(amounts);
        (low.is_finite() && low > 0.0).then(|| Scale { low: low / 1.15, high: high * 1.15, logarithmic: true })
    }

    /// Whether equal steps are equal factors.
    pub fn is_logarithmic(&self) -> bool {
        self.logarithmic
    }

    /// The amount's position: 0 at the axis' start, 1 at its end.
    pub fn share(&self, amount: f64) -> f64 {
        let share = if self.logarithmic {
            (amount / self.low).ln() / (self.high / self.low).ln()
        } else {
            (amount - self.low) / (self.high - self.low)
        };
        if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Round amounts within it, about `count_max` of them.
    pub fn ticks(&self, count_max: usize) -> Vec<f64> {
        let within = |tick: &f64| *tick >= self.low && *tick <= self.high;
        if !self.logarithmic {
            let magnitude = 10f64.powf((self.high / count_max as f64).log10().floor());
            let step = [1.0, 2.0, 5.0, 10.0]
                .map(|factor| factor * magnitude)
                .into_iter()
                .find(|step| self.high / step <= count_max as f64)
                .unwrap_or(10.0 * magnitude);
            return (0..=count_max).map(|i| i as f64 * step).filter(within).collect();
        }
        let decades = |factors: &[f64], every: i32| -> Vec<f64> {
            (-3..15)
                .filter(|power| power % every == 0)
                .flat_map(|power| factors.iter().map(move |factor| factor * 10f64.powi(power)))
                .filter(within)
                .collect()
        };
        let candidates =
            [decades(&[1.0, 2.0, 5.0], 1), decades(&[1.0, 3.0], 1), decades(&[1.0], 1), decades(&[1.0], 2)];
        let ticks = candidates.into_iter().find(|ticks| ticks.len() <= count_max).unwrap_or_default();
        // Amounts that are close need closer ticks.
        if ticks.len() < 2 { decades(&[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0], 1) } else { ticks }
    }
}

/// The least amount above zero, since a logarithmic scale has no place for others; and the greatest.
fn ends(amounts: impl Iterator<Item = f64>) -> (f64, f64) {
    amounts
        .filter(|amount| *amount > 0.0)
        .fold((f64::INFINITY, 0.0), |(low, high), amount| (low.min(amount), high.max(amount)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_amounts_are_shown_from_zero() {
        let scale = Scale::fit([10.0, 100.0].into_iter());
        assert!(!scale.is_logarithmic());
        assert_eq!(scale.share(0.0), 0.0);
        assert_eq!(scale.ticks(5), [0.0, 50.0, 100.0]);
    }

    #[test]
    fn distant_amounts_are_shown_by_factors() {
        let scale = Scale::fit([10.0, 40_000.0].into_iter());
        assert!(scale.is_logarithmic());
        let (ten, hundred, thousand) = (scale.share(10.0), scale.share(100.0), scale.share(1000.0));
        assert!(ten > 0.0);
        assert!(((hundred - ten) - (thousand - hundred)).abs() < 1e-9);
        assert_eq!(scale.ticks(5), [10.0, 100.0, 1000.0, 10_000.0]);
    }

    #[test]
    fn close_amounts_on_a_logarithmic_scale_have_ticks_too() {
        let scale = Scale::logarithmic([278.0, 399.0].into_iter()).unwrap_or(Scale::fit(std::iter::empty()));
        assert_eq!(scale.ticks(6), [300.0, 400.0]);
    }

    #[test]
    fn no_amount_gives_a_scale_all_the_same() {
        assert_eq!(Scale::fit(std::iter::empty()).share(5.0), 0.0);
    }
}
