//! zstd's frames (RFC 8878). Java's clients write frames that don't say how long their content is.

use super::output::{Misfit, Output, wrong};
use crate::record_batch::{RecordCodec, RecordError};
use zstd::zstd_safe::zstd_sys::ZSTD_ErrorCode;
use zstd::zstd_safe::{
    DCtx, DParameter, InBuffer, OutBuffer, find_frame_compressed_size, get_error_name, get_frame_content_size,
};

/// Frames with a window of up to 2^23 bytes are unpacked piece by piece: the window that the RFC asks every reader to
/// support, and that of every level up to 19.
const WINDOW_LOG_MAX: u32 = 23;

/// The base from which error codes are counted down.
const TOO_SMALL: usize = (ZSTD_ErrorCode::ZSTD_error_dstSize_tooSmall as usize).wrapping_neg();

pub(super) fn unpack(mut section: &[u8], to: &mut Output<'_>) -> Result<(), RecordError> {
    let Some(mut context) = DCtx::try_create() else { return Err(to.wrong("no memory for it")) };
    context.set_parameter(DParameter::WindowLogMax(WINDOW_LOG_MAX)).map_err(reason)?;
    while !section.is_empty() {
        let frame_bytes = find_frame_compressed_size(section).map_err(reason)?;
        let Some((frame, rest)) = section.split_at_checked(frame_bytes).filter(|_| frame_bytes > 0) else {
            return Err(to.wrong("a frame is truncated"));
        };
        // The content of a skippable frame (section 3.1.2) isn't for readers: the library makes it empty.
        unpack_frame(&mut context, frame, to)?;
        section = rest;
    }
    Ok(())
}

fn unpack_frame(context: &mut DCtx<'_>, frame: &[u8], to: &mut Output<'_>) -> Result<(), RecordError> {
    match get_frame_content_size(frame) {
        Err(_) => Err(to.wrong("a frame's header is damaged")),
        Ok(Some(content_bytes)) => {
            let room = to.claim(content_bytes)?;
            to.append(room, |_, free| context.decompress(free, frame)).map(|_| ()).map_err(reason)
        }
        // In one piece, the output is the window.
        Ok(None) if window_bytes(frame) > 1 << WINDOW_LOG_MAX => {
            let fill = |_: &[u8], free: &mut [u8]| {
                context.decompress(free, frame).map_err(|code| match code {
                    TOO_SMALL => Misfit::TooSmall,
                    _ => Misfit::Wrong(reason(code)),
                })
            };
            to.append_part(frame.len().saturating_mul(4), usize::MAX, fill).map(|_| ())
        }
        Ok(None) => {
            let mut input = InBuffer::around(frame);
            to.append_until_end(|free| {
                let mut output = OutBuffer::around(free);
                let hint = context.decompress_stream(&mut output, &mut input).map_err(reason)?;
                let written = output.pos();
                if hint != 0 && written == 0 && input.pos() == frame.len() {
                    return Err(wrong(RecordCodec::Zstd, "a frame is truncated"));
                }
                Ok((written, hint == 0))
            })
        }
    }
}

/// How far back a frame refers that doesn't say how long its content is (section 3.1.1.1.2).
fn window_bytes(frame: &[u8]) -> u64 {
    // The magic has four bytes, the descriptor one.
    let Some(&window) = frame.get(5) else { return 0 };
    let base = 1 << (10 + (window >> 3));
    base + base / 8 * u64::from(window & 7)
}

fn reason(code: usize) -> RecordError {
    wrong(RecordCodec::Zstd, get_error_name(code))
}
