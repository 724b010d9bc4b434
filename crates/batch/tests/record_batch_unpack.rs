//! Compressed RecordBatches: every codec and framing, damaged ones, and ones that decompress to too many bytes.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod bodies;

use bodies::record_batch::{CODECS, HEADERS, walk};
use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
use rawline_batch::Limits;
use rawline_batch::record_batch::{
    RECORD_BATCH_HEADER_BYTES, RecordBatchBuilder, RecordBatchChecker, RecordCodec, RecordError, Records, unpack,
};
use std::io::Write;

const LIMIT: u32 = 1 << 20;

/// Text with repetitions far apart, so that blocks refer to those before.
fn text(bytes: usize) -> Vec<u8> {
    let line =
        |n: usize| format!("{{\"event\":{},\"kind\":\"reading\",\"ok\":{}}}\n", n * n % 7919, n.is_multiple_of(3));
    (0..).flat_map(|n| line(n).into_bytes()).take(bytes).collect()
}

fn gzip(raw: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(raw).unwrap();
    encoder.finish().unwrap()
}

fn snappy(raw: &[u8]) -> Vec<u8> {
    snap::raw::Encoder::new().compress_vec(raw).unwrap()
}

fn xerial(blocks: &[Vec<u8>]) -> Vec<u8> {
    let mut framed = b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01".to_vec();
    for block in blocks {
        framed.extend((block.len() as u32).to_be_bytes());
        framed.extend(block);
    }
    framed
}

fn lz4(raw: &[u8], info: FrameInfo) -> Vec<u8> {
    let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(raw).unwrap();
    encoder.finish().unwrap()
}

fn lz4_plain(raw: &[u8]) -> Vec<u8> {
    lz4(raw, FrameInfo::new().block_size(BlockSize::Max64KB))
}

/// A frame that doesn't say how long its content is, as Java's clients write it.
fn zstd_streamed(raw: &[u8], window_log: u32) -> Vec<u8> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
    encoder.window_log(window_log).unwrap();
    encoder.write_all(raw).unwrap();
    encoder.finish().unwrap()
}

fn zstd_sized(raw: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(raw, 3).unwrap()
}

fn unpacked(codec: RecordCodec, section: &[u8], limit: u32) -> Result<Vec<u8>, RecordError> {
    let mut out = Vec::new();
    let found = unpack(codec, section, limit, &mut out).map(<[u8]>::to_vec);
    assert!(out.capacity() <= limit as usize + 1, "{codec}: {} bytes for {limit}", out.capacity());
    found
}

/// All ways in which `raw` can be compressed, without the codecs that Miri can't run.
fn packed(raw: &[u8]) -> Vec<(&'static str, RecordCodec, Vec<u8>)> {
    let info = FrameInfo::new();
    let linked = info.clone().block_size(BlockSize::Max64KB).block_mode(BlockMode::Linked);
    let checked = linked.clone().block_checksums(true).content_checksum(true).content_size(Some(raw.len() as u64));
    let blocks: Vec<_> = raw.chunks(32 << 10).map(snappy).collect();
    let mut all = vec![
        ("gzip", RecordCodec::Gzip, gzip(raw)),
        ("raw snappy", RecordCodec::Snappy, snappy(raw)),
        ("Xerial's snappy", RecordCodec::Snappy, xerial(&blocks)),
        ("lz4", RecordCodec::Lz4, lz4_plain(raw)),
        ("lz4, large blocks", RecordCodec::Lz4, lz4(raw, info.block_size(BlockSize::Max4MB))),
        ("lz4, linked blocks", RecordCodec::Lz4, lz4(raw, linked)),
        ("lz4, linked blocks with checksums", RecordCodec::Lz4, lz4(raw, checked)),
    ];
    if !cfg!(miri) {
        all.push(("zstd", RecordCodec::Zstd, zstd_sized(raw)));
        all.push(("zstd without a size", RecordCodec::Zstd, zstd_streamed(raw, 20)));
        all.push(("zstd without a size, large window", RecordCodec::Zstd, zstd_streamed(raw, 24)));
    }
    all
}

#[test]
fn all_codecs_round_trip() {
    let value = text(5_000);
    for &codec in CODECS {
        let mut builder = RecordBatchBuilder::new(codec, Limits::default());
        for round in 0..3_i64 {
            for n in 0..100 + round {
                builder.push(round * 1000 + n, Some(b"key"), Some(&value[n as usize..]), HEADERS).unwrap();
            }
            let plain_bytes = builder.bytes();
            let batch = builder.finish(None).unwrap();
            let mut checker = RecordBatchChecker::new(Limits::default());
            checker.push(batch).unwrap();
            let header = checker.finish().unwrap()[0].header;
            assert_eq!((header.codec, u64::from(header.records)), (codec, 100 + round as u64));
            assert_eq!(plain_bytes > batch.len() as u64, codec != RecordCodec::None);
            let mut out = Vec::new();
            let section = unpack(codec, &batch[RECORD_BATCH_HEADER_BYTES..], LIMIT, &mut out).unwrap();
            for (n, record) in Records::new(&header, section).enumerate() {
                let record = record.unwrap();
                assert_eq!(record.timestamp_ms, round * 1000 + n as i64);
                assert_eq!((record.key, record.value), (Some(&b"key"[..]), Some(&value[n..])));
                assert!(record.headers.eq(HEADERS));
            }
            assert_eq!(walk(&header, section), Ok(header.records), "{codec}");
        }
    }
}

