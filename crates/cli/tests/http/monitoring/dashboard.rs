//! The dashboard, as `deploy/grafana.json` has it: what operators look at first, then a panel for each metric.

use rawline_broker::metrics::families::{ALL, Family, Kind};
use serde_json::{Value, json};

/// Columns of a row.
const WIDTH: usize = 24;
/// Of a panel.
const PANEL: [usize; 2] = [8, 8];

/// Title, unit, expressions with their legends.
type Panel = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// The panels of the first row.
const FIRST: [Panel; 9] = [
    (
        "Appended records per second",
        "short",
        &[(
            "sum by (protocol) (rate(rawline_append_records_total{instance=~\"$instance\"}[$__rate_interval]))",
            "{{protocol}}",
        )],
    ),
    (
        "Returned records per second",
        "short",
        &[(
            "sum by (protocol) (rate(rawline_read_records_total{instance=~\"$instance\"}[$__rate_interval]))",
            "{{protocol}}",
        )],
    ),
    (
        "Bytes per second",
        "Bps",
        &[
            ("sum(rate(rawline_append_bytes_total{instance=~\"$instance\"}[$__rate_interval]))", "appended"),
            ("sum(rate(rawline_read_bytes_total{instance=~\"$instance\"}[$__rate_interval]))", "returned"),
        ],
    ),
    (
        "Time of an append",
        "s",
        &[
            (
                "histogram_quantile(0.5, sum by (protocol, le) \
                 (rate(rawline_append_seconds_bucket{instance=~\"$instance\"}[$__rate_interval])))",
                "p50 {{protocol}}",
            ),
            (
                "histogram_quantile(0.99, sum by (protocol, le) \
                 (rate(rawline_append_seconds_bucket{instance=~\"$instance\"}[$__rate_interval])))",
                "p99 {{protocol}}",
            ),
        ],
    ),
    (
        "Failed requests per second",
        "short",
        &[
            (
                "sum by (verb, status) \
                 (rate(rawline_http_requests_total{instance=~\"$instance\",status!=\"2xx\"}[$__rate_interval]))",
                "{{verb}} {{status}}",
            ),
            (
                "sum by (api, error) (rate(rawline_kafka_errors_total{instance=~\"$instance\"}[$__rate_interval]))",
                "{{api}} {{error}}",
            ),
        ],
    ),
    (
        "Lag of groups in seconds",
        "s",
        &[("max by (group) (time() - rawline_group_oldest_timestamp_seconds{instance=~\"$instance\"})", "{{group}}")],
    ),
    (
        "Lag of groups in records",
        "short",
        &[("max by (group) (rawline_group_lag_records{instance=~\"$instance\"})", "{{group}}")],
    ),
    (
        "Time since the newest commit",
        "s",
        &[(
            "time() - max by (journal) (rawline_journal_commit_timestamp_seconds{instance=~\"$instance\"})",
            "journal {{journal}}",
        )],
    ),
    (
        "CPU and memory",
        "short",
        &[
            ("rate(process_cpu_seconds_total{instance=~\"$instance\"}[$__rate_interval])", "cores {{instance}}"),
            ("process_resident_memory_bytes{instance=~\"$instance\"} / 2^30", "GiB {{instance}}"),
        ],
    ),
];

/// The rows of the other panels, by what their metrics' names begin with.
const ROWS: [(&str, &[&str]); 6] = [
    ("Appends and reads", &["rawline_append", "rawline_read"]),
    ("Requests", &["rawline_http", "rawline_kafka", "rawline_connections", "rawline_quota", "rawline_subscription"]),
    ("Groups of consumers", &["rawline_group"]),
    ("Storage", &["rawline_topics", "rawline_commit", "rawline_deleted", "rawline_journal"]),
    ("Bucket, cache and zones", &["rawline_bucket", "rawline_cache", "rawline_zone"]),
    ("Process", &["rawline_build", "rawline_start", "rawline_memory", "rawline_pool", "process_"]),
];

/// The panels, in places that follow one another.
#[derive(Default)]
struct Panels {
    all: Vec<Value>,
    x: usize,
    y: usize,
}

impl Panels {
    fn row(&mut self, title: &str) {
        if self.x > 0 {
            (self.x, self.y) = (0, self.y + PANEL[1]);
        }
        let place = json!({ "x": 0, "y": self.y, "w": WIDTH, "h": 1 });
        let id = self.all.len() + 1;
        let row =
            json!({ "id": id, "type": "row", "title": title, "collapsed": false, "gridPos": place, "panels": [] });
        self.all.push(row);
        self.y += 1;
    }

