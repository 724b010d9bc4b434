//! Why a request to a bucket failed.
//!
//! `object_store` returns some HTTP statuses as variants of its error and transport errors as [`HttpError`] in the
//! chain of sources. Other statuses it keeps in a private type: they are read off its text, in [`Reply::of`] and
//! nowhere else. What the service itself says is its error code, for machines.

use object_store::client::{HttpError, HttpErrorKind};
use std::error::Error;
use std::time::Duration;

/// Why one request failed.
#[derive(Debug)]
pub(super) enum Failed {
    /// The object to be created exists, or another request is creating it right now.
    Exists {
        in_progress: bool,
    },
    /// The object or the bucket doesn't exist.
    Missing(Reply),
    Denied(Reply),
    /// It would fail again.
    ForGood(Reply),
    /// A retry may succeed.
    Passing(Reply),
    TimedOut,
}

/// The details of a failed request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Reply {
    /// For the log.
    pub text: String,
    /// HTTP status, if there was a response.
    pub status: Option<u16>,
    /// The service's error code, if the response has one.
    pub code: Option<String>,
    /// For how long the request was retried, if it was.
    pub retried: Option<Duration>,
}

impl Reply {
    pub(super) fn new(text: impl Into<String>) -> Reply {
        Reply { text: text.into(), ..Reply::default() }
    }

    /// The details of an `object_store` error.
    pub(super) fn of(error: &object_store::Error) -> Reply {
        use object_store::Error as E;
        let text = error_chain(error);
        let status = match error {
            E::NotFound { .. } => Some(404),
            E::Precondition { .. } => Some(412),
            E::NotModified { .. } => Some(304),
            E::PermissionDenied { .. } => Some(403),
            E::Unauthenticated { .. } => Some(401),
            _ if text.contains("redirect without LOCATION") => Some(301),
            _ => after(&text, "non-2xx status code: ").and_then(|rest| rest.get(..3)?.parse().ok()),
        };
        let code = after(&text, "<Code>").and_then(|rest| rest.split_once("</Code>"));
        let code = code.or_else(|| after(&text, "(code: ").and_then(|rest| rest.split_once(')')));
        let code = code.map(|(code, _)| code.to_owned());
        Reply { text, status, code, retried: None }
    }

    pub(super) fn has_code(&self, codes: &[&str]) -> bool {
        self.code.as_deref().is_some_and(|code| codes.contains(&code))
    }

    /// The code and the sentence of the service's response, if there is one, without what `object_store` and XML add.
    pub(super) fn short(&self) -> String {
        let message = after(&self.text, "<Message>").and_then(|rest| rest.split_once("</Message>"));
        match (&self.code, message) {
            (Some(code), Some((message, _))) => format!("{code}: {message}"),
            _ => self.text.clone(),
        }
    }
}

fn after<'a>(text: &'a str, start: &str) -> Option<&'a str> {
    text.split_once(start).map(|(_, rest)| rest)
}

impl Failed {
    pub(super) fn reply(&self) -> Reply {
        match self {
            Failed::Exists { .. } => Reply::new("other requests are creating it, again and again"),
            Failed::Missing(reply) | Failed::Denied(reply) | Failed::ForGood(reply) | Failed::Passing(reply) => {
                reply.clone()
            }
            Failed::TimedOut => Reply::new("no response in time"),
        }
    }

    pub(super) fn is_passing(&self) -> bool {
        matches!(self, Failed::Exists { .. } | Failed::Passing(_) | Failed::TimedOut)
    }

    pub(super) fn is_missing_object(&self) -> bool {
        matches!(self, Failed::Missing(reply) if reply.code.is_none() || reply.has_code(&["NoSuchKey", "BlobNotFound"]))
    }

    /// Services respond like this to a request for the first bytes of an object that has none.
    pub(super) fn is_empty_object(&self) -> bool {
        matches!(self, Failed::ForGood(reply) if reply.status == Some(416) || reply.has_code(&["InvalidRange"]))
    }
}

impl From<object_store::Error> for Failed {
    fn from(error: object_store::Error) -> Failed {
        use object_store::Error as E;
        let reply = Reply::of(&error);
        match &error {
            // `object_store` returns this for 412, from S3 with a precondition inside, and for 409. That is Azure's
            // response where an object exists; S3 says that another request is creating it and may yet fail.
            E::AlreadyExists { source, .. } => {
                let inner = source.downcast_ref::<E>();
                let is_there = reply.status == Some(412)
                    || reply.has_code(&["BlobAlreadyExists"])
                    || inner.is_some_and(|inner| matches!(inner, E::Precondition { .. } | E::NotModified { .. }));
                Failed::Exists { in_progress: !is_there }
            }
            E::NotFound { .. } => Failed::Missing(reply),
            E::PermissionDenied { .. } | E::Unauthenticated { .. } => Failed::Denied(reply),
            E::Generic { .. } => match (transport(&error), reply.status) {
                (Some(_), _) | (None, Some(408 | 429)) => Failed::Passing(reply),
                (None, Some(300..=499 | 501)) => Failed::ForGood(reply),
                (None, _) => Failed::Passing(reply),
            },
            _ => Failed::ForGood(reply),
        }
    }
}

/// The kind of a transport error: connecting, sending or receiving failed.
fn transport(error: &object_store::Error) -> Option<HttpErrorKind> {
    let mut cause = error.source();
    while let Some(inner) = cause {
        if let Some(http) = inner.downcast_ref::<HttpError>() {
            return Some(http.kind());
        }
        cause = inner.source();
    }
    None
}

/// An error with the causes that its text doesn't contain yet.
pub(super) fn error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text.push_str(": ");
            text.push_str(&inner_text);
        }
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    fn generic(source: impl Into<Box<dyn Error + Send + Sync>>) -> object_store::Error {
        object_store::Error::Generic { store: "S3", source: source.into() }
    }

    fn status(status: &str) -> Failed {
        Failed::from(generic(format!("Server returned non-2xx status code: {status}: <Error><Code>Why</Code></Error>")))
    }

    #[test]
    fn statuses_decide_what_passes() {
        for passing in ["408 Request Timeout", "429 Too Many Requests", "500 Internal Server Error", "503 Slow Down"] {
            assert!(status(passing).is_passing(), "{passing}");
        }
        for for_good in
            ["400 Bad Request", "405 Method Not Allowed", "416 Range Not Satisfiable", "501 Not Implemented"]
        {
            assert!(!status(for_good).is_passing(), "{for_good}");
        }
        assert!(status("416 Range Not Satisfiable").is_empty_object());
        assert!(status("400 Bad Request").reply().has_code(&["Other", "Why"]));
    }

    #[test]
    fn transport_errors_pass_whatever_their_text_says() {
        let inner = io::Error::other("non-2xx status code: 400");
        let failed = Failed::from(generic(HttpError::new(HttpErrorKind::Connect, inner)));
        assert!(failed.is_passing(), "{failed:?}");
    }

    #[test]
    fn a_missing_bucket_is_not_a_missing_object() {
        let missing = |source: &str| object_store::Error::NotFound { path: "k".to_owned(), source: source.into() };
        assert!(Failed::from(missing("<Code>NoSuchKey</Code>")).is_missing_object());
        assert!(Failed::from(missing("no body")).is_missing_object());
        assert!(!Failed::from(missing("<Code>NoSuchBucket</Code>")).is_missing_object());
    }
}
