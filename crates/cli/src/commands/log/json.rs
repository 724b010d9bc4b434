//! A line of the log as a JSON object: time, level, message, then the fields.

use rawline_broker::{Clock, SystemClock};
use serde::Serialize;
use serde_json::{Map, Value};
use std::fmt::{self, Debug};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// The name of the field that has an event's text.
const MESSAGE: &str = "message";

#[derive(Serialize)]
struct Line<'a> {
    time: String,
    level: &'a str,
    message: &'a str,
    #[serde(flatten)]
    fields: Map<String, Value>,
}

/// A line of this moment.
pub fn line(level: &str, message: &str, fields: Map<String, Value>) -> String {
    let time = jiff::Timestamp::from_microsecond(SystemClock.now_us().cast_signed()).unwrap_or_default();
    let line = Line { time: format!("{time:.6}"), level, message, fields };
    serde_json::to_string(&line).unwrap_or_default()
}

/// Formats events as lines.
pub struct Json;

impl<S, N> FormatEvent<S, N> for Json
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut to: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let level = event.metadata().level().as_str().to_lowercase();
        writeln!(to, "{}", line(&level, &fields.message, fields.others))
    }
}

#[derive(Default)]
struct Fields {
    message: String,
    others: Map<String, Value>,
}

impl Fields {
    fn add(&mut self, field: &Field, value: impl Into<Value>) {
        self.others.insert(field.name().to_owned(), value.into());
    }
}

impl Visit for Fields {
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            MESSAGE => value.clone_into(&mut self.message),
            _ => self.add(field, value),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let text = format!("{value:?}");
        match field.name() {
            MESSAGE => self.message = text,
            _ => self.add(field, text),
        }
    }
}
