//! The form of a response: the first in `Accept` that records can be returned in.

use crate::http::error::ApiError;
use http::{HeaderMap, header};
use rawline_contract::{MediaType, code};

/// The form in which a response returns records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResponseForm {
    /// Batches as `docs/format.md` specifies them.
    Batch,
    /// Kafka's batches.
    RecordBatch,
    /// Batches of either kind, as they are stored.
    Stored,
    /// Sizes and records: the form of the original API, and the default.
    Multipart,
    /// One record per line.
    Lines,
    /// An array of objects.
    Json,
}

impl ResponseForm {
    /// Whether it returns batches.
    pub fn is_batches(self) -> bool {
        matches!(self, ResponseForm::Batch | ResponseForm::RecordBatch | ResponseForm::Stored)
    }

    /// The first form of the `Accept` header that is known; both kinds of batches if both are named, one as the first.
    pub fn of(headers: &HeaderMap) -> Result<ResponseForm, ApiError> {
        let form = ResponseForm::first_of(headers)?;
        let other = match form {
            ResponseForm::Batch => MediaType::RecordBatch,
            ResponseForm::RecordBatch => MediaType::Batch,
            _ => return Ok(form),
        };
        let values = headers.get_all(header::ACCEPT).into_iter().filter_map(|value| value.to_str().ok());
        let names_other = values.flat_map(|value| value.split(',')).any(|name| MediaType::parse(name) == Some(other));
        Ok(if names_other { ResponseForm::Stored } else { form })
    }

    fn first_of(headers: &HeaderMap) -> Result<ResponseForm, ApiError> {
        let mut is_any = true;
        for value in headers.get_all(header::ACCEPT) {
            is_any = false;
            let value = value.to_str().map_err(|_| not_acceptable("the header is not text"))?;
            for media_range in value.split(',') {
                match MediaType::parse_range(media_range) {
                    Some(MediaType::Batch) => return Ok(ResponseForm::Batch),
                    Some(MediaType::RecordBatch) => return Ok(ResponseForm::RecordBatch),
                    Some(MediaType::Multipart) => return Ok(ResponseForm::Multipart),
                    Some(MediaType::Lines) => return Ok(ResponseForm::Lines),
                    Some(MediaType::Json) => return Ok(ResponseForm::Json),
                    // One record is a form of requests only; `GET /record` always returns it.
                    Some(MediaType::Record) => {}
                    None => is_any |= media_range.trim().is_empty(),
                }
            }
        }
        if is_any { Ok(ResponseForm::Multipart) } else { Err(not_acceptable("it names no known form")) }
    }
}

fn not_acceptable(why: &str) -> ApiError {
    let [batch, record_batch] = [MediaType::Batch, MediaType::RecordBatch].map(MediaType::name);
    let [multipart, lines, json] = [MediaType::Multipart, MediaType::Lines, MediaType::Json].map(MediaType::name);
    let message = format!(
        "can't respond as the Accept header asks: {why}; accept {batch}, {record_batch}, {multipart}, {lines} or {json}"
    );
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
        assert_eq!(of("application/vnd.kafka.record-batch, */*"), Some(ResponseForm::RecordBatch));
        let both = "application/vnd.kafka.record-batch,application/vnd.rawline.batch";
        assert_eq!(of(both), Some(ResponseForm::Stored));
        assert_eq!(of("application/json, application/vnd.kafka.record-batch"), Some(ResponseForm::Json));
        assert_eq!(of("Application/X-NDJSON"), Some(ResponseForm::Lines));
        assert_eq!(of("text/html"), None);
        assert_eq!(of("application/octet-stream"), None);
    }
}
