//! The published comparison's figures, as data: `lab/report/article.json`.

use serde::Deserialize;
use std::path::Path;

/// The published figures, and how they were measured.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Article {
    /// Where it comes from.
    pub source: String,
    /// How the figures were had.
    pub run: String,
    /// Its figures.
    pub rows: Vec<ArticleRow>,
}

/// One library's figures for one message, all in Java on one thread.
#[derive(Debug, Clone, Deserialize)]
pub struct ArticleRow {
    /// Our name of the message.
    pub case: String,
    /// Our name of the format.
    pub format: String,
    /// Our library that it is compared with: the begin of its name.
    pub counterpart: String,
    /// Its library.
    pub library: String,
    /// Its version.
    pub version: String,
    /// Bytes of the message.
    pub bytes: f64,
    /// Messages a millisecond, and half the interval.
    pub encode_per_ms: [f64; 2],
    /// Messages a millisecond, and half the interval.
    pub decode_per_ms: [f64; 2],
    /// Bytes allocated.
    pub encode_alloc_bytes: f64,
    /// Bytes allocated.
    pub decode_alloc_bytes: f64,
}

impl Article {
    /// The file's figures; none without the file.
    pub fn read(path: &Path) -> Result<Article, String> {
        match std::fs::read(path) {
            Ok(json) => serde_json::from_slice(&json).map_err(|error| format!("{}: {error}", path.display())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Article::default()),
            Err(error) => Err(format!("{}: {error}", path.display())),
        }
    }
}
