//! Short labels of several lines: shared parts appear once, and each label has the rest.

use crate::query::answer::Line;
use crate::query::series::label;

/// The labels of several lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Labels {
    /// The common tags of all lines, as a selector; may be empty.
    pub(crate) shared: String,
    /// The heading of the labels: the name of the only tag that differs, or `series`.
    pub(crate) head: String,
    /// A label for each line.
    pub(crate) each: Vec<String>,
}

impl Labels {
    pub(crate) fn of(lines: &[Line]) -> Labels {
        let Some((first, others)) = lines.split_first() else {
            return Labels { shared: String::new(), head: "series".to_owned(), each: Vec::new() };
        };
        if others.is_empty() {
            return Labels { shared: String::new(), head: "series".to_owned(), each: vec![first.label()] };
        }
        let metric_shared = others.iter().all(|line| line.metric == first.metric);
        let is_shared = |tag: &&(String, String)| others.iter().all(|line| line.tags.contains(tag));
        let shared_tags: Vec<(String, String)> = first.tags.iter().filter(is_shared).cloned().collect();
        let own = |line: &Line| -> Vec<(String, String)> {
            line.tags.iter().filter(|tag| !shared_tags.contains(tag)).cloned().collect()
        };
        let key = own(first).first().map(|(key, _)| key.clone());
        let one_key = metric_shared
            && lines.iter().all(|line| matches!(own(line).as_slice(), [(k, _)] if Some(k) == key.as_ref()));
        let each = lines.iter().map(|line| match (one_key, own(line).as_slice()) {
            (true, [(_, value)]) => shown(value),
            (_, tags) => {
                let metric = (!metric_shared).then(|| shown(&line.metric));
                let tags = tags.iter().map(|(key, value)| format!("{}={}", shown(key), shown(value)));
                let parts: Vec<String> = metric.into_iter().chain(tags).filter(|part| !part.is_empty()).collect();
                // A line without the tags of the others.
                if parts.is_empty() { "{}".to_owned() } else { parts.join(" ") }
            }
        });
        let each = each.collect();
        let metric = if metric_shared { first.metric.as_str() } else { "" };
        let shared =
            if metric.is_empty() && shared_tags.is_empty() { String::new() } else { label(metric, &shared_tags) };
        let head = key.filter(|_| one_key).map_or_else(|| "series".to_owned(), |key| shown(&key));
        Labels { shared, head, each }
    }
}

/// Escapes control characters, so that a text can't move a terminal's cursor.
fn shown(text: &str) -> String {
    if text.is_empty() {
        "\"\"".to_owned()
    } else {
        text.escape_debug().to_string().replace("\\\"", "\"").replace("\\'", "'")
    }
}

/// Shortens a text to `chars_max` characters. Leaves out the middle, because names differ at both ends.
pub(crate) fn shortened(text: &str, chars_max: usize) -> String {
    let count = text.chars().count();
    if count <= chars_max {
        return text.to_owned();
    }
    let kept = chars_max.saturating_sub(1);
    let head: String = text.chars().take(kept.div_ceil(2)).collect();
    let tail: String = text.chars().skip(count - kept / 2).collect();
    format!("{head}…{tail}")
}

/// Formats a value with up to six significant digits; uses an exponent only if the value is unreadable without one.
pub(crate) fn format_value(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return value.to_string();
    }
    if size == 0.0 {
        return "0".to_owned();
    }
    if (1e6..1e15).contains(&size) {
        return format!("{value:.0}");
    }
    if !(1e-4..1e15).contains(&size) {
        return format!("{value:.4e}");
    }
    let digits_before = size.log10().floor() as i32;
    let decimals = usize::try_from(5 - digits_before).unwrap_or(0);
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(metric: &str, tags: &[(&str, &str)]) -> Line {
        let tags = tags.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        Line { metric: metric.to_owned(), tags, points: Vec::new() }
    }

    #[test]
    fn labels_tell_what_differs() {
        let labels = Labels::of(&[
            line("cpu", &[("az", "a"), ("server", "x")]),
            line("cpu", &[("az", "a"), ("server", "y\u{7}")]),
        ]);
        assert_eq!(labels.shared, "cpu{az=\"a\"}");
        assert_eq!(labels.head, "server");
        assert_eq!(labels.each, ["x", "y\\u{7}"]);

        let labels =
            Labels::of(&[line("cpu", &[("az", "a"), ("server", "x")]), line("cpu", &[("az", "b")]), line("cpu", &[])]);
        assert_eq!((labels.shared.as_str(), labels.head.as_str()), ("cpu", "series"));
        assert_eq!(labels.each, ["az=a server=x", "az=b", "{}"]);

        let labels = Labels::of(&[line("cpu", &[("az", "a")]), line("disk", &[("az", "a")])]);
        assert_eq!(labels.shared, "{az=\"a\"}");
        assert_eq!(labels.each, ["cpu", "disk"]);

        assert_eq!(Labels::of(&[line("cpu", &[("az", "a")])]).each, ["cpu{az=\"a\"}"]);
        assert_eq!(Labels::of(&[line("", &[])]).each, ["{}"]);
        assert!(Labels::of(&[]).each.is_empty());
    }

    #[test]
    fn long_names_lose_their_middle() {
        assert_eq!(shortened("sgp-1", 5), "sgp-1");
        assert_eq!(shortened("größer-als-erlaubt", 7), "grö…ubt");
        assert_eq!(shortened("ab", 1), "…");
    }

    #[test]
    fn values_have_the_digits_that_count() {
        let cases = [
            (0.0, "0"),
            (0.132, "0.132"),
            (51.846_000_000_000_004, "51.846"),
            (1.0 / 3.0, "0.333333"),
            (-1234.5678, "-1234.57"),
            (999_999.9, "1000000"),
            (50_745_578.0, "50745578"),
            (1e18, "1.0000e18"),
            (0.000_01, "1.0000e-5"),
            (f64::NAN, "NaN"),
        ];
        for (value, want) in cases {
            assert_eq!(format_value(value), want);
        }
    }
}