    fn panel(&mut self, title: &str, description: &str, unit: &str, queries: &[(String, String)]) {
        let targets = queries.iter().zip('A'..).map(|((expression, legend), id)| {
            json!({ "refId": id.to_string(), "expr": expression, "legendFormat": legend, "datasource": source() })
        });
        self.all.push(json!({
            "id": self.all.len() + 1,
            "type": "timeseries",
            "title": title,
            "description": description,
            "datasource": source(),
            "gridPos": { "x": self.x, "y": self.y, "w": PANEL[0], "h": PANEL[1] },
            "fieldConfig": { "defaults": { "unit": unit, "min": 0 }, "overrides": [] },
            "options": { "legend": { "displayMode": "list", "placement": "bottom" }, "tooltip": { "mode": "multi" } },
            "targets": targets.collect::<Vec<_>>(),
        }));
        self.x += PANEL[0];
        if self.x == WIDTH {
            (self.x, self.y) = (0, self.y + PANEL[1]);
        }
    }
}

fn source() -> Value {
    json!({ "type": "prometheus", "uid": "${datasource}" })
}

/// The unit that Grafana shows, by a metric's name.
fn unit(name: &str, is_rate: bool) -> &'static str {
    let base = name.strip_suffix("_total").unwrap_or(name);
    match () {
        () if name.ends_with("_timestamp_seconds") || name.ends_with("_time_seconds") => "dateTimeAsIso",
        () if base.ends_with("_bytes") && is_rate => "Bps",
        () if base.ends_with("_bytes") => "bytes",
        () if base.ends_with("_seconds") && !is_rate => "s",
        () => "short",
    }
}

/// What a metric's panel plots: of a histogram two quantiles, of a counter its rate.
fn queries(Family { name, kind, labels, .. }: &Family) -> Vec<(String, String)> {
    let legend: Vec<String> = labels.iter().map(|label| format!("{{{{{label}}}}}")).collect();
    let legend = if legend.is_empty() { "{{instance}}".to_owned() } else { legend.join(" ") };
    let by = |more: &[&str]| {
        let labels: Vec<&str> = if labels.is_empty() { vec!["instance"] } else { labels.to_vec() };
        [labels, more.to_vec()].concat().join(", ")
    };
    let of = "{instance=~\"$instance\"}";
    match kind {
        Kind::Histogram => [("0.5", "p50"), ("0.99", "p99")]
            .map(|(quantile, shown)| {
                let rates = format!("rate({name}_bucket{of}[$__rate_interval])");
                let query = format!("histogram_quantile({quantile}, sum by ({}) ({rates}))", by(&["le"]));
                (query, format!("{shown} {legend}"))
            })
            .into(),
        Kind::Counter => vec![(format!("sum by ({}) (rate({name}{of}[$__rate_interval]))", by(&[])), legend)],
        // Times are shown in milliseconds.
        Kind::Gauge if unit(name, false) == "dateTimeAsIso" => {
            vec![(format!("1000 * max by ({}) ({name}{of})", by(&[])), legend)]
        }
        Kind::Gauge => vec![(format!("max by ({}) ({name}{of})", by(&[])), legend)],
    }
}

/// The file.
pub fn file() -> String {
    let mut panels = Panels::default();
    panels.row("Overview");
    for (title, unit, queries) in FIRST {
        let queries: Vec<(String, String)> =
            queries.iter().map(|(query, legend)| ((*query).to_owned(), (*legend).to_owned())).collect();
        panels.panel(title, "", unit, &queries);
    }
    for (title, fronts) in ROWS {
        panels.row(title);
        for family in ALL.iter().filter(|family| fronts.iter().any(|front| family.name.starts_with(front))) {
            let per_second = if family.kind == Kind::Counter { " per second" } else { "" };
            let title = format!("{}{per_second}", family.name);
            panels.panel(&title, family.help, unit(family.name, family.kind == Kind::Counter), &queries(family));
        }
    }
    let dashboard = json!({
        "title": "Rawline",
        "uid": "rawline",
        "tags": ["rawline"],
        "schemaVersion": 39,
        "editable": true,
        "refresh": "30s",
        "time": { "from": "now-1h", "to": "now" },
        "templating": { "list": [
            { "name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus" },
            {
                "name": "instance",
                "label": "Broker",
                "type": "query",
                "datasource": source(),
                "query": "label_values(rawline_build_info, instance)",
                "refresh": 2,
                "multi": true,
                "includeAll": true,
                "current": { "text": "All", "value": "$__all" },
            },
        ] },
        "panels": panels.all,
    });
    serde_json::to_string_pretty(&dashboard).unwrap() + "\n"
}