#[test]
fn records_that_do_not_shrink_stay_uncompressed() {
    for &codec in CODECS {
        let mut builder = RecordBatchBuilder::new(codec, Limits::default());
        builder.push(0, None, Some(b"q8#Kz!0v"), []).unwrap();
        let batch = builder.finish(None).unwrap().to_vec();
        let mut plain = RecordBatchBuilder::new(RecordCodec::None, Limits::default());
        plain.push(0, None, Some(b"q8#Kz!0v"), []).unwrap();
        assert_eq!(batch, plain.finish(None).unwrap(), "{codec}");
    }
}

#[test]
fn every_framing_is_unpacked() {
    for raw in [text(0), text(1), text(100), text(300_000)] {
        for (name, codec, section) in packed(&raw) {
            let found = unpacked(codec, &section, raw.len() as u32);
            assert!(found.as_ref() == Ok(&raw), "{name} of {} bytes: {:?}", raw.len(), found.map(|found| found.len()));
        }
    }
}

#[test]
fn frames_may_follow_each_other() {
    let (first, second) = (text(70_000), b"and more".to_vec());
    let both = [&first[..], &second].concat();
    let firsts = packed(&first);
    for ((name, codec, section), (_, _, more)) in firsts.into_iter().zip(packed(&second)) {
        if codec != RecordCodec::Snappy {
            let found = unpacked(codec, &[section, more].concat(), LIMIT);
            assert!(found.as_ref() == Ok(&both), "{name}: {found:?}");
        }
    }
    if !cfg!(miri) {
        let skippable = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc", &zstd_sized(&second)].concat();
        assert_eq!(unpacked(RecordCodec::Zstd, &skippable, LIMIT), Ok(second));
    }
}

#[test]
fn a_block_refers_to_its_own_frame_only() {
    let info = FrameInfo::new().block_size(BlockSize::Max64KB).block_mode(BlockMode::Linked);
    // The letter a, four bytes from five back, of which there is one in the frame, and five letters b.
    let block = [0x10, b'a', 5, 0, 0x50, b'b', b'b', b'b', b'b', b'b'];
    let mut section = lz4(&text(100), info.clone());
    let frame_start = section.len();
    section.extend(&lz4(&[], info)[..7]);
    section.extend((block.len() as u32).to_le_bytes());
    section.extend(block);
    section.extend([0; 4]);
    assert!(matches!(unpacked(RecordCodec::Lz4, &section, LIMIT), Err(RecordError::Unpack { .. })));
    let offset = frame_start + 7 + 4 + 2;
    section[offset] = 1;
    let found = unpacked(RecordCodec::Lz4, &section, LIMIT).unwrap();
    assert_eq!(found[100..], *b"aaaaabbbbb");
}

#[test]
fn what_follows_the_last_frame_is_refused() {
    for (name, codec, section) in packed(&text(5_000)) {
        for after in [&b"\0"[..], b"ab", b"abc", b"\0\0\0\0", &section[..4], &[0; 20]] {
            let found = unpacked(codec, &[&section, after].concat(), LIMIT);
            assert!(matches!(found, Err(RecordError::Unpack { .. })), "{name}, then {after:?}");
        }
    }
}

#[test]
fn cut_frames_are_refused() {
    for (name, codec, section) in packed(&text(70_000)) {
        let ends = (0..200).chain(section.len().saturating_sub(200)..section.len()).filter(|end| *end < section.len());
        // Nothing at all is no frame and no records, which `Records` notices; Xerial's streams end after any block.
        let blocks_end = 16 + 4 + snappy(&text(70_000)[..32 << 10]).len();
        let is_whole = |end: &usize| match name {
            "Xerial's snappy" => *end == 16 || *end == blocks_end,
            "gzip" | "raw snappy" => false,
            _ => *end == 0,
        };
        for end in ends.filter(|end| !is_whole(end)) {
            let found = unpacked(codec, &section[..end], LIMIT);
            assert!(matches!(found, Err(RecordError::Unpack { .. })), "{name}: {end} of {} bytes", section.len());
        }
    }
}

#[test]
fn the_limit_holds_to_the_byte() {
    let raw = text(100_000);
    for (name, codec, section) in packed(&raw) {
        for limit in [0, 1, 16 << 10, 65_535, 65_536, 99_999] {
            assert_eq!(unpacked(codec, &section, limit), Err(RecordError::TooLarge { limit }), "{name}");
        }
        assert!(unpacked(codec, &section, 100_000).is_ok(), "{name}");
    }
    assert_eq!(unpacked(RecordCodec::None, &raw, 10).map(|found| found.len()), Ok(100_000), "borrowed");
}

