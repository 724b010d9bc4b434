//! Measurements for the server's `/measurements` and the console: queries of the roll-ups in the broker's storage.

use super::now;
use futures_util::FutureExt;
use jiff::Timestamp;
use rawline_client::Kind;
use rawline_measure::query::{self, Query, QueryError, QueryLimits};
use rawline_measure::select::Selector;
use rawline_measure::{MeasureError, Storage};
use rawline_server::{Answering, Measurements, MeasurementsError, Question};
use rawline_time::{parse_length, parse_time};
use serde::Serialize;

/// Limits of a result: as much as a plot can show, in about 20 MB.
const LIMITS: QueryLimits = QueryLimits { lines_max: 100, points_max: 50_000 };

/// Maximum number of tags by which series are grouped.
const BY_MAX: usize = 8;

/// Maximum number of regular expressions in a selector. Each can take 10 MiB.
const REGEXES_MAX: usize = 4;

/// The roll-ups in the broker's storage.
#[derive(Debug)]
pub struct RollUps {
    storage: Storage,
}

impl RollUps {
    /// Those in a storage: a directory or s3://BUCKET/PREFIX.
    pub fn new(storage: Storage) -> RollUps {
        RollUps { storage }
    }

    async fn reply(&self, question: &Question) -> Result<String, MeasurementsError> {
        match question {
            Question::Metrics { topic, search } => {
                json(&query::list_metrics(&self.storage, topic, search).await.map_err(explained)?)
            }
            Question::Tags { topic, selector } => {
                let selector = parse_selector(selector)?;
                json(&query::list_tags(&self.storage, topic, &selector).await.map_err(explained)?)
            }
            Question::Query { topic, selector, from, to, step, agg, by } => {
                let now = now();
                let time = |text: &Option<String>, name| {
                    let time = text.as_deref().map(|text| parse_time(text, now)).transpose().map_err(wrong(name))?;
                    Ok::<_, MeasurementsError>(time.map(Timestamp::as_millisecond))
                };
                let mut query = Query::new(parse_selector(selector)?);
                query.from_ms = time(from, "from")?;
                query.to_ms = time(to, "to")?;
                query.step_ms = step.as_deref().map(parse_length).transpose().map_err(wrong("step"))?;
                if let Some(agg) = agg {
                    query.agg = agg.parse().map_err(wrong("agg"))?;
                }
                if by.as_ref().is_some_and(|by| by.len() > BY_MAX) {
                    return Err(MeasurementsError::Wrong(format!("by: series can be grouped by up to {BY_MAX} tags")));
                }
                query.by = by.clone();
                query.limits = LIMITS;
                let answer = query::run(&self.storage, topic, &query).await.map_err(explained)?;
                Ok(answer.to_json())
            }
        }
    }
}

impl Measurements for RollUps {
    fn topics(&self) -> Answering<'_, Vec<String>> {
        async { query::list_topics(&self.storage).await.map_err(|error| unreadable(&error)) }.boxed_local()
    }

    fn answer<'a>(&'a self, question: &'a Question) -> Answering<'a, String> {
        self.reply(question).boxed_local()
    }
}

fn json(list: &impl Serialize) -> Result<String, MeasurementsError> {
    match serde_json::to_string(list) {
        Ok(text) => Ok(format!("{text}\n")),
        Err(error) => unreachable!("a list of names has no JSON form: {error}"),
    }
}

fn wrong<E: std::fmt::Display>(name: &str) -> impl Fn(E) -> MeasurementsError {
    move |error| MeasurementsError::Wrong(format!("{name}: {error}"))
}

fn parse_selector(text: &str) -> Result<Selector, MeasurementsError> {
    // Before they are compiled. In a quoted value it may be something else, which is rare enough.
    let regexes = text.matches("=~").count() + text.matches("!~").count();
    if regexes > REGEXES_MAX {
        let message = format!("selector: it has {regexes} regular expressions, the maximum is {REGEXES_MAX}");
        return Err(MeasurementsError::Wrong(message));
    }
    Selector::parse(text).map_err(wrong("selector"))
}

/// The error for a client. It names no topic but the client's own, since the client may not see the others.
fn explained(error: QueryError) -> MeasurementsError {
    match &error {
        QueryError::NoTopic { topic, .. } => MeasurementsError::NotFound(format!(
            "topic {topic} has no roll-ups in the broker's storage; `rawline measure {topic}` makes them"
        )),
        QueryError::NoSeries { .. } | QueryError::NoPoints { .. } | QueryError::NoRate { .. } => {
            MeasurementsError::NotFound(error.to_string())
        }
        QueryError::Range { .. } | QueryError::Tier { .. } => MeasurementsError::Wrong(error.to_string()),
        QueryError::TooManyLines { .. } | QueryError::TooManyPoints { .. } => {
            MeasurementsError::TooMany(error.to_string())
        }
        QueryError::Measure(error) => unreadable(error),
    }
}

fn unreadable(error: &MeasureError) -> MeasurementsError {
    let kind = match error.kind() {
        // Nothing about a request makes a roll-up unreadable.
        Kind::FixRequest => Kind::TellHuman,
        kind => kind,
    };
    MeasurementsError::Store { kind, reason: error.to_string() }
}
