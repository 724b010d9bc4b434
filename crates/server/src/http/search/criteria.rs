//! Which records a search looks for.

use crate::http::error::ApiError;
use rawline_batch::record_batch::Record;
use rawline_contract::{Payload, code};
use rawline_value::Filter;
use rawline_value::json::plain;
use regex::bytes::{Regex, RegexBuilder};

/// Maximum length of a text, a key or a regular expression in bytes: it is compared with every record.
const PATTERN_BYTES_MAX: usize = 4 << 10;

/// Maximum size of a compiled regular expression in bytes, and of the memory in which it is run.
const REGEX_BYTES_MAX: usize = 1 << 20;

/// A larger record is compared as it is: as structured value and as JSON, it would take memory outside the pool.
const FORM_BYTES_MAX: usize = 1 << 20;

/// First bytes of structured values that no JSON and hardly any text begins with: sets, tables and vectors.
const CONTAINERS: std::ops::RangeInclusive<u8> = 0x0c..=0x0e;

/// Conditions that a record must all fulfil; at least one.
#[derive(Debug, Default)]
pub(super) struct Criteria {
    /// Patterns that its value, its key or one of its headers contains.
    patterns: Vec<Regex>,
    /// Conditions on the fields of its value.
    filter: Option<Filter>,
    /// Its key.
    key: Option<Vec<u8>>,
}

impl Criteria {
    /// Adds a text that records contain, in upper or lower case.
    pub fn text(&mut self, text: &str) -> Result<(), ApiError> {
        let pattern =
            RegexBuilder::new(&regex::escape(text)).case_insensitive(true).size_limit(REGEX_BYTES_MAX).build();
        self.patterns.push(checked("text", text, pattern)?);
        Ok(())
    }

    /// Adds a regular expression.
    pub fn regex(&mut self, text: &str) -> Result<(), ApiError> {
        let pattern = RegexBuilder::new(text).size_limit(REGEX_BYTES_MAX).dfa_size_limit(REGEX_BYTES_MAX).build();
        self.patterns.push(checked("regex", text, pattern)?);
        Ok(())
    }

    /// Sets conditions on fields.
    pub fn filter(&mut self, text: &str) -> Result<(), ApiError> {
        self.filter = Some(text.parse::<Filter>().map_err(|error| invalid(format!("where: {error}")))?);
        Ok(())
    }

    /// Sets the key.
    pub fn key(&mut self, key: &str) -> Result<(), ApiError> {
        short("key", key)?;
        self.key = Some(key.as_bytes().to_vec());
        Ok(())
    }

    /// Whether there is no condition.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty() && self.filter.is_none() && self.key.is_none()
    }
}

fn short(name: &str, text: &str) -> Result<(), ApiError> {
    if text.len() <= PATTERN_BYTES_MAX {
        return Ok(());
    }
    Err(invalid(format!("{name} has {} bytes; at most {PATTERN_BYTES_MAX}", text.len())))
}

fn checked(name: &str, text: &str, pattern: Result<Regex, regex::Error>) -> Result<Regex, ApiError> {
    short(name, text)?;
    if text.is_empty() {
        return Err(invalid(format!("{name} is empty; leave it out, or give a text of at least one character")));
    }
    pattern.map_err(|error| invalid(format!("{name}: {error}")))
}

fn invalid(message: String) -> ApiError {
    ApiError::new(code::QUERY_INVALID, message)
}

/// Compares records with criteria, in memory that is used again for the next record.
pub(super) struct Matcher<'a> {
    criteria: &'a Criteria,
    payload: Payload,
    /// A structured value as JSON, or JSON as a structured value.
    other_form: Vec<u8>,
}

