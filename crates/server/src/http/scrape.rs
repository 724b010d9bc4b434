//! `GET /metrics`: all metrics in Prometheus' text format.

use crate::http::api::Api;
use crate::metrics::{Build, render_process};
use rawline_broker::metrics::{METRICS, MICROSECONDS, Text, families};

/// The text.
pub(super) fn text(api: &Api) -> String {
    let mut text = Text::default();
    let Build { version, commit, features } = api.config.build;
    text.gauges(&families::BUILD_INFO, [([version, commit, features], 1)]);
    text.gauge(&families::START_TIME, api.started_us as f64 / MICROSECONDS);
    api.metrics.render(&mut text);
    text.gauge(&families::CONNECTIONS_MAX, api.config.connections_max);
    text.gauge(&families::MEMORY, api.config.memory_bytes);
    text.gauge(&families::POOL, api.pool.bytes());
    text.gauge(&families::POOL_FREE, api.pool.bytes_free());
    text.gauge(&families::TOPICS, api.broker.topics_count());
    METRICS.render(&mut text);
    render_process(&mut text);
    text.into_string()
}
