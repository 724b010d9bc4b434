//! Results and lists of series as JSON and CSV.

use crate::query::answer::Answer;
use crate::query::series_list::SeriesList;
use crate::time::format_time;
use rawline_time::format_length;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Tags as a JSON object.
fn tags_json(tags: &[(String, String)]) -> Value {
    Value::Object(tags.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str()))).collect())
}

impl Answer {
    /// Formats as one line of JSON. Times are RFC 3339; values that are not finite are `"NaN"`, `"+Inf"` or `"-Inf"`.
    pub fn to_json(&self) -> String {
        let series = self.lines.iter().map(|line| {
            let points: Vec<Value> =
                line.points.iter().map(|&(time, value)| json!([format_time(time), json_value(value)])).collect();
            json!({"metric": line.metric, "tags": tags_json(&line.tags), "points": points})
        });
        let answer = json!({
            "selector": self.selector,
            "agg": self.agg.to_string(),
            "by": self.by,
            "from": format_time(self.from_ms),
            "to": format_time(self.to_ms),
            "step": format_length(self.step_ms),
            "step_ms": self.step_ms,
            "tier": self.tier.name(),
            "read": self.read,
            "note": self.note,
            "series_count": self.series_count,
            "series": series.collect::<Vec<_>>(),
        });
        format!("{answer}\n")
    }

    /// Formats as CSV with a header: time, metric, one column per tag of any line, value. Columns of missing tags are
    /// empty. A tag that is called like a column is `tags.NAME`.
    pub fn to_csv(&self) -> String {
        let keys = keys(self.lines.iter().map(|line| line.tags.as_slice()));
        let mut out = String::from("time,metric");
        column_names(&keys, &["time", "metric", "value"]).for_each(|name| push_field(&mut out, &name));
        push_field(&mut out, "value");
        out.push('\n');
        for line in &self.lines {
            let mut name = String::new();
            push_field(&mut name, &line.metric);
            push_tags(&mut name, &keys, &line.tags);
            for &(time, value) in &line.points {
                out += &format!("{}{name},{}\n", format_time(time), csv_value(value));
            }
        }
        out
    }
}

impl SeriesList {
    /// Formats as one line of JSON per series.
    pub fn to_json(&self) -> String {
        let series = self.series.iter().zip(&self.spans).map(|(series, span)| {
            let mut json = serde_json::Map::new();
            json.insert("metric".to_owned(), Value::from(series.metric.as_str()));
            json.insert("tags".to_owned(), tags_json(&series.tags));
            if let Some(span) = span {
                let known = [
                    ("points", Value::from(span.count)),
                    ("first_hour", Value::from(format_time(span.first_hour_ms))),
                    ("last", Value::from(format_time(span.last_ms))),
                ];
                json.extend(known.map(|(key, value)| (key.to_owned(), value)));
            }
            format!("{}\n", Value::Object(json))
        });
        series.collect()
    }

    /// Formats as CSV with a header: metric, one column per tag of any series, number and times of measurements. A tag
    /// that is called like a column is `tags.NAME`.
    pub fn to_csv(&self) -> String {
        let keys = keys(self.series.iter().map(|series| series.tags.as_slice()));
        let mut out = String::from("metric");
        column_names(&keys, &["metric", "points", "first_hour", "last"]).for_each(|name| push_field(&mut out, &name));
        out += ",points,first_hour,last\n";
        for (series, span) in self.series.iter().zip(&self.spans) {
            let mut row = String::new();
            push_field(&mut row, &series.metric);
            push_tags(&mut row, &keys, &series.tags);
            row += &match span {
                Some(span) => {
                    format!(",{},{},{}", span.count, format_time(span.first_hour_ms), format_time(span.last_ms))
                }
                None => ",,,".to_owned(),
            };
            out += row.strip_prefix(',').unwrap_or(&row);
            out.push('\n');
        }
        out
    }
}

/// All names of tags.
fn keys<'a>(tags: impl Iterator<Item = &'a [(String, String)]>) -> BTreeSet<&'a str> {
    tags.flatten().map(|(key, _)| key.as_str()).collect()
}

/// The names of the tags' columns, all different, and different from those of the other columns.
fn column_names(keys: &BTreeSet<&str>, others: &[&str]) -> impl Iterator<Item = String> {
    keys.iter().map(|key| {
        let mut name = (*key).to_owned();
        while others.contains(&name.as_str()) || (name != *key && keys.contains(name.as_str())) {
            name.insert_str(0, "tags.");
        }
        name
    })
}

/// Appends a field for each key, empty if the tag is missing.
fn push_tags(out: &mut String, keys: &BTreeSet<&str>, tags: &[(String, String)]) {
    for key in keys {
        push_field(out, tags.iter().find(|(tag, _)| tag == key).map_or("", |(_, value)| value));
    }
}

fn json_value(value: f64) -> Value {
    if value.is_finite() { Value::from(value) } else { Value::from(csv_value(value)) }
}

