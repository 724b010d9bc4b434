//! Headers of the frames that we send: whole messages, unmasked.

use tungstenite::protocol::frame::FrameHeader;
use tungstenite::protocol::frame::coding::{Data, OpCode};

/// The kind of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrameKind {
    /// UTF-8.
    Text,
    Binary,
}

impl FrameKind {
    /// Appends the header of a message of this many bytes.
    pub fn put_header(self, bytes: u64, out: &mut Vec<u8>) {
        let opcode = match self {
            FrameKind::Text => OpCode::Data(Data::Text),
            FrameKind::Binary => OpCode::Data(Data::Binary),
        };
        let header = FrameHeader { opcode, ..FrameHeader::default() };
        if let Err(error) = header.format(bytes, out) {
            unreachable!("memory takes every header: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6455, section 5.7.
    #[test]
    fn headers_are_those_of_the_specification() {
        let header = |kind: FrameKind, bytes| {
            let mut out = Vec::new();
            kind.put_header(bytes, &mut out);
            out
        };
        assert_eq!(header(FrameKind::Text, 5), [0x81, 5]);
        assert_eq!(header(FrameKind::Binary, 256), [0x82, 0x7e, 1, 0]);
        assert_eq!(header(FrameKind::Binary, 65_536), [0x82, 0x7f, 0, 0, 0, 0, 0, 1, 0, 0]);
    }
}
