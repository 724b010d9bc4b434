//! The ticks of a plot's axes.

use crate::time::format_time_as;
use jiff::Timestamp;
use jiff::civil::{Date, Time};
use jiff::tz::Offset;

const SECOND_MS: i64 = 1_000;
const MINUTE_MS: i64 = 60 * SECOND_MS;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const DAY_MS: i64 = 24 * HOUR_MS;

/// Ticks of an axis: positions and labels, in order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Marks<T> {
    pub(crate) marks: Vec<(T, String)>,
}

/// Common distances between ticks on a time axis.
const TIME_STEPS_MS: [i64; 24] = [
    1,
    10,
    100,
    SECOND_MS,
    5 * SECOND_MS,
    10 * SECOND_MS,
    15 * SECOND_MS,
    30 * SECOND_MS,
    MINUTE_MS,
    2 * MINUTE_MS,
    5 * MINUTE_MS,
    10 * MINUTE_MS,
    15 * MINUTE_MS,
    30 * MINUTE_MS,
    HOUR_MS,
    2 * HOUR_MS,
    3 * HOUR_MS,
    6 * HOUR_MS,
    12 * HOUR_MS,
    DAY_MS,
    2 * DAY_MS,
    4 * DAY_MS,
    7 * DAY_MS,
    14 * DAY_MS,
];

/// Up to `count_max` ticks of a time range. Each label shows what changed since the previous one: midnight shows the
/// date, January 1 the year.
pub(crate) fn time_marks(from_ms: i64, to_ms: i64, count_max: usize) -> Marks<i64> {
    let count_max = i64::try_from(count_max.max(2)).unwrap_or(i64::MAX);
    let range_ms = to_ms.saturating_sub(from_ms).max(1);
    let fits = |step_ms: &i64| range_ms / step_ms < count_max;
    if let Some(step_ms) = TIME_STEPS_MS.into_iter().find(fits) {
        let first = from_ms.div_euclid(step_ms) + i64::from(from_ms.rem_euclid(step_ms) != 0);
        let times = (first..).map(|i| i.saturating_mul(step_ms)).take_while(|&time| time <= to_ms);
        return Marks { marks: times.map(|time| (time, time_label(time, step_ms))).collect() };
    }
    let months = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400, 6000, 12_000];
    let month_ms = 365 * DAY_MS / 12;
    let step = months.into_iter().find(|&months| range_ms / (months * month_ms) < count_max).unwrap_or(24_000);
    let Some(first) = Timestamp::from_millisecond(from_ms).ok().map(|time| Offset::UTC.to_datetime(time).date()) else {
        return Marks { marks: Vec::new() };
    };
    let first_month = i64::from(first.year()) * 12 + i64::from(first.month()) - 1;
    let times = (first_month.div_euclid(step)..).map_while(|i| {
        let month = i * step;
        let year = i16::try_from(month.div_euclid(12)).ok()?;
        let date = Date::new(year, i8::try_from(month.rem_euclid(12) + 1).ok()?, 1).ok()?;
        let time = Offset::UTC.to_timestamp(date.to_datetime(Time::midnight())).ok()?.as_millisecond();
        (time <= to_ms).then_some(time)
    });
    let marks = times.filter(|&time| time >= from_ms).map(|time| {
        let is_january = format_time_as(time, "%m") == "01";
        (time, format_time_as(time, if is_january { "%Y" } else { "%b" }))
    });
    Marks { marks: marks.collect() }
}

fn time_label(time_ms: i64, step_ms: i64) -> String {
    let is_midnight = time_ms.rem_euclid(DAY_MS) == 0;
    let pattern = match step_ms {
        _ if is_midnight && format_time_as(time_ms, "%m-%d") == "01-01" => "%b %-d %Y",
        _ if is_midnight => "%b %-d",
        MINUTE_MS.. => "%H:%M",
        SECOND_MS.. => "%H:%M:%S",
        _ => "%H:%M:%S.%3f",
    };
    format_time_as(time_ms, pattern)
}

/// The range of a value axis and about `count` ticks. The range includes `least` and `greatest`, and zero unless that
/// takes more than half of the height.
pub(crate) fn value_marks(least: f64, greatest: f64, count: usize) -> (f64, f64, Marks<f64>) {
    let (mut low, mut high) = (least, greatest);
    if low > 0.0 && low <= high / 2.0 {
        low = 0.0;
    } else if high < 0.0 && high >= low / 2.0 {
        high = 0.0;
    }
    if low == high {
        // A single value is in the middle, with zero visible.
        let around = if low == 0.0 { 1.0 } else { low.abs() / 2.0 };
        (low, high) = (low - around, high + around);
    }
    let step = nice_step((high - low) / count.max(1) as f64);
    let (first, end) = ((low / step).floor(), (high / step).ceil());
    let places: Vec<f64> =
        (0..=(end - first).min(1000.0) as usize).map(|i| (first + i as f64) * step).map(|value| value + 0.0).collect();
    let unit = Unit::of(places.iter().fold(0.0, |most: f64, value| most.max(value.abs())));
    let marks = places.iter().map(|&value| (value, unit.label(value, step))).collect();
    (first * step, end * step, Marks { marks })
}

