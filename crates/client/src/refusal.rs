//! The error of a rejected request, with the broker's message.

use crate::error::ClientError;
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use rawline_contract::ErrorBody;
use rawline_contract::code::PRODUCER_FENCED;
use std::time::Duration;

/// The error for a response with an error status.
pub(crate) fn refused(status: StatusCode, headers: &HeaderMap, text: &[u8]) -> ClientError {
    let (code, message) = refusal(status, headers, text);
    if code == PRODUCER_FENCED.name {
        return ClientError::Fenced { message };
    }
    ClientError::Refused { status: status.as_u16(), code, message, retry_after: retry_after(headers) }
}

/// How long the broker asks to wait before the next attempt.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

/// The broker's code and message, or the status as text if there are none.
fn refusal(status: StatusCode, headers: &HeaderMap, text: &[u8]) -> (String, String) {
    if let Ok(ErrorBody { code, error }) = serde_json::from_slice(text) {
        return (code.into_owned(), error.into_owned());
    }
    let reason = status.canonical_reason().unwrap_or("unknown status");
    let is_plain = headers.get(CONTENT_TYPE).is_none_or(|value| value.as_bytes().starts_with(b"text/plain"));
    let message = match std::str::from_utf8(text) {
        Ok(words) if is_plain && !words.trim().is_empty() && words.len() <= 500 => words.trim().to_owned(),
        _ => reason.to_owned(),
    };
    (code_of_status(status), message)
}

/// The code of a response without one.
pub(crate) fn code_of_status(status: StatusCode) -> String {
    status.canonical_reason().unwrap_or("unknown status").to_lowercase().replace(' ', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_without_a_brokers_message_still_have_one() {
        let (code, message) = refusal(StatusCode::BAD_GATEWAY, &HeaderMap::new(), b"");
        assert_eq!((code.as_str(), message.as_str()), ("bad_gateway", "Bad Gateway"));
        let text = br#"{"code":"topic_not_found","error":"make it first"}"#;
        let (code, message) = refusal(StatusCode::NOT_FOUND, &HeaderMap::new(), text);
        assert_eq!((code.as_str(), message.as_str()), ("topic_not_found", "make it first"));
    }
}
