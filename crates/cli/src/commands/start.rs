//! Where a consumer starts, as a flag.

use rawline_client::Start;

/// Reads where to start: an offset, earliest or latest.
pub fn parse_start(text: &str) -> Result<Start, String> {
    match text {
        "earliest" => Ok(Start::Earliest),
        "latest" => Ok(Start::Latest),
        _ => text.parse().map(Start::Offset).map_err(|_| "give an offset, earliest or latest".to_owned()),
    }
}
