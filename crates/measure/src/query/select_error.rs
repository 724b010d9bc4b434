//! Errors of selectors.

/// Maximum length of a selector in bytes. The parser's work and its stack grow with the text.
pub const SELECTOR_BYTES_MAX: usize = 16 << 10;

/// Reasons why a text is not a selector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    /// It doesn't follow PromQL's grammar.
    #[error("cannot parse the selector: {message}{}", pointed(.selector, *.at))]
    Syntax {
        /// The whole text.
        selector: String,
        /// The reason.
        message: String,
        /// Position of the first wrong byte, if it is known.
        at: Option<usize>,
    },
    /// It is PromQL, but more than a selector.
    #[error("{what}")]
    NotSelector {
        /// The unsupported content.
        what: Beyond,
    },
    /// Its regular expressions are too large.
    #[error("a regular expression of the selector is too large; use a shorter one")]
    Regex,
    /// It is longer than [`SELECTOR_BYTES_MAX`].
    #[error("the selector has {bytes} bytes, the maximum is {SELECTOR_BYTES_MAX}; use a regex for many values")]
    TooLong {
        /// The text's length.
        bytes: usize,
    },
}

/// The selector and a mark below the position, on separate lines.
fn pointed(selector: &str, at: Option<usize>) -> String {
    let Some(at) = at else { return format!("\n  {}", selector.escape_debug()) };
    // The mark is at the right position only if no character before it is wider than one column.
    let (before, after) = selector.split_at_checked(at).unwrap_or((selector, ""));
    let shown = |text: &str| text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>();
    let (before, after) = (shown(before), shown(after));
    format!("\n  {before}{after}\n  {}^", " ".repeat(before.chars().count()))
}

/// Parts of PromQL beyond selectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Beyond {
    /// A function such as `rate(…)`.
    #[error("a selector can't contain a function")]
    Function,
    /// An aggregation such as `sum by (az) (…)`.
    #[error("a selector can't contain an aggregation")]
    Aggregation,
    /// A range such as `[5m]`.
    #[error("a selector can't contain a range in brackets")]
    Range,
    /// `offset` or `@`.
    #[error("a selector can't contain a time (offset or @)")]
    Time,
    /// An operator.
    #[error("a selector can't contain arithmetic; quote a metric that contains operators: {{\"cpu-load\"}}")]
    Arithmetic,
    /// Parentheses.
    #[error("a selector can't contain parentheses; remove them")]
    Parentheses,
    /// A number or a string.
    #[error(
        "a number or a string is not a selector; write a metric, tags in braces, or both: cpu{{server=~\"sgp.*\"}}"
    )]
    Literal,
}
