//! CPU profiles of the running broker, in pprof's format or as flame graphs.
//!
//! They have a separate address and are off by default: a profile reveals more of a service than its users should know.

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use pprof::protos::Message;
use std::convert::Infallible;
use std::time::Duration;
use tokio::net::TcpListener;

/// Samples per second. A prime, so that samples don't coincide with what runs every millisecond.
const SAMPLES_PER_SECOND: i32 = 197;
/// Maximum duration of a profile.
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
        #[expect(clippy::disallowed_methods, reason = "a task for each connection")]
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

/// Takes the first sample of the process on this thread, which isn't in the allocator now. That sample allocates in the
/// signal's handler, to read the tables of the libraries; on a thread that is in the allocator it would wait forever.
fn take_first_sample() {
    // The timer itself doesn't fire for a second.
    if let Ok(_guard) = pprof::ProfilerGuardBuilder::default().frequency(1).build() {
        // SAFETY: the guard has installed a handler for the signal, and it has run when this returns.
        unsafe { libc::raise(libc::SIGPROF) };
    }
}

async fn profile(seconds: u64, encode: Encode) -> Result<Vec<u8>, pprof::Error> {
    let guard = pprof::ProfilerGuardBuilder::default().frequency(SAMPLES_PER_SECOND).build()?;
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    // Looking up the names in the binary can take a second.
    tokio::task::block_in_place(|| {
        let report = guard.report().build()?;
        drop(guard);
        encode(report)
    })
}

fn encode(report: pprof::Report) -> Result<Vec<u8>, pprof::Error> {
    let mut bytes = Vec::new();
    // Writing to memory can't fail.
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
