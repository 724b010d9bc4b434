//! Reads the series of a topic.

use crate::MeasureError;
use crate::layout::Layout;
use crate::query::scan::{open, parquet_failed};
use crate::query::select::Selector;
use crate::snapshot::Snapshot;
use crate::store::Storage;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, RecordBatch};
use futures_util::StreamExt;

/// A series.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Series {
    /// The metric.
    pub metric: String,
    /// Its tags, by name.
    pub tags: Vec<(String, String)>,
    /// Its id in the topic's files.
    pub id: u32,
}

impl std::fmt::Display for Series {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&label(&self.metric, &self.tags))
    }
}

/// Formats a series as a selector: `metric{tag="value"}`, quoted if PromQL requires it.
pub fn label(metric: &str, tags: &[(String, String)]) -> String {
    let is_name = |text: &str, colon: bool| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || (colon && c == ':');
        text.chars().all(is_part) && !text.starts_with(|c: char| c.is_ascii_digit()) && !text.is_empty()
    };
    let mut parts = Vec::new();
    let bare = metric.is_empty() || is_name(metric, true) && !is_keyword(metric);
    if !bare {
        parts.push(quoted(metric));
    }
    for (key, value) in tags {
        let key = if is_name(key, false) { key.clone() } else { quoted(key) };
        parts.push(format!("{key}={}", quoted(value)));
    }
    let name = if bare { metric } else { "" };
    if parts.is_empty() && !name.is_empty() { name.to_owned() } else { format!("{name}{{{}}}", parts.join(",")) }
}

/// Whether a name means something else in PromQL: a keyword such as `on`, or a number such as `nan`.
fn is_keyword(name: &str) -> bool {
    /// Longer than any of them, such as `count_values`: a longer name needn't be parsed.
    const BYTES_MAX: usize = 16;
    name.len() <= BYTES_MAX && Selector::parse(name).map_or(true, |selector| selector.metric() != Some(name))
}

/// Quotes a text. Escapes control characters, which could move a terminal's cursor.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out += &format!("\\u{:04x}", u32::from(c)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Calls `visit` with every series in the order of ids: id, metric, tags by name.
pub(crate) async fn for_each<E: From<MeasureError>>(
    storage: &Storage,
    layout: &Layout,
    snapshot: &Snapshot,
    mut visit: impl FnMut(u32, &str, &[(&str, &str)]) -> Result<(), E>,
) -> Result<(), E> {
    for file in snapshot.series() {
        let path = layout.file(file);
        let builder = open(storage, layout, file, &path).await?;
        let mut batches = builder.build().map_err(|error| parquet_failed(layout, &path, error))?;
        while let Some(batch) = batches.next().await {
            let batch = batch.map_err(|error| parquet_failed(layout, &path, error))?;
            visit_batch(&batch, &mut visit).map_err(|error| match error {
                Fault::Visit(error) => error,
                Fault::Columns => E::from(MeasureError::Damaged {
                    path: path.to_string(),
                    reason: "it doesn't have the columns series, metric and tags".to_owned(),
                    folder: layout.root().to_string(),
                }),
            })?;
            // So that a caller's timeout ends a long scan.
            tokio::task::consume_budget().await;
        }
    }
    Ok(())
}

enum Fault<E> {
    Columns,
    Visit(E),
}

fn visit_batch<E>(
    batch: &RecordBatch,
    visit: &mut impl FnMut(u32, &str, &[(&str, &str)]) -> Result<(), E>,
) -> Result<(), Fault<E>> {
    let [ids, metrics, tags] = batch.columns() else { return Err(Fault::Columns) };
    let ids = ids.as_primitive_opt::<UInt32Type>().ok_or(Fault::Columns)?;
    let metrics = metrics.as_string_opt::<i32>().ok_or(Fault::Columns)?;
    let tags = tags.as_map_opt().ok_or(Fault::Columns)?;
    let keys = tags.keys().as_string_opt::<i32>().ok_or(Fault::Columns)?;
    let values = tags.values().as_string_opt::<i32>().ok_or(Fault::Columns)?;
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    let ranges = tags.offsets().windows(2);
    for ((&id, metric), range) in ids.values().iter().zip(metrics.iter()).zip(ranges) {
        let &[begin, end] = range else { return Err(Fault::Columns) };
        pairs.clear();
        let places = usize::try_from(begin).unwrap_or(0)..usize::try_from(end).unwrap_or(0);
        pairs.extend(places.filter(|&i| i < keys.len()).map(|i| (keys.value(i), values.value(i))));
        visit(id, metric.unwrap_or_default(), &pairs).map_err(Fault::Visit)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(tags: &[(&str, &str)]) -> Vec<(String, String)> {
        tags.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()
    }

    #[test]
    fn a_label_selects_its_series() {
        let cases = [
            ("cpu", tags(&[]), "cpu"),
            ("cpu", tags(&[("az", "a"), ("b", "")]), "cpu{az=\"a\",b=\"\"}"),
            ("cpu.load", tags(&[("host.name", "x\\\"")]), "{\"cpu.load\",\"host.name\"=\"x\\\\\\\"\"}"),
            ("", tags(&[("az", "a")]), "{az=\"a\"}"),
            ("größe", tags(&[]), "{\"größe\"}"),
            ("cpu", tags(&[("a", "x\u{1b}\n")]), "cpu{a=\"x\\u001b\\u000a\"}"),
        ];
        for (metric, tags, want) in cases {
            let label = label(metric, &tags);
            assert_eq!(label, want);
            assert!(Selector::parse(&label).unwrap().matches(metric, &tags), "{label}");
        }
        assert_eq!(label("", &[]), "{}");
    }

    #[test]
    fn a_keyword_is_a_metric_and_a_tag_like_others() {
        let keywords = [
            "on",
            "bool",
            "nan",
            "inf",
            "NaN",
            "Inf",
            "and",
            "or",
            "unless",
            "by",
            "without",
            "ignoring",
            "offset",
            "sum",
            "group",
            "group_left",
            "start",
            "end",
            "atan2",
            "count_values",
            "smoothed",
            "anchored",
            "fill",
            "not",
            "e",
            "x1",
        ];
        for word in keywords {
            for tags in [tags(&[]), tags(&[(word, "v")]), tags(&[("a", "b"), (word, "\n")])] {
                let label = label(word, &tags);
                let selector = Selector::parse(&label).unwrap_or_else(|error| panic!("{label}: {error}"));
                assert!(selector.matches(word, &tags) && !selector.matches("other", &tags), "{label}");
                assert_eq!(selector.metric(), Some(word), "{label}");
            }
        }
        assert_eq!(label("cpu", &[]), "cpu");
        assert_eq!(label("on", &[]), "{\"on\"}");
    }
}
