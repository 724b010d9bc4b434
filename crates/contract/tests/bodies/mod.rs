//! The body of the fuzzer.

#![allow(dead_code, clippy::unwrap_used)]

use rawline_contract::subscription::{ControlMessage, Cursor, Delivery, DeliveryKind, Selection, put_selection};

/// Any bytes, as a message of a subscription, as a control message and as a cursor: nothing panics, and what is read is
/// written as the same bytes.
pub fn message(input: &[u8]) {
    if let Ok((head, content)) = Delivery::parse(input) {
        let mut written = Vec::new();
        head.put(&mut written);
        written.extend_from_slice(content);
        assert_eq!(written, input);
        if head.kind == DeliveryKind::Selection
            && let Ok(selection) = Selection::parse(&head, content)
        {
            let entries: Vec<_> = (0..selection.count()).map(|index| selection.entry(index).unwrap()).collect();
            let mut written = Vec::new();
            put_selection(&entries, &mut written);
            written.extend_from_slice(selection.data());
            assert_eq!(written, content);
        }
    }
    let Ok(text) = str::from_utf8(input) else { return };
    if let Ok(cursor) = text.parse::<Cursor>() {
        assert_eq!(cursor.to_string().parse::<Cursor>().unwrap(), cursor);
    }
    if let Ok(message) = serde_json::from_str::<ControlMessage<'_>>(text) {
        let again = serde_json::to_string(&message).unwrap();
        assert!(again.starts_with("{\"type\":"), "{again}");
    }
}
