//! Why a text is no selector.

/// Longest selector that is read. The parser's work and its stack grow with the text.
pub const SELECTOR_BYTES_MAX: usize = 16 << 10;

/// Why a text is no selector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    /// PromQL's grammar does not have it.
    #[error("the selector can't be read: {message}{}", pointed(.selector, *.at))]
    Syntax {
        /// The whole text.
        selector: String,
        /// What is wrong.
        message: String,
        /// The byte where it goes wrong, if that is known.
        at: Option<usize>,
    },
    /// It is PromQL, but asks for more than series.
    #[error("{what} is more than a selector; {advice}")]
    NotSelector {
        /// What it is: a function, a range.
        what: &'static str,
        /// How to ask for it here.
        advice: &'static str,
    },
    /// It is longer than [`SELECTOR_BYTES_MAX`].
    #[error("the selector has {bytes} bytes, and {SELECTOR_BYTES_MAX} are the most; use a regex for many values")]
    TooLong {
        /// The text's length.
        bytes: usize,
    },
}

/// The selector with a mark below the place, on lines of their own.
fn pointed(selector: &str, at: Option<usize>) -> String {
    let Some(at) = at else { return format!("\n  {}", selector.escape_debug()) };
    // A mark stands right only if nothing before it is shown wider than it is.
    let (before, after) = selector.split_at_checked(at).unwrap_or((selector, ""));
    let shown = |text: &str| text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>();
    let (before, after) = (shown(before), shown(after));
    format!("\n  {before}{after}\n  {}^", " ".repeat(before.chars().count()))
}
