//! The one place that turns errors into answers: a status, a stable code, a sentence that says what to do.

use crate::http::answer::{self, Answer};
use http::{HeaderValue, StatusCode, header};
use rawline_batch::BatchError;
use rawline_broker::pool::PoolError;
use rawline_broker::{AppendError, Kind, ReadError, TopicError};
use serde::Serialize;

/// An error as its caller sees it.
#[derive(Debug)]
pub(crate) struct ApiError {
    status: StatusCode,
    code: &'static str,
    message: String,
    header: Option<(header::HeaderName, HeaderValue)>,
}

/// `{"code": …, "error": …}`; the original's clients know the second.
#[derive(Serialize)]
struct Shape<'a> {
    code: &'a str,
    error: &'a str,
}

impl ApiError {
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        ApiError { status, code, message: message.into(), header: None }
    }

    /// 400: the request is wrong.
    pub fn bad(code: &'static str, message: impl Into<String>) -> Self {
        ApiError::new(StatusCode::BAD_REQUEST, code, message)
    }

    pub fn unauthorized() -> Self {
        let message = "invalid auth: send the broker's key as \"Authorization: Bearer KEY\"";
        ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", message)
            .with(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
    }

    pub fn origin() -> Self {
        let message =
            "without a key the broker takes no requests from web pages; start it with --api-key, and send the key";
        ApiError::new(StatusCode::FORBIDDEN, "origin_refused", message)
    }

    pub fn method(allowed: &'static str) -> Self {
        let message = format!("this path answers {allowed} only");
        ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", message)
            .with(header::ALLOW, HeaderValue::from_static(allowed))
    }

    pub fn path(path: &str) -> Self {
        let message = format!("there is nothing at {path}; GET /openapi.json lists what there is");
        ApiError::new(StatusCode::NOT_FOUND, "path_not_found", message)
    }

    pub fn too_large(bytes: u64, limit: u64) -> Self {
        let message = format!("the body has {bytes} bytes, this broker takes {limit} at once; send smaller batches");
        ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", message)
    }

    /// 503, with the time after which to try again.
    fn wait(code: &'static str, message: impl Into<String>) -> Self {
        ApiError::new(StatusCode::SERVICE_UNAVAILABLE, code, message)
            .with(header::RETRY_AFTER, HeaderValue::from_static("1"))
    }

    fn with(mut self, name: header::HeaderName, value: HeaderValue) -> Self {
        self.header = Some((name, value));
        self
    }

    /// An error of this kind whose cause lies in the store.
    fn of_kind(kind: Kind, message: String) -> Self {
        match kind {
            Kind::FixRequest => ApiError::bad("bad_request", message),
            Kind::TryAgain | Kind::Wait => ApiError::wait("store_unavailable", message),
            Kind::TellHuman => ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "store_failed", message),
        }
    }

    pub fn into_answer(self) -> Answer {
        if self.status.is_server_error() {
            tracing::warn!(code = self.code, "{}", self.message);
        }
        let mut answer = answer::json(self.status, &Shape { code: self.code, error: &self.message });
        if let Some((name, value)) = self.header {
            answer.headers_mut().insert(name, value);
        }
        answer
    }
}

impl std::fmt::Display for ApiError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ApiError {}

impl From<BatchError> for ApiError {
    fn from(error: BatchError) -> Self {
        let status = match &error {
            BatchError::Limit { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            _ => StatusCode::BAD_REQUEST,
        };
        ApiError::new(status, error.code(), error.to_string())
    }
}

impl From<TopicError> for ApiError {
    fn from(error: TopicError) -> Self {
        let message = error.to_string();
        match error {
            TopicError::Name { .. } => ApiError::bad("topic_name", message),
            TopicError::NotFound { .. } => ApiError::new(StatusCode::NOT_FOUND, "topic_not_found", message),
            TopicError::TooMany { .. } => ApiError::new(StatusCode::INSUFFICIENT_STORAGE, "topics_too_many", message),
            TopicError::Store(error) => ApiError::of_kind(error.kind, message),
        }
    }
}

impl From<AppendError> for ApiError {
    fn from(error: AppendError) -> Self {
        let message = error.to_string();
        match error {
            AppendError::TooLarge { .. } => ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "append_too_large", message),
            AppendError::Busy => ApiError::wait("topic_busy", message),
            AppendError::Closed => ApiError::wait("shutting_down", message),
            AppendError::Failed { .. } => ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "topic_failed", message),
            AppendError::Store(error) => ApiError::of_kind(error.kind, message),
        }
    }
}

impl From<ReadError> for ApiError {
    fn from(error: ReadError) -> Self {
        let message = error.to_string();
        match error {
            ReadError::Deleted { .. } => ApiError::new(StatusCode::NOT_FOUND, "offset_out_of_bounds", message),
            ReadError::Damaged { .. } => ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "object_damaged", message),
            ReadError::Store(error) => ApiError::of_kind(error.kind, message),
        }
    }
}

impl From<PoolError> for ApiError {
    fn from(error: PoolError) -> Self {
        let message = error.to_string();
        match error {
            PoolError::Exhausted => ApiError::wait("buffers_exhausted", message),
            PoolError::TooLarge { .. } => ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", message),
        }
    }
}
