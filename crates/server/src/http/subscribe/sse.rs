//! The text of server-sent events.

use super::cursor::Around;
use crate::http::render::RecordJson;
use std::io::{self, Write};

/// An id that is longer follows groups of events instead of being a part of each.
const ID_BYTES_MAX: usize = 256;

/// Maximum number of digits of an offset.
const DIGITS_MAX: usize = 20;

/// The beginning of a stream: the browser's wait before it reconnects, and the cursor at which it continues.
pub(super) fn begin(cursor: Option<&str>) -> String {
    format!("retry: 1000\n\n{}", cursor.map_or(String::new(), id))
}

/// An event without data: only the cursor counts.
pub(super) fn id(cursor: &str) -> String {
    format!("id: {cursor}\n\n")
}

/// A comment, so that the connection isn't silent.
pub(super) const KEEP_ALIVE: &str = ": keep-alive\n\n";

/// The common parts of the events of one group.
pub(super) struct Group {
    around: Option<Around>,
    /// The beginning of the data.
    data: String,
}

impl Group {
    /// Of the records of a partition; `around` is the cursor.
    pub fn new(topic: &str, partition: u32, around: Option<Around>) -> Group {
        // A topic's name has no character that JSON escapes.
        let data = format!("data: {{\"topic\":\"{topic}\",\"partition\":{partition}");
        let is_short = |around: &Around| around.before.len() + around.after.len() + DIGITS_MAX <= ID_BYTES_MAX;
        Group { around: around.filter(is_short), data }
    }

    /// Whether each event has the cursor.
    pub fn has_ids(&self) -> bool {
        self.around.is_some()
    }

    /// Maximum size of an event without its record's JSON in bytes.
    pub fn bytes(&self) -> usize {
        let id = |around: &Around| "id: \n".len() + around.before.len() + around.after.len() + DIGITS_MAX;
        self.around.as_ref().map_or(0, id) + self.data.len() + "\n\n".len()
    }

    /// Writes the event of a record; the cursor continues at `next_offset`.
    pub fn event(&self, out: &mut impl Write, next_offset: u64, record: &RecordJson<'_>) -> io::Result<()> {
        if let Some(Around { before, after }) = &self.around {
            out.write_all(b"id: ")?;
            out.write_all(before.as_bytes())?;
            write!(out, "{next_offset}")?;
            out.write_all(after.as_bytes())?;
            out.write_all(b"\n")?;
        }
        out.write_all(self.data.as_bytes())?;
        record.write(&mut Members { out, is_first: true })?;
        out.write_all(b"\n\n")
    }
}

/// Writes the members of an object after others: a comma in the place of its opening brace.
struct Members<'a, W> {
    out: &'a mut W,
    is_first: bool,
}

impl<W: Write> Write for Members<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let (true, Some((first, rest))) = (self.is_first, bytes.split_first()) {
            assert_eq!(*first, b'{', "a record as JSON is an object");
            self.is_first = false;
            self.out.write_all(b",")?;
            return self.out.write_all(rest).map(|()| bytes.len());
        }
        self.out.write_all(bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rawline_contract::Payload;

    fn event(around: Option<Around>) -> String {
        let mut out = Vec::new();
        let group = Group::new("dns", 0, around);
        let record = RecordJson { offset: 16, time: "T", bytes: b"a", payload: Payload::Bytes, fields: None };
        group.event(&mut out, 17, &record).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn an_event_is_an_id_and_a_line_of_json() {
        let data = "data: {\"topic\":\"dns\",\"partition\":0,\"offset\":16,\"time\":\"T\",\"record\":\"a\"}\n\n";
        let around = |length| Around { before: "1;dns/0=".into(), after: ",".repeat(length) };
        assert_eq!(event(Some(around(3))), format!("id: 1;dns/0=17,,,\n{data}"));
        assert_eq!(event(Some(around(250))), data, "the id is too long");
        assert_eq!(event(None), data);
        assert_eq!(begin(Some("1")), "retry: 1000\n\nid: 1\n\n");
        assert_eq!(begin(None), "retry: 1000\n\n");
    }
}
