//! Counts the requests to a bucket, because these are billed: each page of a listing, each retry. Notes the dates
//! of its responses.

use super::date::{self, DateSlot};
use crate::metrics::METRICS;
use http::Uri;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, HttpService, ReqwestConnector,
};
use std::pin::Pin;

/// Connects clients that count.
#[derive(Debug)]
pub(super) struct CountingConnector {
    pub bucket: String,
    pub endpoint: String,
    /// Where a directory bucket's sessions are created, if not at its own host.
    pub sessions: Option<Uri>,
}

#[derive(Debug)]
struct CountingClient {
    client: HttpClient,
    /// Requests to these hosts are the bucket's; others get credentials, and cost nothing.
    endpoint: String,
    bucket_host: String,
    sessions: Option<Uri>,
}

impl HttpConnector for CountingConnector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let client = ReqwestConnector::default().connect(options)?;
        let bucket_host = format!("{}.", self.bucket);
        let (endpoint, sessions) = (self.endpoint.clone(), self.sessions.clone());
        Ok(HttpClient::new(CountingClient { client, endpoint, bucket_host, sessions }))
    }
}

impl CountingClient {
    fn is_buckets(&self, host: &str) -> bool {
        self.endpoint.contains(host) || host.starts_with(&self.bucket_host)
    }

    async fn send(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        if let Some(sessions) = self.sessions.as_ref().filter(|_| request.uri().query() == Some("session")) {
            request.uri_mut().clone_from(sessions);
        }
        if !request.uri().host().is_some_and(|host| self.is_buckets(host)) {
            return self.client.execute(request).await;
        }
        METRICS.bucket.requested(request.method().as_str(), request.uri().query().unwrap_or_default());
        METRICS.bucket.sent.add(length(request.headers().get("content-length").map(|value| value.as_bytes())));
        let slot = DateSlot::of(&request);
        let mut response = self.client.execute(request).await?;
        date::note(&mut response, slot.as_ref());
        METRICS.bucket.received.add(length(response.headers().get("content-length").map(|value| value.as_bytes())));
        Ok(response)
    }
}

/// A length as a header announces it; 0 if it doesn't.
fn length(value: Option<&[u8]>) -> u64 {
    value.and_then(|value| std::str::from_utf8(value).ok()).and_then(|value| value.parse().ok()).unwrap_or(0)
}

impl HttpService for CountingClient {
    // What `async_trait` makes of an `async fn`.
    fn call<'a, 'b>(
        &'a self,
        request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(self.send(request))
    }
}
