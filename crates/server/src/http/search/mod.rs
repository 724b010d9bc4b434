//! `GET /search`: looks for records by their contents, in the partitions of one topic.
//!
//! The broker never looks into a record: it depends on nothing that could. This is the edge's work, like the conversion
//! of records to JSON: the search reads batches as any client does, with the caller's grants and quota, and matches
//! their records here.
//!
//! A search may read a whole topic, so it is bounded in each resource that it shares. Few run at once, each with a
//! reserved part of the pool; one of them scans at a time, in windows, on a thread that may block, and pauses after
//! each window; a request ends after a time, with a cursor at which the next one continues.

mod criteria;
mod lines;
mod query;
mod remaining;
mod run;
mod window;

use crate::access::Caller;
use crate::http::api::Api;
use crate::http::error::ApiError;
use crate::http::render;
use crate::http::response::{self, ApiResponse};
use crate::net::peer::Peer;
use futures_util::stream::unfold;
use http::{HeaderName, HeaderValue, Method, Request, header};
use rawline_contract::{MediaType, code};
use run::Search;
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

/// Searches that may run at once; others wait as long as a request waits for buffers.
pub(crate) const SEARCHES_MAX: usize = 4;

/// Searches that may scan a window at once: all of them together use one processor.
pub(crate) const SCANS_MAX: usize = 1;

/// What a search reserves of the pool, unless that is more than a part of it: for the matches of a window, those of the
/// one before, which are being sent, and the forms of one record.
const SEARCH_BYTES: u64 = 4 << 20;
const SEARCH_SHARE: u64 = 16;

/// Begins the search, and responds with a stream of its matches.
pub(crate) async fn search<B>(
    api: &Arc<Api>,
    peer: &Peer,
    caller: &Arc<Caller>,
    request: &Request<B>,
) -> Result<ApiResponse, ApiError> {
    let wanted = query::read(api, request).await?;
    let permit = tokio::time::timeout(api.config.pool_wait, api.searches.clone().acquire_owned()).await;
    let Ok(Ok(permit)) = permit else {
        let message = format!("{SEARCHES_MAX} searches are running, as many as may run at once; retry");
        return Err(ApiError::new(code::SEARCHES_TOO_MANY, message));
    };
    let reserved = render::reserve(api, peer, SEARCH_BYTES.min(api.pool.bytes() / SEARCH_SHARE)).await?;
    let (sender, receiver) = mpsc::channel(1);
    if request.method() != Method::HEAD {
        let search = Search::new(api.clone(), caller.clone(), wanted, sender);
        let runtime = Handle::current();
        let run = move || {
            runtime.block_on(search.run());
            drop((permit, reserved));
        };
        #[expect(clippy::disallowed_methods, reason = "looking through records would stall a worker")]
        drop(tokio::task::spawn_blocking(run));
    }
    let pieces = unfold(receiver, |mut receiver| async move { receiver.recv().await.map(|piece| (piece, receiver)) });
    let mut response = match *request.method() == Method::HEAD {
        true => ApiResponse::default(),
        false => response::stream(pieces),
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, MediaType::Lines.header_value());
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Proxies would hold matches back.
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    Ok(response)
}
