//! `GET /metrics`: all metrics in Prometheus' text format.

use crate::http::api::Api;
use crate::metrics::{Build, groups, render_process};
use rawline_broker::JournalStatus;
use rawline_broker::metrics::{METRICS, MICROSECONDS, Text, families};

/// The text.
pub(super) async fn text(api: &Api) -> String {
    let groups = api.broker.coordinator().lags().await;
    let mut text = Text::default();
    let Build { version, commit, features } = api.config.build;
    text.gauges(&families::BUILD_INFO, [([version, commit, features], 1)]);
    text.gauge(&families::START_TIME, api.started_us as f64 / MICROSECONDS);
    api.metrics.render(&mut text);
    groups::render(&mut text, groups);
    text.gauge(&families::CONNECTIONS_MAX, api.config.connections_max);
    text.gauge(&families::MEMORY, api.config.memory_bytes);
    text.gauge(&families::POOL, api.pool.bytes());
    text.gauge(&families::POOL_FREE, api.pool.bytes_free());
    text.gauge(&families::TOPICS, api.broker.topics_count());
    METRICS.render(&mut text);
    journals(&mut text, &api.broker.journal_statuses());
    render_process(&mut text);
    text.into_string()
}

fn journals(text: &mut Text, statuses: &[JournalStatus]) {
    let named = || (0..).zip(statuses).map(|(number, status): (u32, _)| ([number.to_string()], status));
    let times = named().filter_map(|(name, status)| Some((name, status.newest_us? as f64 / MICROSECONDS)));
    text.gauges(&families::JOURNAL_COMMIT_TIME, times);
    text.gauges(&families::JOURNAL_FAILED, named().map(|(name, status)| (name, u8::from(status.has_failed))));
}
