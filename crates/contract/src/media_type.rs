//! The media types of records, and the one rule by which a header's value names one.

use http::HeaderValue;

/// A form in which records travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaType {
    /// Batches as `docs/format.md` specifies them, as they are stored.
    Batch,
    /// Kafka's batches, version 2, as they are stored.
    RecordBatch,
    /// One record.
    Record,
    /// One record per line.
    Lines,
    /// A part with the records' sizes and a part with the records: the form of the original API.
    Multipart,
    /// An array of objects, one per record.
    Json,
}

impl MediaType {
    /// Its name, without parameters.
    pub const fn name(self) -> &'static str {
        match self {
            MediaType::Batch => "application/vnd.rawline.batch",
            MediaType::RecordBatch => "application/vnd.kafka.record-batch",
            MediaType::Record => "application/octet-stream",
            MediaType::Lines => "application/x-ndjson",
            MediaType::Multipart => "multipart/form-data",
            MediaType::Json => "application/json",
        }
    }

    /// Its name as a header's value.
    pub const fn header_value(self) -> HeaderValue {
        HeaderValue::from_static(self.name())
    }

    /// The media type that one element of a `Content-Type` or `Accept` header names. Parameters and letter case don't
    /// matter.
    pub fn parse(value: &str) -> Option<MediaType> {
        let name = essence(value);
        let batches = [MediaType::Batch, MediaType::RecordBatch];
        let records = [MediaType::Record, MediaType::Lines, MediaType::Multipart, MediaType::Json];
        let found = batches.into_iter().chain(records).find(|known| name.eq_ignore_ascii_case(known.name()));
        // The other name that is in use for lines of JSON.
        found.or_else(|| name.eq_ignore_ascii_case("application/jsonl").then_some(MediaType::Lines))
    }

    /// As [`MediaType::parse`] for `Accept`, where a range such as `*/*` means its default form.
    pub fn parse_range(value: &str) -> Option<MediaType> {
        match essence(value) {
            "*/*" => Some(MediaType::Multipart),
            name if name.eq_ignore_ascii_case("multipart/*") => Some(MediaType::Multipart),
            name if name.eq_ignore_ascii_case("application/*") => Some(MediaType::Json),
            name => MediaType::parse(name),
        }
    }
}

/// A media type without its parameters.
fn essence(value: &str) -> &str {
    value.split_once(';').map_or(value, |(essence, _parameters)| essence).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_any_case_and_with_parameters() {
        for (value, want) in [
            ("application/vnd.rawline.batch", Some(MediaType::Batch)),
            ("application/vnd.kafka.record-batch", Some(MediaType::RecordBatch)),
            ("Application/X-NDJSON; charset=utf-8", Some(MediaType::Lines)),
            ("application/jsonl", Some(MediaType::Lines)),
            (" multipart/form-data;boundary=x", Some(MediaType::Multipart)),
            ("application/json;q=0.9", Some(MediaType::Json)),
            ("application/octet-stream", Some(MediaType::Record)),
            ("text/html", None),
            ("*/*", None),
            ("", None),
        ] {
            assert_eq!(MediaType::parse(value), want, "{value}");
        }
    }

    #[test]
    fn a_range_stands_for_its_default() {
        assert_eq!(MediaType::parse_range("*/*;q=0.1"), Some(MediaType::Multipart));
        assert_eq!(MediaType::parse_range("Multipart/*"), Some(MediaType::Multipart));
        assert_eq!(MediaType::parse_range("application/*"), Some(MediaType::Json));
        assert_eq!(MediaType::parse_range("application/json"), Some(MediaType::Json));
        assert_eq!(MediaType::parse_range("image/*"), None);
    }
}
