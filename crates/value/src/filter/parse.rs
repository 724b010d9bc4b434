//! The text of a filter: `PATH OP VALUE and PATH OP VALUE`.

use super::literal::Literal;
use super::{CONDITIONS_MAX, Condition, FILTER_BYTES_MAX, Filter, Operator};
use std::str::FromStr;

/// The text isn't a filter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FilterError {
    /// Longer than [`FILTER_BYTES_MAX`].
    #[error("the filter has {bytes} bytes; at most {FILTER_BYTES_MAX}")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// More conditions than [`CONDITIONS_MAX`].
    #[error("the filter has more than {CONDITIONS_MAX} conditions; use fewer")]
    TooMany,
    /// A condition without a field.
    #[error("{text:?} names no field; write a condition as FIELD=VALUE, such as id.resp_p=53/udp")]
    NoField {
        /// The position.
        text: String,
    },
    /// A condition without an operator.
    #[error("{text:?} has no operator after the field; write one of = != < <= > >=, such as id.resp_p=53/udp")]
    NoOperator {
        /// The position.
        text: String,
    },
    /// A field's name without quotation marks that has spaces, as in `not a=1`.
    #[error("{path:?} has spaces; put a field's name that has some in quotation marks, and join conditions by \"and\"")]
    Spaces {
        /// The name.
        path: String,
    },
    /// A value without quotation marks that begins with an operator, as in `a==1`.
    #[error(
        "{value:?} begins with an operator, of which there are = != < <= > >=; put a value that does in quotation marks"
    )]
    Operator {
        /// The value.
        value: String,
    },
    /// A value without quotation marks with a word of other languages that joins conditions.
    #[error(
        "{value:?} contains {word:?}: conditions are joined by \"and\", and there are no others; put a value with this \
         word in quotation marks"
    )]
    Word {
        /// The value.
        value: String,
        /// The word.
        word: String,
    },
    /// Nothing to compare with.
    #[error("{path:?} has no value to compare with; write one after the operator, \"\" for an empty text")]
    NoValue {
        /// The field.
        path: String,
    },
    /// A quotation mark that isn't closed.
    #[error("{text:?} has no closing quotation mark; add it, and write \\\" and \\\\ within quotation marks")]
    Unclosed {
        /// From the opening one on.
        text: String,
    },
    /// Something other than `and` after a quoted value.
    #[error("{text:?} follows a value; join conditions by \"and\"")]
    NoAnd {
        /// The rest.
        text: String,
    },
}

/// Words that join or negate conditions in other languages, in any case. A filter with one would match nothing, without
/// a word.
const JOINING: [&str; 5] = ["and", "or", "not", "&&", "||"];

/// Longest first, where one is the beginning of another.
const OPERATORS: [(&str, Operator); 6] = [
    ("!=", Operator::NotEqual),
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("=", Operator::Equal),
    ("<", Operator::Less),
    (">", Operator::Greater),
];

impl FromStr for Filter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Filter, FilterError> {
        if text.len() > FILTER_BYTES_MAX {
            return Err(FilterError::TooLong { bytes: text.len() });
        }
        let mut conditions = Vec::new();
        let mut rest = text.trim_ascii_start();
        loop {
            if conditions.len() == CONDITIONS_MAX {
                return Err(FilterError::TooMany);
            }
            let (condition, after) = condition(rest)?;
            conditions.push(condition);
            match after {
                Some(after) => rest = after,
                None => return Ok(Filter { conditions }),
            }
        }
    }
}

/// The first condition, and the text after its `and`.
fn condition(text: &str) -> Result<(Condition, Option<&str>), FilterError> {
    let (path, rest) = match text.starts_with('"') {
        true => quoted(text)?,
        false => {
            let (path, rest) = text.split_at(text.find(['=', '!', '<', '>']).unwrap_or(text.len()));
            let path = path.trim_ascii_end();
            if path.contains(|space: char| space.is_ascii_whitespace()) && !rest.is_empty() {
                return Err(FilterError::Spaces { path: path.to_owned() });
            }
            (path.to_owned(), rest)
        }
    };
    if path.is_empty() {
        return Err(FilterError::NoField { text: text.to_owned() });
    }
    let rest = rest.trim_ascii_start();
    let found = OPERATORS.iter().find_map(|(sign, operator)| Some((*operator, rest.strip_prefix(sign)?)));
    let (operator, rest) = found.ok_or_else(|| FilterError::NoOperator { text: text.to_owned() })?;
    let rest = rest.trim_ascii_start();
    let (value, after) = if rest.starts_with('"') {
        let (value, after) = quoted(rest)?;
        (value, and(after)?)
    } else {
        let (value, after) = rest.split_once(" and ").map_or((rest, None), |(value, after)| (value, Some(after)));
        if value.trim_ascii().is_empty() {
            return Err(FilterError::NoValue { path });
        }
        (unquoted(value.trim_ascii())?, after.map(str::trim_ascii_start))
    };
    Ok((Condition { path, operator, literal: Literal::new(value) }, after))
}

/// A value without quotation marks. Text that is probably meant as a part of the filter needs them.
fn unquoted(value: &str) -> Result<String, FilterError> {
    if value.starts_with(['=', '!', '<', '>']) {
        return Err(FilterError::Operator { value: value.to_owned() });
    }
    let mut words = value.split_ascii_whitespace();
    match words.find(|word| JOINING.iter().any(|joining| joining.eq_ignore_ascii_case(word))) {
        // The value may be the word alone.
        Some(word) if word.len() < value.len() => {
            Err(FilterError::Word { value: value.to_owned(), word: word.to_owned() })
        }
        _ => Ok(value.to_owned()),
    }
}

/// The text after the `and` after a quoted value; `None` at the end.
fn and(text: &str) -> Result<Option<&str>, FilterError> {
    let rest = text.trim_ascii_start();
    if rest.is_empty() {
        return Ok(None);
    }
    let after = rest.strip_prefix("and ").filter(|_| rest.len() < text.len());
    after.map(|after| Some(after.trim_ascii_start())).ok_or_else(|| FilterError::NoAnd { text: text.to_owned() })
}

/// A text in quotation marks, and the rest.
fn quoted(text: &str) -> Result<(String, &str), FilterError> {
    let mut value = String::new();
    let mut rest = text.chars();
    rest.next();
    loop {
        match rest.next() {
            Some('"') => return Ok((value, rest.as_str())),
            Some('\\') => value.extend(rest.next()),
            Some(other) => value.push(other),
            None => return Err(FilterError::Unclosed { text: text.to_owned() }),
        }
    }
}
