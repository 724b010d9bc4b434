//! Which form of an answer a request accepts.

use crate::http::append::BATCH;
use crate::http::error::ApiError;
use http::{HeaderMap, StatusCode, header};

/// The forms in which records are given out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Batches as they are stored.
    Batch,
    /// The original's: sizes and records. Also what a request gets that names no form.
    Multipart,
    /// A record a line.
    Lines,
    /// An array of objects.
    Json,
}

/// The first form of the `Accept` header that is known here.
pub(crate) fn form(headers: &HeaderMap) -> Result<Form, ApiError> {
    let mut is_any = true;
    for value in headers.get_all(header::ACCEPT) {
        is_any = false;
        let value = value.to_str().map_err(|_| not_acceptable("it is not text"))?;
        for media_range in value.split(',') {
            let media_range = media_range.split(';').next().unwrap_or_default().trim();
            match media_range.to_ascii_lowercase().as_str() {
                BATCH => return Ok(Form::Batch),
                "multipart/form-data" | "multipart/*" | "*/*" => return Ok(Form::Multipart),
                "application/x-ndjson" | "application/jsonl" => return Ok(Form::Lines),
                "application/json" | "application/*" => return Ok(Form::Json),
                "" => is_any = true,
                _ => {}
            }
        }
    }
    if is_any { Ok(Form::Multipart) } else { Err(not_acceptable("it names none of the forms there are")) }
}

fn not_acceptable(why: &str) -> ApiError {
    let message = format!(
        "the Accept header can't be met: {why}; there are {BATCH}, multipart/form-data, application/x-ndjson and \
         application/json"
    );
    ApiError::new(StatusCode::NOT_ACCEPTABLE, "not_acceptable", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_known_form_counts() {
        let of = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, value.parse().unwrap());
            form(&headers).ok()
        };
        assert_eq!(form(&HeaderMap::new()).ok(), Some(Form::Multipart));
        assert_eq!(of("*/*"), Some(Form::Multipart));
        assert_eq!(of("text/html, application/json;q=0.9"), Some(Form::Json));
        assert_eq!(of("application/vnd.rawline.batch"), Some(Form::Batch));
        assert_eq!(of("Application/X-NDJSON"), Some(Form::Lines));
        assert_eq!(of("text/html"), None);
    }
}
