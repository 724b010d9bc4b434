//! The form of a response: the first in `Accept` that records can be returned in.

use crate::http::error::ApiError;
use http::{HeaderMap, header};
use rawline_contract::{MediaType, code};

/// The form in which a response returns records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResponseForm {
    /// Batches as they are stored.
    Batch,
    /// Sizes and records: the form of the original API, and the default.
    Multipart,
    /// One record per line.
    Lines,
    /// An array of objects.
    Json,
}

impl ResponseForm {
    /// The first form of the `Accept` header that is known.
    pub fn of(headers: &HeaderMap) -> Result<ResponseForm, ApiError> {
        let mut is_any = true;
        for value in headers.get_all(header::ACCEPT) {
            is_any = false;
            let value = value.to_str().map_err(|_| not_acceptable("the header is not text"))?;
            for media_range in value.split(',') {
                match MediaType::parse_range(media_range) {
                    Some(MediaType::Batch) => return Ok(ResponseForm::Batch),
                    Some(MediaType::Multipart) => return Ok(ResponseForm::Multipart),
                    Some(MediaType::Lines) => return Ok(ResponseForm::Lines),
                    Some(MediaType::Json) => return Ok(ResponseForm::Json),
                    // One record is a form of requests only; `GET /record` returns it without being asked.
                    Some(MediaType::Record) => {}
                    None => is_any |= media_range.trim().is_empty(),
                }
            }
        }
        if is_any { Ok(ResponseForm::Multipart) } else { Err(not_acceptable("it names no known form")) }
    }
}

fn not_acceptable(why: &str) -> ApiError {
    let [batch, multipart, lines, json] =
        [MediaType::Batch, MediaType::Multipart, MediaType::Lines, MediaType::Json].map(MediaType::name);
    let message =
        format!("can't respond as the Accept header asks: {why}; accept {batch}, {multipart}, {lines} or {json}");
    ApiError::new(code::NOT_ACCEPTABLE, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_known_form_counts() {
        let of = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, value.parse().unwrap());
            ResponseForm::of(&headers).ok()
        };
        assert_eq!(ResponseForm::of(&HeaderMap::new()).ok(), Some(ResponseForm::Multipart));
        assert_eq!(of("*/*"), Some(ResponseForm::Multipart));
        assert_eq!(of(""), Some(ResponseForm::Multipart));
        assert_eq!(of("text/html, application/json;q=0.9"), Some(ResponseForm::Json));
        assert_eq!(of("application/vnd.rawline.batch"), Some(ResponseForm::Batch));
        assert_eq!(of("Application/X-NDJSON"), Some(ResponseForm::Lines));
        assert_eq!(of("text/html"), None);
        assert_eq!(of("application/octet-stream"), None);
    }
}
