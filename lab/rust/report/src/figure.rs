//! One figure: a row's time or bytes in a setting.

use crate::line::Line;
use serde::Serialize;

/// A library used in one way, in one language, for one format.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Default)]
pub struct Row {
    /// `rust`, `java` or `python`.
    pub language: String,
    /// The wire format.
    pub format: String,
    /// The library.
    pub library: String,
    /// Empty if used as documented.
    pub variant: String,
}

impl Row {
    /// The library, and its variant if it has one.
    pub fn name(&self) -> String {
        if self.variant.is_empty() { self.library.clone() } else { format!("{}, {}", self.library, self.variant) }
    }

    /// Why the row can't be compared with the others in the operation; nothing if it does the same work.
    pub fn caveat(&self, operation: Operation) -> Option<&'static str> {
        match (self.format.as_str(), self.variant.as_str(), operation) {
            (_, "unchecked", _) => Some("trusts the bytes without checking them"),
            ("values" | "values-list", variant, _) if variant.contains("typed") => Some(
                "its object holds addresses, ports and times as such, where the other formats' hold strings and \
                 numbers",
            ),
            (_, "message kept" | "prebuilt", Operation::Encode) => {
                Some("the library's own message was built before the clock started")
            }
            (_, "message kept", Operation::Decode) => Some("fields stay in the library's message until they are read"),
            ("avro", "reused" | "generic-reused", Operation::Decode) => Some("the next message overwrites the object"),
            (_, variant, Operation::Decode) if variant.ends_with("borrowed") => {
                Some("strings are borrowed from the bytes")
            }
            _ => None,
        }
    }
}

/// The measured quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// From the message in memory to bytes.
    Encode,
    /// From bytes to a message with its own memory.
    Decode,
    /// From bytes to one field.
    Field,
    /// From bytes to each field once.
    Fields,
    /// Bytes a message.
    Bytes,
    /// Bytes a message, each compressed alone.
    BytesZstd,
    /// Bytes a message, each compressed alone with a dictionary.
    BytesZstdDictionary,
    /// Bytes a message, all compressed together.
    BytesZstdBatch,
}

impl Operation {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Operation; 8] = {
        use Operation::{Bytes, BytesZstd, BytesZstdBatch, BytesZstdDictionary, Decode, Encode, Field, Fields};
        [Encode, Decode, Field, Fields, Bytes, BytesZstd, BytesZstdDictionary, BytesZstdBatch]
    };

    /// The name in files and addresses.
    pub fn key(self) -> &'static str {
        self.names().0
    }

    /// The human-readable name.
    pub fn title(self) -> &'static str {
        self.names().1
    }

    fn names(self) -> (&'static str, &'static str) {
        match self {
            Operation::Encode => ("encode", "encode"),
            Operation::Decode => ("decode", "decode"),
            Operation::Field => ("field", "read one field"),
            Operation::Fields => ("fields", "read every field"),
            Operation::Bytes => ("bytes", "bytes a message"),
            Operation::BytesZstd => ("bytes-zstd", "bytes, each by zstd"),
            Operation::BytesZstdDictionary => ("bytes-zstd-dictionary", "bytes, each by zstd with a dictionary"),
            Operation::BytesZstdBatch => ("bytes-zstd-batch", "bytes, all together by zstd"),
        }
    }

    /// Whether its figures are nanoseconds, else they are bytes.
    pub fn is_time(self) -> bool {
        matches!(self, Operation::Encode | Operation::Decode | Operation::Field | Operation::Fields)
    }

    fn of_key(key: &str) -> Option<Operation> {
        Operation::ALL.into_iter().find(|operation| operation.key() == key)
    }
}

/// The machine of a figure.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Setting {
    /// Which messages.
    pub case: String,
    /// How large they are.
    pub size: String,
    /// `varied` or `one`.
    pub messages: String,
    /// The operation.
    pub operation: Operation,
    /// Threads at work at once.
    pub threads: u32,
}

/// A row's figure in a setting, in nanoseconds or bytes, with the ends of its interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    /// Whose.
    pub row: Row,
    /// The machine.
    pub setting: Setting,
    /// The library's version.
    pub version: String,
    /// The figure.
    pub value: f64,
    /// Lower end of the interval; the figure itself if nothing was said.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Bytes allocated an operation.
    pub alloc_bytes: Option<f64>,
    /// Whether it comes from a quick run.
    pub quick: bool,
}

/// The figures that a line holds: one for a timed operation, up to four for sizes. The error describes the problem with
/// the line.
pub fn figures_of(line: &Line) -> Result<Vec<Figure>, String> {
    for (what, text) in
        [("language", &line.language), ("format", &line.format), ("library", &line.library), ("case", &line.case)]
    {
        if text.is_empty() {
            return Err(format!("it has no {what}"));
        }
    }
    let row = Row {
        language: line.language.clone(),
        format: line.format.clone(),
        library: line.library.clone(),
        variant: line.variant.clone(),
    };
    let or = |text: &str, default: &str| if text.is_empty() { default.to_owned() } else { text.to_owned() };
    let figure = |operation, value: f64, low: f64, high: f64| Figure {
        row: row.clone(),
        setting: Setting {
            case: line.case.clone(),
            size: or(&line.size, "base"),
            messages: or(&line.messages, "varied"),
            operation,
            threads: line.threads.max(1),
        },
        version: line.version.clone(),
        value,
        low,
        high,
        alloc_bytes: line.alloc_bytes,
        quick: line.quick,
    };
    let usable = |value: f64| value.is_finite() && value > 0.0;
    if line.operation == "size" {
        let sizes = [
            (Operation::Bytes, line.bytes),
            (Operation::BytesZstd, line.bytes_zstd),
            (Operation::BytesZstdDictionary, line.bytes_zstd_dictionary),
            (Operation::BytesZstdBatch, line.bytes_zstd_batch),
        ];
        let mut figures = Vec::new();
        for (operation, bytes) in sizes {
            match bytes {
                Some(bytes) if usable(bytes) => figures.push(figure(operation, bytes, bytes, bytes)),
                Some(bytes) => return Err(format!("{bytes} is no size")),
                None => {}
            }
        }
        let measured = (!figures.is_empty()).then_some(figures);
        return measured.ok_or_else(|| "its operation is size, and it has no bytes".to_owned());
    }
    let operation = Operation::of_key(&line.operation)
        .filter(|operation| operation.is_time())
        .ok_or_else(|| format!("{:?} is no operation", line.operation))?;
    let Some(ns) = line.ns.filter(|ns| usable(*ns)) else { return Err("it has no ns above 0".to_owned()) };
    // Student's interval of few and scattered samples can begin below zero.
    let low = line.ns_low.filter(|low| low.is_finite() && *low <= ns).unwrap_or(ns).max(0.0);
    let high = line.ns_high.filter(|high| usable(*high) && *high >= ns).unwrap_or(ns);
    Ok(vec![figure(operation, ns, low, high)])
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_that_begins_below_zero_is_kept() {
        let line = Line {
            language: "java".to_owned(),
            format: "avro".to_owned(),
            library: "avro".to_owned(),
            case: "zeek".to_owned(),
            operation: "decode".to_owned(),
            ns: Some(392.0),
            ns_low: Some(-298.0),
            ns_high: Some(1081.0),
            ..Line::default()
        };
        let figure = figures_of(&line).unwrap().remove(0);
        assert_eq!((figure.low, figure.high), (0.0, 1081.0));
        assert_eq!(crate::text::spread(figure.value, figure.low, figure.high).as_deref(), Some("±176 %"));
    }
}
