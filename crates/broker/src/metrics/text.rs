//! Metrics as text, in Prometheus' exposition format 0.0.4.

use super::families::{Family, Kind};
use super::kinds::Values;
use std::fmt::{Display, Write};

/// The text of metrics, to which more are added.
#[derive(Debug, Default)]
pub struct Text(String);

impl Text {
    /// A counter's series, by the values of its labels.
    pub fn counters<L: AsRef<[S]>, S: AsRef<str>>(
        &mut self,
        family: &Family,
        series: impl IntoIterator<Item = (L, impl Display)>,
    ) {
        self.family(family, Kind::Counter, series);
    }

    /// A counter without labels.
    pub fn counter(&mut self, family: &Family, value: impl Display) {
        self.counters(family, [([""; 0], value)]);
    }

    /// A gauge's series.
    pub fn gauges<L: AsRef<[S]>, S: AsRef<str>>(
        &mut self,
        family: &Family,
        series: impl IntoIterator<Item = (L, impl Display)>,
    ) {
        self.family(family, Kind::Gauge, series);
    }

    /// A gauge without labels.
    pub fn gauge(&mut self, family: &Family, value: impl Display) {
        self.gauges(family, [([""; 0], value)]);
    }

    /// A histogram's series, whose bounds and sums are divided by `unit`.
    pub fn histograms<L: AsRef<[S]>, S: AsRef<str>, const N: usize>(
        &mut self,
        family: &Family,
        unit: f64,
        series: impl IntoIterator<Item = (L, Values<N>)>,
    ) {
        self.head(family, Kind::Histogram);
        for (labels, Values { bounds, cumulative, count, sum }) in series {
            let labels = labels.as_ref();
            let bounds = bounds.iter().map(|&bound| (bound as f64 / unit).to_string());
            for (bound, count) in bounds.zip(cumulative).chain([("+Inf".to_owned(), count)]) {
                self.line(family, "_bucket", labels, Some(&bound), count);
            }
            self.line(family, "_sum", labels, None, sum as f64 / unit);
            self.line(family, "_count", labels, None, count);
        }
        self.0.push('\n');
    }

    /// All of it.
    pub fn into_string(self) -> String {
        self.0
    }

    fn family<L: AsRef<[S]>, S: AsRef<str>>(
        &mut self,
        family: &Family,
        kind: Kind,
        series: impl IntoIterator<Item = (L, impl Display)>,
    ) {
        let mut series = series.into_iter().peekable();
        if series.peek().is_some() {
            self.head(family, kind);
            series.for_each(|(labels, value)| self.line(family, "", labels.as_ref(), None, value));
            self.0.push('\n');
        }
    }

    fn head(&mut self, Family { name, kind, help, .. }: &Family, expected: Kind) {
        assert_eq!(*kind, expected, "the kind of {name}");
        let _infallible = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {}", kind.name());
    }

    fn line<S: AsRef<str>>(
        &mut self,
        Family { name, labels, .. }: &Family,
        end: &str,
        values: &[S],
        bound: Option<&str>,
        value: impl Display,
    ) {
        assert_eq!(labels.len(), values.len(), "labels of {name}");
        let _infallible = write!(self.0, "{name}{end}");
        let labels =
            labels.iter().copied().zip(values.iter().map(AsRef::as_ref)).chain(bound.map(|bound| ("le", bound)));
        let mut separator = '{';
        for (label, value) in labels {
            let _infallible = write!(self.0, "{separator}{label}=\"");
            self.escaped(value);
            self.0.push('"');
            separator = ',';
        }
        if separator == ',' {
            self.0.push('}');
        }
        let _infallible = writeln!(self.0, " {value}");
    }

    /// A label's value: names of groups can have any character.
    fn escaped(&mut self, value: &str) {
        for character in value.chars() {
            match character {
                '\\' => self.0.push_str("\\\\"),
                '"' => self.0.push_str("\\\""),
                '\n' => self.0.push_str("\\n"),
                other => self.0.push(other),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Histogram;

    #[test]
    fn each_kind_as_prometheus_reads_it() {
        static BOUNDS: [u64; 2] = [500, 2_000_000];
        let histogram = Histogram::new(&BOUNDS);
        [100, 1_000_000, 3_000_000].into_iter().for_each(|value| histogram.record(value));
        let family = |name, kind, labels, help| Family { name, kind, labels, help };
        let mut text = Text::default();
        let counter = family("c_total", Kind::Counter, &["a", "b"], "C.");
        text.counters(&counter, [(["x", "y"], 1), (["z", "\"\\\n"], 2)]);
        text.counters(&counter, std::iter::empty::<([&str; 2], u64)>());
        text.gauge(&family("g", Kind::Gauge, &[], "G."), 1.5);
        text.histograms(&family("h_seconds", Kind::Histogram, &["v"], "H."), 1e6, [(["z"], histogram.values())]);
        let expected = "# HELP c_total C.\n# TYPE c_total counter\n\
                        c_total{a=\"x\",b=\"y\"} 1\nc_total{a=\"z\",b=\"\\\"\\\\\\n\"} 2\n\n\
                        # HELP g G.\n# TYPE g gauge\ng 1.5\n\n\
                        # HELP h_seconds H.\n# TYPE h_seconds histogram\n\
                        h_seconds_bucket{v=\"z\",le=\"0.0005\"} 1\nh_seconds_bucket{v=\"z\",le=\"2\"} 2\n\
                        h_seconds_bucket{v=\"z\",le=\"+Inf\"} 3\nh_seconds_sum{v=\"z\"} 4.0001\n\
                        h_seconds_count{v=\"z\"} 3\n\n";
        assert_eq!(text.into_string(), expected);
    }
}