#[test]
fn bombs_stop_at_the_limit() {
    let zeros = vec![0; 8 << 20];
    for (name, codec, section) in packed(&zeros) {
        assert!(section.len() < 500_000, "{name}: {} bytes", section.len());
        let error = unpacked(codec, &section, LIMIT).unwrap_err();
        assert_eq!(error, RecordError::TooLarge { limit: LIMIT }, "{name}");
        assert!(error.to_string().contains("more than 1048576 bytes"), "{error}");
    }
}

#[test]
fn lengths_that_lie_are_found_before_memory_is_taken() {
    // Snappy's length of 4 GiB - 1, and one within the limit that these bytes can't produce.
    let huge = [0xff, 0xff, 0xff, 0xff, 0x0f, 0];
    for section in [huge.to_vec(), xerial(&[huge.to_vec()])] {
        let found = unpacked(RecordCodec::Snappy, &section, LIMIT);
        assert_eq!(found, Err(RecordError::TooLarge { limit: LIMIT }));
    }
    let mut out = Vec::new();
    let found = unpack(RecordCodec::Snappy, &[0x80, 0x80, 0x3c, 0], LIMIT, &mut out).unwrap_err();
    assert!(matches!(found, RecordError::Unpack { .. }), "{found}");
    assert_eq!(out.capacity(), 0);
    // A Xerial block that is longer than the rest.
    let mut cut = xerial(&[snappy(b"alpha")]);
    cut[16..20].copy_from_slice(&u32::MAX.to_be_bytes());
    assert!(matches!(unpacked(RecordCodec::Snappy, &cut, LIMIT), Err(RecordError::Unpack { .. })));
    // Small blocks that exceed the limit together.
    let blocks = vec![snappy(&vec![0; 60 << 10]); 18];
    assert_eq!(unpacked(RecordCodec::Snappy, &xerial(&blocks), LIMIT), Err(RecordError::TooLarge { limit: LIMIT }));

    // The content size of a frame: above the limit, and different from the content.
    let info = FrameInfo::new().block_size(BlockSize::Max64KB);
    let section = lz4(&text(100), info.clone().content_size(Some(100)));
    assert!(unpacked(RecordCodec::Lz4, &section, LIMIT).is_ok());
    let error = unpacked(RecordCodec::Lz4, &relabelled(&section, u64::MAX), LIMIT);
    assert_eq!(error, Err(RecordError::TooLarge { limit: LIMIT }));
    for size in [99, 101] {
        let error = unpacked(RecordCodec::Lz4, &relabelled(&section, size), LIMIT);
        assert!(matches!(error, Err(RecordError::Unpack { .. })), "{error:?}");
    }
    // A frame of one RLE block whose header announces 2^63 bytes: single segment, content size of 8 bytes.
    if !cfg!(miri) {
        let mut section = vec![0x28, 0xb5, 0x2f, 0xfd, 0b1110_0000];
        section.extend((1_u64 << 63).to_le_bytes());
        section.extend([0x03 | 8 << 3, 0, 0, b'a']);
        assert_eq!(unpacked(RecordCodec::Zstd, &section, LIMIT), Err(RecordError::TooLarge { limit: LIMIT }));
        // The same with 8 bytes, which it has, and with 9, which it hasn't.
        section[5..13].copy_from_slice(&8_u64.to_le_bytes());
        section[13] = 0x03 | (8 << 3);
        assert_eq!(unpacked(RecordCodec::Zstd, &section, LIMIT), Ok(b"aaaaaaaa".to_vec()));
        section[5] = 9;
        assert!(matches!(unpacked(RecordCodec::Zstd, &section, LIMIT), Err(RecordError::Unpack { .. })));
    }
}

/// A frame of LZ4 with another content size, and the checksum of its header put right.
fn relabelled(section: &[u8], content_bytes: u64) -> Vec<u8> {
    let mut changed = section.to_vec();
    changed[6..14].copy_from_slice(&content_bytes.to_le_bytes());
    changed[14] = (twox_hash::XxHash32::oneshot(0, &changed[4..14]) >> 8) as u8;
    changed
}

#[test]
fn damaged_frames_never_panic() {
    let raw = text(2_000);
    for (name, codec, section) in packed(&raw) {
        for position in 0..section.len() {
            for change in [1, 0x10, 0x80, 0xff] {
                let mut changed = section.clone();
                changed[position] ^= change;
                match unpacked(codec, &changed, 20_000) {
                    Ok(found) => assert!(found.len() <= 20_000, "{name}"),
                    Err(error) => assert!(!error.to_string().is_empty()),
                }
            }
        }
    }
    // Formats with a checksum of the content never decompress to other bytes.
    let (checked, info) = (packed(&raw), "lz4, linked blocks with checksums");
    let (_, codec, section) = checked.into_iter().find(|(name, ..)| *name == info).unwrap();
    for position in 0..section.len() {
        let mut changed = section.clone();
        changed[position] ^= 1;
        assert!(unpacked(codec, &changed, LIMIT).is_err(), "byte {position}");
    }
}
