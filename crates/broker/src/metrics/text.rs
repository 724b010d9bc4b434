//! Metrics as text, in Prometheus' exposition format 0.0.4.

use super::kinds::Histogram;
use std::fmt::{Display, Write};

/// The text of metrics, to which more are added.
#[derive(Debug, Default)]
pub struct Text(String);

/// Labels of one series: names and values, of which none has anything to escape.
pub type Labels<'a> = &'a [(&'a str, &'a str)];

impl Text {
    /// A counter's series.
    pub fn counters<'a>(&mut self, name: &str, help: &str, series: impl IntoIterator<Item = (Labels<'a>, u64)>) {
        self.family(name, help, "counter", series);
    }

    /// A counter without labels.
    pub fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.counters(name, help, [(&[][..], value)]);
    }

    /// A gauge.
    pub fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.family(name, help, "gauge", [(&[][..], value)]);
    }

    /// A histogram's series, whose bounds and sums are divided by `unit`.
    pub fn histograms<'a, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        unit: f64,
        series: impl IntoIterator<Item = (Labels<'a>, &'a Histogram<N>)>,
    ) {
        self.head(name, help, "histogram");
        for (labels, histogram) in series {
            let (buckets, count) = histogram.cumulative();
            let bounds = histogram.bounds().iter().map(|&bound| (bound as f64 / unit).to_string());
            for (bound, count) in bounds.zip(buckets).chain([("+Inf".to_owned(), count)]) {
                let labels = [labels, &[("le", &bound)]].concat();
                self.line(&format!("{name}_bucket"), &labels, count);
            }
            self.line(&format!("{name}_sum"), labels, histogram.sum() as f64 / unit);
            self.line(&format!("{name}_count"), labels, count);
        }
        self.0.push('\n');
    }

    /// All of it.
    pub fn into_string(self) -> String {
        self.0
    }

    fn family<'a, V: Display>(
        &mut self,
        name: &str,
        help: &str,
        kind: &str,
        series: impl IntoIterator<Item = (Labels<'a>, V)>,
    ) {
        let mut series = series.into_iter().peekable();
        if series.peek().is_some() {
            self.head(name, help, kind);
            series.for_each(|(labels, value)| self.line(name, labels, value));
            self.0.push('\n');
        }
    }

    fn head(&mut self, name: &str, help: &str, kind: &str) {
        let _infallible = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn line(&mut self, name: &str, labels: Labels<'_>, value: impl Display) {
        let labels: Vec<String> = labels.iter().map(|(key, value)| format!("{key}=\"{value}\"")).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _infallible = writeln!(self.0, "{name}{labels} {value}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_as_prometheus_reads_it() {
        static BOUNDS: [u64; 2] = [500, 2_000_000];
        let histogram = Histogram::new(&BOUNDS);
        [100, 1_000_000, 3_000_000].into_iter().for_each(|value| histogram.record(value));
        let mut text = Text::default();
        text.counters("c_total", "C.", [(&[("a", "x"), ("b", "y")][..], 1), (&[("a", "z")], 2)]);
        text.counters("none_total", "Without series.", []);
        text.gauge("g", "G.", 1.5);
        text.histograms("h_seconds", "H.", 1e6, [(&[("v", "z")][..], &histogram)]);
        let expected = "# HELP c_total C.\n# TYPE c_total counter\nc_total{a=\"x\",b=\"y\"} 1\nc_total{a=\"z\"} 2\n\n\
                        # HELP g G.\n# TYPE g gauge\ng 1.5\n\n\
                        # HELP h_seconds H.\n# TYPE h_seconds histogram\n\
                        h_seconds_bucket{v=\"z\",le=\"0.0005\"} 1\nh_seconds_bucket{v=\"z\",le=\"2\"} 2\n\
                        h_seconds_bucket{v=\"z\",le=\"+Inf\"} 3\nh_seconds_sum{v=\"z\"} 4.0001\n\
                        h_seconds_count{v=\"z\"} 3\n\n";
        assert_eq!(text.into_string(), expected);
    }
}
