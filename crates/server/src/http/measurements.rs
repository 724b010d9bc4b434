//! `/measurements`: which topics have measurements, their metrics and tags, and queries.
//!
//! A query may read much and compute long. So only a few run at once, each on a thread that may block, with a part of
//! a reserved part of the pool, and for a limited time. It ends early when its client disconnects.

use crate::access::{Caller, Operation};
use crate::http::api::Api;
use crate::http::error::ApiError;
use crate::http::query::Query;
use crate::http::render::{self, Buffer};
use crate::http::response::{self, ApiResponse};
use crate::measurements::{Answering, Measurements, MeasurementsError, Question};
use crate::net::peer::Peer;
use http::{HeaderValue, Request, header};
use rawline_broker::pool::{Gathered, Reservation};
use rawline_contract::{Kind, MediaType, code};
use serde::Serialize;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// Queries that run at once. They compute, and appends need processors too.
pub(crate) const QUERIES_MAX: usize = 2;

/// The part of the pool that a query reserves, but at most a quarter of it. The limits of results keep its memory near
/// that.
const QUERY_BYTES: u64 = 32 << 20;

/// Which topics have measurements, as far as the caller may read them.
#[derive(Serialize)]
struct Overview {
    is_available: bool,
    topics: Vec<String>,
}

/// The topics that have measurements; also says whether this broker can query any.
pub(crate) async fn topics(api: &Api, peer: &Peer, caller: &Caller) -> Result<ApiResponse, ApiError> {
    let mut overview = Overview { is_available: api.config.measurements.is_some(), topics: Vec::new() };
    if overview.is_available {
        let (topics, _reserved) = ask(api, peer, |measurements| measurements.topics()).await?;
        overview.topics = topics;
        overview.topics.retain(|topic| caller.grants().topic(Operation::Read, topic).is_ok());
    }
    Ok(uncached(render::value(api, peer, &overview).await?))
}

/// The metrics of a topic.
pub(crate) async fn metrics<B>(api: &Api, peer: &Peer, request: &Request<B>) -> Result<ApiResponse, ApiError> {
    let query = Query::of(request);
    let search = query.text("search").unwrap_or_default();
    answer(api, peer, Question::Metrics { topic: query.topic()?.into_owned(), search }).await
}

/// The tags of a selector's series.
pub(crate) async fn tags<B>(api: &Api, peer: &Peer, request: &Request<B>) -> Result<ApiResponse, ApiError> {
    let query = Query::of(request);
    answer(api, peer, Question::Tags { topic: query.topic()?.into_owned(), selector: query.selector()? }).await
}

/// The values of a selector's series.
pub(crate) async fn query<B>(api: &Api, peer: &Peer, request: &Request<B>) -> Result<ApiResponse, ApiError> {
    let query = Query::of(request);
    // Without a value it is a single group.
    let by = query.all("by");
    let question = Question::Query {
        topic: query.topic()?.into_owned(),
        selector: query.selector()?,
        from: query.text("from"),
        to: query.text("to"),
        step: query.text("step"),
        agg: query.text("agg"),
        by: (!by.is_empty()).then(|| by.into_iter().filter(|tag| !tag.is_empty()).collect()),
    };
    answer(api, peer, question).await
}

async fn answer(api: &Api, peer: &Peer, question: Question) -> Result<ApiResponse, ApiError> {
    let question = Arc::new(question);
    let (text, reserved) = ask(api, peer, move |measurements| {
        let question = question.clone();
        Box::pin(async move { measurements.answer(&question).await })
    })
    .await?;
    let mut body = Buffer(Gathered::new(reserved));
    body.write_all(text.as_bytes()).map_err(|_| {
        let message = "the result is larger than the broker's memory for it; narrow the selector, or use longer steps";
        ApiError::new(code::MEASUREMENTS_TOO_MANY, message)
    })?;
    Ok(uncached(response::buffers(MediaType::Json.header_value(), body.0.freeze())))
}

/// Answers change with every run of `rawline measure`.
fn uncached(mut response: ApiResponse) -> ApiResponse {
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Runs a query on a thread that may block. Returns the reservation with the result.
async fn ask<T: Send + 'static>(
    api: &Api,
    peer: &Peer,
    question: impl for<'a> FnOnce(&'a dyn Measurements) -> Answering<'a, T> + Send + 'static,
) -> Result<(T, Reservation), ApiError> {
    let Some(measurements) = api.config.measurements.clone() else { return Err(unavailable()) };
    let permit = tokio::time::timeout(api.config.pool_wait, api.queries.clone().acquire_owned()).await;
    let Ok(Ok(permit)) = permit else {
        let message = format!("{QUERIES_MAX} queries of measurements are running, as many as may run at once; retry");
        return Err(ApiError::new(code::QUERIES_TOO_MANY, message));
    };
    let reserved = render::reserve(api, peer, QUERY_BYTES.min(api.pool.bytes() / 4)).await?;
    let query_time = api.config.query_time;
    let (asker, asked) = oneshot::channel::<()>();
    let runtime = Handle::current();
    let run = move || {
        let abandoned = async move {
            let _ = asked.await;
        };
        let answer = runtime.block_on(async {
            tokio::select! {
                biased;
                () = abandoned => Err(slow(query_time)),
                answer = tokio::time::timeout(query_time, question(&*measurements)) => {
                    answer.map_err(|_| slow(query_time)).and_then(|answer| Ok(answer?))
                }
            }
        });
        // Also after the client has gone.
        drop(permit);
        answer.map(|answer| (answer, reserved))
    };
    #[expect(clippy::disallowed_methods, reason = "decoding columns would stall a worker")]
    let running = tokio::task::spawn_blocking(run);
    let answer = tokio::select! {
        answer = running => answer,
        () = peer.gone() => return Err(slow(query_time)),
    };
    drop(asker);
    answer.unwrap_or_else(|error| {
        let message = format!("the query broke off ({error}); the broker's log may say why");
        Err(ApiError::new(code::STORE_FAILED, message))
    })
}

fn unavailable() -> ApiError {
    let message = "this broker can't query measurements: its binary has to be built by `make full`, and its storage to \
                   be a directory or s3://BUCKET/PREFIX";
    ApiError::new(code::MEASUREMENTS_UNAVAILABLE, message)
}

fn slow(query_time: Duration) -> ApiError {
    let message = format!(
        "the query would take longer than {query_time:?}; narrow the selector or the range, or use steps of whole \
         minutes or hours, which read fewer rows"
    );
    ApiError::new(code::QUERY_SLOW, message)
}

impl From<MeasurementsError> for ApiError {
    fn from(error: MeasurementsError) -> Self {
        let code = match &error {
            MeasurementsError::Wrong(_) => code::QUERY_INVALID,
            MeasurementsError::NotFound(_) => code::MEASUREMENTS_NOT_FOUND,
            MeasurementsError::TooMany(_) => code::MEASUREMENTS_TOO_MANY,
            MeasurementsError::Store { kind: Kind::TryAgain | Kind::Wait, .. } => code::STORE_UNAVAILABLE,
            MeasurementsError::Store { .. } => code::STORE_FAILED,
        };
        ApiError::new(code, error.to_string())
    }
}
