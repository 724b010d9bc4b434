//! `--debug-listen`: a CPU profile of the running broker, in pprof's format or as a flame graph.
//!
//! On an address of its own, off by default: a profile tells more of a service than its users should know.

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use pprof::protos::Message;
use std::convert::Infallible;
use std::time::Duration;
use tokio::net::TcpListener;

/// Samples a second: prime, so that it does not beat with what runs every millisecond.
const SAMPLES_PER_SECOND: i32 = 197;
/// Longest profile.
const SECONDS_MAX: u64 = 300;

const HELP: &str = "GET /debug/pprof/profile?seconds=10     CPU profile in pprof's format: go tool pprof FILE\n\
                    GET /debug/pprof/flamegraph?seconds=10  the same as a flame graph (SVG, for a browser)\n";

/// Serves profiles until the process ends.
pub async fn serve(listener: TcpListener) {
    take_first_sample();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        tokio::spawn(async move {
            let service = service_fn(|request| async move { Ok::<_, Infallible>(answer(request).await) });
            let served = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            if let Err(error) = served.await {
                tracing::debug!(%error, "debug connection ended");
            }
        });
    }
}

async fn answer(request: Request<Incoming>) -> Response<Full<Bytes>> {
    let seconds = request
        .uri()
        .query()
        .and_then(|query| form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "seconds"))
        .map_or(Ok(10), |(_, seconds)| seconds.parse::<u64>());
    let Some(seconds) = seconds.ok().filter(|seconds| (1..=SECONDS_MAX).contains(seconds)) else {
        let message = format!("seconds must be a whole number from 1 to {SECONDS_MAX}\n");
        return response(StatusCode::BAD_REQUEST, "text/plain", message.into());
    };
    let made = match request.uri().path() {
        "/debug/pprof/profile" => profile(seconds, encode).await.map(|body| ("application/octet-stream", body)),
        "/debug/pprof/flamegraph" => profile(seconds, draw).await.map(|body| ("image/svg+xml", body)),
        "/" | "/debug/pprof" | "/debug/pprof/" => Ok(("text/plain", HELP.into())),
        _ => return response(StatusCode::NOT_FOUND, "text/plain", HELP.into()),
    };
    match made {
        Ok((content_type, body)) => response(StatusCode::OK, content_type, body),
        Err(error) => response(StatusCode::SERVICE_UNAVAILABLE, "text/plain", format!("{error}\n").into()),
    }
}

type Encode = fn(pprof::Report) -> Result<Vec<u8>, pprof::Error>;

/// The first sample of a process allocates, to read its libraries' tables, in the signal's handler. If the signal then
/// found a thread in the allocator, both would wait for ever: so this thread takes it here, where it is not.
fn take_first_sample() {
    // Of the timer nothing comes for a second.
    if let Ok(_guard) = pprof::ProfilerGuardBuilder::default().frequency(1).build() {
        // SAFETY: the signal has a handler, the guard's, and is done with when this returns.
        unsafe { libc::raise(libc::SIGPROF) };
    }
}

async fn profile(seconds: u64, encode: Encode) -> Result<Vec<u8>, pprof::Error> {
    let guard = pprof::ProfilerGuardBuilder::default().frequency(SAMPLES_PER_SECOND).build()?;
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    // Names are looked up in the binary, which takes a second where there is much.
    tokio::task::block_in_place(|| {
        let report = guard.report().build()?;
        drop(guard);
        encode(report)
    })
}

fn encode(report: pprof::Report) -> Result<Vec<u8>, pprof::Error> {
    let mut bytes = Vec::new();
    // Writing to memory does not fail.
    let _ = report.pprof()?.encode(&mut bytes);
    Ok(bytes)
}

fn draw(report: pprof::Report) -> Result<Vec<u8>, pprof::Error> {
    let mut svg = Vec::new();
    report.flamegraph(&mut svg)?;
    Ok(svg)
}

fn response(status: StatusCode, content_type: &'static str, body: Vec<u8>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static(content_type));
    response
}