impl<'a> Matcher<'a> {
    pub fn new(criteria: &'a Criteria, payload: Payload) -> Matcher<'a> {
        Matcher { criteria, payload, other_form: Vec::new() }
    }

    /// Whether a record fulfils all criteria; `fields` are those of a record in a Kafka batch.
    pub fn matches(&mut self, bytes: &[u8], fields: Option<&Record<'_>>) -> bool {
        let key = fields.and_then(|fields| fields.key);
        let has_key = self.criteria.key.as_deref().is_none_or(|wanted| key == Some(wanted));
        has_key && self.fulfils_conditions(bytes) && self.contains_patterns(bytes, fields)
    }

    fn fulfils_conditions(&mut self, bytes: &[u8]) -> bool {
        let Some(filter) = &self.criteria.filter else { return true };
        let is_value = self.payload == Payload::Value || bytes.first().is_some_and(|first| CONTAINERS.contains(first));
        if is_value && filter.matches(bytes) {
            return true;
        }
        let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
        if !matches!(first, Some(b'{' | b'[')) || bytes.len() > FORM_BYTES_MAX {
            return false;
        }
        self.other_form.clear();
        plain::read(bytes, &mut self.other_form).is_ok() && filter.matches(&self.other_form)
    }

    fn contains_patterns(&mut self, bytes: &[u8], fields: Option<&Record<'_>>) -> bool {
        if self.criteria.patterns.is_empty() {
            return true;
        }
        // A reader sees JSON, in which numbers have digits.
        self.other_form.clear();
        let is_shown = self.payload == Payload::Value
            && bytes.len() <= FORM_BYTES_MAX
            && plain::write(bytes, &mut self.other_form).is_ok();
        let shown = if is_shown { &*self.other_form } else { bytes };
        self.criteria.patterns.iter().all(|pattern| {
            pattern.is_match(shown)
                || fields.is_some_and(|fields| {
                    let is_in = |part: Option<&[u8]>| part.is_some_and(|part| pattern.is_match(part));
                    is_in(fields.key)
                        || fields.headers.into_iter().any(|(name, value)| is_in(Some(name)) || is_in(value))
                })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(set: impl Fn(&mut Criteria) -> Result<(), ApiError>, payload: Payload, bytes: &[u8]) -> bool {
        let mut criteria = Criteria::default();
        set(&mut criteria).unwrap();
        Matcher::new(&criteria, payload).matches(bytes, None)
    }

    #[test]
    fn a_text_is_found_in_any_case_and_is_no_pattern() {
        let text = |text: &'static str, bytes: &[u8]| found(|all| all.text(text), Payload::Bytes, bytes);
        assert!(text("needle", b"a NEEDLE in \xff bytes"));
        assert!(text("ÄRGER", "der ärger".as_bytes()));
        assert!(text("a.b", b"a.b") && !text("a.b", b"axb"));
    }

    #[test]
    fn fields_of_json_and_of_structured_values_are_compared_alike() {
        let json = br#" {"id.resp_p": 53, "query": "example.com", "deep": {"list": [1, {"x": true}]}}"#;
        let mut value = Vec::new();
        plain::read(json, &mut value).unwrap();
        for (condition, is_found) in [
            ("id.resp_p=53", true),
            ("id.resp_p>=54", false),
            ("query=example.com and id.resp_p!=80", true),
            ("deep.list.1.x=T", true),
            ("missing=1", false),
        ] {
            for (payload, bytes) in
                [(Payload::Bytes, &json[..]), (Payload::Bytes, &value[..]), (Payload::Value, &value[..])]
            {
                assert_eq!(found(|all| all.filter(condition), payload, bytes), is_found, "{condition} {payload:?}");
            }
        }
        assert!(!found(|all| all.filter("a=1"), Payload::Bytes, b"{\"a\":1"), "no JSON");
        assert!(found(|all| all.text("\"id.resp_p\":53"), Payload::Value, &value), "as a reader sees it");
    }

    #[test]
    fn wrong_criteria_say_what_to_do() {
        let error =
            |set: fn(&mut Criteria) -> Result<(), ApiError>| set(&mut Criteria::default()).unwrap_err().to_string();
        assert!(error(|all| all.regex("a(")).contains("unclosed group"));
        assert!(error(|all| all.regex("(?:a{1000}){1000}")).contains("size limit"));
        assert!(error(|all| all.text("")).contains("at least one character"));
        assert!(error(|all| all.filter("a")).contains("where"));
        assert!(error(|all| all.key(&"x".repeat(5000))).contains("at most 4096"));
    }
}
