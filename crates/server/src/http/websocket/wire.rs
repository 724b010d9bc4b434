//! The bytes between the protocol library and the socket, in memory.

use bytes::{Buf, BytesMut};
use std::io::{self, Read, Write};

/// Bytes that have arrived and bytes that are to be sent.
#[derive(Debug, Default)]
pub(super) struct Wire {
    pub received: BytesMut,
    pub sent: BytesMut,
}

impl Read for Wire {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let count = room.len().min(self.received.len());
        let Some((room, _)) = room.split_at_mut_checked(count) else { return Ok(0) };
        if count == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.received.copy_to_slice(room);
        Ok(count)
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.sent.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
