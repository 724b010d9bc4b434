//! Regular expressions for whole names, as clients send them: their size is bounded.

use regex::{Regex, RegexBuilder};

/// Maximum size of a compiled expression in bytes.
const REGEX_BYTES_MAX: usize = 256 << 10;

/// An expression that matches whole names.
pub fn compile(regex: &str) -> Result<Regex, regex::Error> {
    let whole = format!("^(?:{regex})$");
    RegexBuilder::new(&whole).size_limit(REGEX_BYTES_MAX).dfa_size_limit(REGEX_BYTES_MAX).build()
}