/// Formats a value as Prometheus does.
fn csv_value(value: f64) -> String {
    match value {
        f64::INFINITY => "+Inf".to_owned(),
        f64::NEG_INFINITY => "-Inf".to_owned(),
        value => value.to_string(),
    }
}

/// Appends a comma and a field, quoted if RFC 4180 requires it.
fn push_field(out: &mut String, field: &str) {
    out.push(',');
    if field.contains(['"', ',', '\n', '\r']) {
        *out += &format!("\"{}\"", field.replace('"', "\"\""));
    } else {
        *out += field;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Tier;
    use crate::query::agg::Agg;
    use crate::query::answer::Line;
    use crate::query::scan::ReadCounts;
    use crate::query::series::Series;
    use crate::query::series_list::Span;

    fn tags(tags: &[(&str, &str)]) -> Vec<(String, String)> {
        tags.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()
    }

    fn answer() -> Answer {
        let line = |metric: &str, pairs: &[(&str, &str)], points: &[(i64, f64)]| Line {
            metric: metric.to_owned(),
            tags: tags(pairs),
            points: points.to_vec(),
        };
        Answer {
            selector: "cpu".to_owned(),
            agg: Agg::Avg,
            by: None,
            from_ms: 0,
            to_ms: 120_000,
            step_ms: 60_000,
            tier: Tier::Minute,
            read: ReadCounts { files: 1, rows: 4, rows_read: 3, rows_used: 3 },
            series_count: 2,
            lines: vec![
                line("cpu", &[("az", "a,\"b\"")], &[(0, 0.5), (60_000, f64::NAN)]),
                line("cpu", &[("server", "s")], &[(60_000, f64::INFINITY)]),
            ],
            note: None,
        }
    }

    #[test]
    fn csv_has_a_column_for_every_tag() {
        let want = "time,metric,az,server,value\n\
                    1970-01-01T00:00:00Z,cpu,\"a,\"\"b\"\"\",,0.5\n\
                    1970-01-01T00:01:00Z,cpu,\"a,\"\"b\"\"\",,NaN\n\
                    1970-01-01T00:01:00Z,cpu,,s,+Inf\n";
        assert_eq!(answer().to_csv(), want);
    }

    #[test]
    fn a_tag_that_is_called_like_a_column_has_a_name_of_its_own() {
        let mut answer = answer();
        answer.lines.truncate(1);
        answer.lines[0].tags =
            tags(&[("metric", "a"), ("points", "b"), ("tags.time", "c"), ("time", "d"), ("value", "e")]);
        let csv = answer.to_csv();
        let head = "time,metric,tags.metric,points,tags.time,tags.tags.time,tags.value,value";
        assert_eq!(csv.lines().next(), Some(head));
        assert_eq!(csv.lines().nth(1), Some("1970-01-01T00:00:00Z,cpu,a,b,c,d,e,0.5"));
        let series = Series { metric: "cpu".to_owned(), tags: tags(&[("last", "a"), ("time", "b")]), id: 0 };
        let list = SeriesList { count: 1, series: vec![series], spans: vec![None], has_spans: true };
        assert_eq!(list.to_csv(), "metric,tags.last,time,points,first_hour,last\ncpu,a,b,,,\n");
    }

    #[test]
    fn lists_have_what_is_known_of_series() {
        let series =
            |metric: &str, pairs: &[(&str, &str)]| Series { metric: metric.to_owned(), tags: tags(pairs), id: 0 };
        let list = SeriesList {
            count: 2,
            series: vec![series("cpu", &[("az", "a")]), series("disk", &[("server", "s")])],
            spans: vec![Some(Span { count: 7, first_hour_ms: 0, last_ms: 3_600_001 }), None],
            has_spans: true,
        };
        let want = "metric,az,server,points,first_hour,last\n\
                    cpu,a,,7,1970-01-01T00:00:00Z,1970-01-01T01:00:00.001Z\n\
                    disk,,s,,,\n";
        assert_eq!(list.to_csv(), want);
        let lines: Vec<Value> = list.to_json().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((&lines[0]["points"], &lines[0]["tags"]["az"]), (&json!(7), &json!("a")));
        assert_eq!(lines[1], json!({"metric": "disk", "tags": {"server": "s"}}));
    }

    #[test]
    fn json_has_everything() {
        let json: Value = serde_json::from_str(&answer().to_json()).unwrap();
        assert_eq!(json["step"], "1m");
        assert_eq!(json["tier"], "minute");
        assert_eq!(json["read"]["rows_read"], 3);
        assert_eq!(json["series"][0]["tags"]["az"], "a,\"b\"");
        assert_eq!(json["series"][0]["points"][0], json!(["1970-01-01T00:00:00Z", 0.5]));
        assert_eq!(json["series"][0]["points"][1][1], "NaN");
        assert_eq!(json["series"][1]["points"][0][1], "+Inf");
    }
}
