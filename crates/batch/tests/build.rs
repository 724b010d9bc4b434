//! `Builder` and `seal`: their batches parse to the same records, with every codec and at every limit.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod support;

use rawline_batch::{Batch, BatchError, Builder, BuilderFull, Codec, Header, Limits, decompress_into, seal};
use support::{CREATED_US, build, changed, records, set_u32, small};

/// Miri cannot run the C code of zstd.
const CODECS: &[Codec] = if cfg!(miri) { &[Codec::None, Codec::Lz4] } else { &[Codec::None, Codec::Lz4, Codec::Zstd] };

fn compressible(count: usize) -> Vec<Vec<u8>> {
    (0..count).map(|i| format!("{{\"event\":{i},\"kind\":\"reading\",\"ok\":true}}").into_bytes()).collect()
}

#[test]
fn what_went_in_comes_out() {
    for &codec in CODECS {
        for count in [1, 2, 3, 100] {
            let given = compressible(count);
            let bytes = build(codec, &given);
            assert_eq!(records(&bytes), given, "{codec}, {count} records");
            let header = *Batch::parse(&bytes, &Limits::FORMAT).unwrap().header();
            assert_eq!(header.records as usize, count);
            assert_eq!(header.raw_bytes as usize, given.iter().map(Vec::len).sum::<usize>());
            if count == 100 {
                assert_eq!(header.codec, codec);
                assert_eq!(header.data_bytes < header.raw_bytes, codec != Codec::None);
            }
        }
    }
}

#[test]
fn data_that_does_not_shrink_is_stored_as_it_is() {
    for &codec in CODECS {
        for given in ["", "a", "q8#Kz!0v"] {
            let bytes = build(codec, &[given]);
            assert_eq!(bytes, build(Codec::None, &[given]));
        }
    }
}

#[test]
fn a_builder_begins_anew_after_each_batch() {
    for &codec in CODECS {
        let mut builder = Builder::new(codec, Limits::default());
        let mut out = Vec::new();
        assert_eq!(builder.finish_into(0, 0, 0, &mut out), Err(BatchError::Empty));
        for round in 0..3 {
            assert!(builder.is_empty());
            assert_eq!((builder.records(), builder.bytes()), (0, 64));
            for record in compressible(20 + round) {
                builder.push(&record).unwrap();
            }
            builder.finish_into(CREATED_US, 7, 1000, &mut out).unwrap();
        }
        assert_eq!(out, [20, 21, 22].map(|count| build(codec, &compressible(count))).concat());
    }
}

#[test]
fn a_builder_fills_a_batch_to_its_limits_and_no_further() {
    let room = Limits { batch_bytes_max: 1 << 20, records_max: 1 << 20, raw_bytes_max: 1 << 20 };
    // 64 + 3 × (4 + 12) = 112.
    for (limits, count) in [
        (Limits { batch_bytes_max: 112, ..room }, 3),
        (Limits { batch_bytes_max: 111, ..room }, 2),
        (Limits { records_max: 3, ..room }, 3),
        (Limits { raw_bytes_max: 36, ..room }, 3),
        (Limits { raw_bytes_max: 35, ..room }, 2),
        (Limits { batch_bytes_max: 79, ..room }, 0),
    ] {
        let mut builder = Builder::new(Codec::None, limits);
        for _ in 0..count {
            builder.push(b"twelve bytes").unwrap();
        }
        assert_eq!(builder.push(b"twelve bytes"), Err(BuilderFull), "{limits:?}");
        assert_eq!(builder.records(), count);
        let mut out = Vec::new();
        if count > 0 {
            let bytes = builder.bytes();
            builder.finish_into(0, 0, 0, &mut out).unwrap();
            assert_eq!(out.len() as u64, bytes);
            assert_eq!(Batch::parse(&out, &limits).unwrap().header().records, count);
        }
    }
}

#[test]
fn records_of_no_bytes_fill_a_batch_too() {
    let mut builder = Builder::new(Codec::None, Limits { batch_bytes_max: 80, ..Limits::FORMAT });
    for _ in 0..4 {
        builder.push(b"").unwrap();
    }
    assert_eq!(builder.push(b""), Err(BuilderFull));
}

#[test]
fn sealed_data_is_the_batch_a_builder_makes() {
    let data = b"alphabgamma-raynu";
    let sealed = seal(&[5, 1, 0, 9, 2], data, CREATED_US, &Limits::default()).unwrap();
    let bytes = [&sealed.front, &data[..], sealed.padding].concat();
    let expected = changed(small(), |bytes| bytes[32..48].fill(0));
    assert_eq!(bytes, expected);
}