/// Rounds up to 1, 2, 2.5 or 5 times a power of ten.
fn nice_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    let found =
        [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|factor| factor * power).find(|&step| step >= least * 0.999_999);
    found.filter(|step| step.is_normal()).unwrap_or(1.0)
}

/// The unit of an axis.
struct Unit {
    size: f64,
    name: &'static str,
}

impl Unit {
    fn of(greatest: f64) -> Unit {
        let units = [(1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
        let found = units.into_iter().find(|&(size, _)| greatest >= size);
        let (size, name) = found.unwrap_or((1.0, ""));
        Unit { size, name }
    }

    fn label(&self, value: f64, step: f64) -> String {
        if value == 0.0 {
            return "0".to_owned();
        }
        let (value, step) = (value / self.size, step / self.size);
        if value.abs() >= 1e4 || step < 1e-4 {
            return format!("{value:.2e}{}", self.name);
        }
        // Enough decimals to distinguish two ticks.
        let decimals = (0..=6_usize).find(|&decimals| {
            let scaled = step * 10_f64.powi(decimals as i32);
            (scaled - scaled.round()).abs() < 1e-6 * scaled.max(1.0) && scaled >= 0.999
        });
        format!("{value:.*}{}", decimals.unwrap_or(6), self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels<T>(marks: &Marks<T>) -> Vec<&str> {
        marks.marks.iter().map(|mark| mark.1.as_str()).collect()
    }

    fn time(text: &str) -> i64 {
        rawline_time::parse_time(text, Timestamp::UNIX_EPOCH).unwrap().as_millisecond()
    }

    fn times(from: &str, to: &str) -> Vec<String> {
        let marks = time_marks(time(from), time(to), 10);
        assert!(marks.marks.len() <= 10 && marks.marks.is_sorted_by(|a, b| a.0 < b.0));
        labels(&marks).into_iter().map(str::to_owned).collect()
    }

    #[test]
    fn times_tell_what_is_new() {
        assert_eq!(
            times("2014-04-10T09:55", "2014-04-10T10:20"),
            ["09:55", "10:00", "10:05", "10:10", "10:15", "10:20"]
        );
        assert_eq!(
            times("2014-04-10T20:10", "2014-04-12T04:00"),
            ["Apr 11", "06:00", "12:00", "18:00", "Apr 12"].map(str::to_owned)
        );
        assert_eq!(times("2013-12-29", "2014-01-05").get(3).map(String::as_str), Some("Jan 1 2014"));
        assert_eq!(times("2013-10-09", "2014-05-01"), ["Nov", "Dec", "2014", "Feb", "Mar", "Apr", "May"]);
        assert_eq!(times("2001-02-03", "2019-04-05").first().map(String::as_str), Some("2002"));
        assert_eq!(times("2014-04-10T09:55:00", "2014-04-10T09:55:04").len(), 5);
        assert_eq!(times("2014-04-10T09:55:00Z", "2014-04-10T09:55:00.004Z")[1], "09:55:00.001");
    }

    #[test]
    fn any_range_has_marks_that_end() {
        for range_ms in (0..62).map(|shift| 1_i64 << shift) {
            let marks = time_marks(0, range_ms, 10);
            assert!(marks.marks.len() <= 11, "{range_ms}: {}", marks.marks.len());
        }
        assert!(time_marks(i64::MIN, i64::MAX, 10).marks.is_empty());
    }

    #[test]
    fn values_have_round_marks_and_units() {
        let of = |least, greatest| {
            let (low, high, marks) = value_marks(least, greatest, 5);
            assert!(low <= least && high >= greatest);
            (low, high, labels(&marks).join(" "))
        };
        assert_eq!(of(0.1, 98.0), (0.0, 100.0, "0 20 40 60 80 100".to_owned()));
        assert_eq!(of(51.0, 53.0).2, "51.0 51.5 52.0 52.5 53.0");
        assert_eq!(of(12e6, 50_745_578.0).2, "0 20M 40M 60M");
        assert_eq!(of(2100.0, 4000.0).2, "2.00k 2.50k 3.00k 3.50k 4.00k".replace("00k", "0k").replace("50k", "5k"));
        assert_eq!(of(-3.0, 7.0).2, "-4 -2 0 2 4 6 8");
        assert_eq!(of(0.000_1, 0.002).2, "0 0.0005 0.0010 0.0015 0.0020");
        assert_eq!(of(5.0, 5.0), (2.0, 8.0, "2 3 4 5 6 7 8".to_owned()));
        assert_eq!(of(0.0, 0.0), (-1.0, 1.0, "-1.0 -0.5 0 0.5 1.0".to_owned()));
        assert_eq!(of(-40.0, -30.0).2, "-40 -38 -36 -34 -32 -30");
        for (least, greatest) in [(1e-300, 1e300), (-1e291, 1e291), (1.0, 1.0 + f64::EPSILON), (5e-324, 5e-324)] {
            let (low, high, marks) = value_marks(least, greatest, 5);
            assert!(low.is_finite() && high.is_finite() && marks.marks.len() <= 1001, "{least} to {greatest}");
        }
    }
}