#[test]
fn sizes_that_do_not_fit_the_data_are_not_sealed() {
    let limits = Limits { batch_bytes_max: 80, records_max: 2, raw_bytes_max: 8 };
    let error = |sizes: &[u32], data: &[u8]| seal(sizes, data, 0, &limits).unwrap_err();
    assert_eq!(error(&[], b""), BatchError::Empty);
    assert_eq!(error(&[], b"x"), BatchError::SizesSum { sum: 0, raw_bytes: 1 });
    assert_eq!(error(&[1, 2], b"four"), BatchError::SizesSum { sum: 3, raw_bytes: 4 });
    assert_eq!(error(&[u32::MAX, 5], b"four"), BatchError::SizesOverflow { sum: (1 << 32) + 4 });
    assert_eq!(error(&[1, 1, 1], b"abc"), BatchError::Limit { what: "records", found: 3, limit: 2 });
    assert_eq!(error(&[9], b"123456789"), BatchError::Limit { what: "raw_bytes", found: 9, limit: 8 });
    assert_eq!(error(&[13], b"1234567890123"), BatchError::Limit { what: "batch_bytes", found: 88, limit: 80 });
    assert!(seal(&[4, 4], b"12345678", 0, &limits).is_ok());
}

#[test]
fn a_header_is_written_as_it_was_read() {
    let bytes = small();
    let header = Header::parse(bytes.first_chunk().unwrap(), &Limits::FORMAT).unwrap();
    assert_eq!(header.encode(), bytes[..64]);
    assert_eq!(Header { crc32c: 0, ..header }.seal([&bytes[64..101]]), bytes[..64]);
}

fn unpack(codec: Codec, data: &[u8], raw_bytes: u32) -> Result<Vec<u8>, BatchError> {
    let mut out = b"from the batch before".to_vec();
    let result = decompress_into(codec, data, raw_bytes, &mut out);
    assert!(out.len() <= raw_bytes as usize, "{} of {raw_bytes} bytes", out.len());
    result.map(|()| out)
}

fn is_decompress(result: Result<Vec<u8>, BatchError>) -> bool {
    matches!(result, Err(BatchError::Decompress { .. }))
}

fn packed(codec: Codec, raw: &[u8]) -> Vec<u8> {
    Batch::parse(&build(codec, &[raw]), &Limits::FORMAT).unwrap().data().to_vec()
}

#[test]
fn data_that_unpacks_to_another_length_is_refused() {
    let raw = [b'x'; 500];
    for &codec in CODECS {
        let data = packed(codec, &raw);
        assert_eq!(unpack(codec, &data, 500).unwrap(), raw);
        for raw_bytes in [0, 1, 499, 501, 10_000] {
            assert!(is_decompress(unpack(codec, &data, raw_bytes)), "{codec}, {raw_bytes}");
        }
        for cut in [0, 1, data.len() - 1] {
            assert!(is_decompress(unpack(codec, &data[..cut], 500)), "{codec}, cut to {cut}");
        }
        let longer = [&data[..], &[0]].concat();
        assert!(is_decompress(unpack(codec, &longer, 500)), "{codec}, a byte more");
    }
}

#[test]
#[cfg_attr(miri, ignore = "zstd is C code")]
fn only_one_zstd_frame_may_be_there() {
    let data = packed(Codec::Zstd, &[b'x'; 500]);
    assert!(is_decompress(unpack(Codec::Zstd, &[&data[..], &data].concat(), 1000)));
    let skippable = [0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4];
    assert!(is_decompress(unpack(Codec::Zstd, &skippable, 0)));
    assert!(is_decompress(unpack(Codec::Zstd, &[&data[..], &skippable].concat(), 500)));
}

/// A whole batch whose checksum is right and whose data is not: its reader learns it when it reads the records.
#[test]
fn records_of_data_that_is_not_what_its_codec_says() {
    let bytes = changed(build(Codec::Lz4, &[[b'x'; 500]]), |bytes| bytes[68..].fill(0xff));
    // The padding too was overwritten, which the parser sees; put it back.
    let header = Header::parse(bytes.first_chunk().unwrap(), &Limits::FORMAT).unwrap();
    let padding = bytes.len() - header.padding_bytes();
    let bytes = changed(bytes, |bytes| bytes[padding..].fill(0));
    let batch = Batch::parse(&bytes, &Limits::FORMAT).unwrap();
    assert!(matches!(batch.records(&mut Vec::new()), Err(BatchError::Decompress { .. })));
}

#[test]
fn records_need_no_more_room_than_the_header_says() {
    let bytes = build(Codec::Lz4, &[[b'x'; 500]]);
    let bytes = changed(bytes, |bytes| {
        set_u32(bytes, 20, 100);
        set_u32(bytes, 64, 100);
    });
    let batch = Batch::parse(&bytes, &Limits::FORMAT).unwrap();
    let mut scratch = Vec::new();
    assert!(matches!(batch.records(&mut scratch), Err(BatchError::Decompress { .. })));
    assert!(scratch.capacity() <= 100);
}

#[test]
fn codecs_have_names_and_numbers() {
    for codec in [Codec::None, Codec::Lz4, Codec::Zstd] {
        assert_eq!(codec.to_string().parse(), Ok(codec));
        assert_eq!(Codec::from_number(codec.number()), Ok(codec));
    }
    assert_eq!("gzip".parse::<Codec>(), Err("unknown codec \"gzip\"; use none, lz4 or zstd".to_owned()));
}
