//! Batches that Kafka's own Java library made (kafka-clients 4.3.1), one for each codec.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use rawline_batch::Limits;
use rawline_batch::record_batch::{
    RECORD_BATCH_HEADER_BYTES, RecordBatchBuilder, RecordBatchChecker, RecordCodec, RecordProducer, Records, unpack,
};

const BASE_MS: i64 = 1_700_000_000_000;

/// The bytes of hexadecimal digits.
fn bytes_of(digits: &str) -> Vec<u8> {
    let digits: Vec<u32> = digits.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}

#[test]
fn batches_of_the_java_client_are_read() {
    let batches = [
        (RecordCodec::None, NONE),
        (RecordCodec::Gzip, GZIP),
        (RecordCodec::Snappy, SNAPPY),
        (RecordCodec::Lz4, LZ4),
        (RecordCodec::Zstd, ZSTD),
        (RecordCodec::Zstd, ZSTD_LEVEL_22),
    ];
    let text = "event ".repeat(30).into_bytes();
    // Miri can't run the C code of zstd.
    for (codec, digits) in batches.into_iter().filter(|(codec, _)| !cfg!(miri) || *codec != RecordCodec::Zstd) {
        let batch = bytes_of(digits);
        let mut checker = RecordBatchChecker::new(Limits::default());
        checker.push(&batch).unwrap();
        let header = checker.finish().unwrap()[0].header;
        assert_eq!((header.codec, header.records), (codec, 4));
        assert_eq!((header.base_timestamp_ms, header.max_timestamp_ms), (BASE_MS, BASE_MS + 300));
        let producer = RecordProducer { id: 7, epoch: 3, base_sequence: 1000 };
        assert_eq!(header.producer, Some(producer));

        let mut out = Vec::new();
        let section = unpack(codec, &batch[RECORD_BATCH_HEADER_BYTES..], 1000, &mut out).unwrap();
        let read: Vec<_> = Records::new(&header, section).collect::<Result<_, _>>().unwrap();
        let times: Vec<_> = read.iter().map(|record| record.timestamp_ms - BASE_MS).collect();
        assert_eq!(times, [0, -1, 300, 1]);
        let keys: Vec<_> = read.iter().map(|record| record.key).collect();
        assert_eq!(keys, [Some(&b"k1"[..]), None, Some(b""), None]);
        let values: Vec<_> = read.iter().map(|record| record.value).collect();
        assert_eq!(values, [Some(&b"hello"[..]), Some(b""), None, Some(&text)]);
        let headers: Vec<_> = read.iter().flat_map(|record| record.headers).collect();
        assert_eq!(headers, [(&b"h"[..], Some(&b"v"[..])), (b"n", None)]);

        // Without compression, ours are the same bytes but for the leader's epoch, which the checksum doesn't cover.
        let mut builder = RecordBatchBuilder::new(RecordCodec::None, Limits::default());
        for record in read {
            builder.push(record.timestamp_ms, record.key, record.value, record.headers).unwrap();
        }
        assert_eq!(builder.finish(Some(producer)).unwrap()[16..], bytes_of(NONE)[16..]);
    }
}

const NONE: &str = "
    000000000000000000000112ffffffff02b0dd66a60000000000030000018bcfe568000000018bcfe5692c00000000000000070003000003
    e80000000428000000046b310a68656c6c6f0402680276026e010c0001020100000e00d80404000100f60200020601e8026576656e742065
    76656e74206576656e74206576656e74206576656e74206576656e74206576656e74206576656e74206576656e74206576656e7420657665
    6e74206576656e74206576656e74206576656e74206576656e74206576656e74206576656e74206576656e74206576656e74206576656e74
    206576656e74206576656e74206576656e74206576656e74206576656e74206576656e74206576656e74206576656e74206576656e742065
    76656e742000
";

const GZIP: &str = "
    00000000000000000000007affffffff021effc26f0001000000030000018bcfe568000000018bcfe5692c00000000000000070003000003
    e8000000041f8b08000000000000ffd360606060c936e4ca48cdc9c96761ca602a63ca63e4616064626460e063b8c1c2c2c0c8f08d898189
    8df105536a596a5e89c2d02219004f3cc1a0e1000000
";

/// In the frame of Xerial's library.
const SNAPPY: &str = "
    000000000000000000000086ffffffff02301d81ea0002000000030000018bcfe568000000018bcfe5692c00000000000000070003000003
    e80000000482534e4150505900000000010000000100000041e101c828000000046b310a68656c6c6f0402680276026e010c000102010000
    0e00d80404000100f60200020601e8026576656e742065fe0600fe0600b206000000
";

const LZ4: &str = "
    00000000000000000000007dffffffff023707b7bc0003000000030000018bcfe568000000018bcfe5692c00000000000000070003000003
    e80000000404224d186040823d000000ff2328000000046b310a68656c6c6f0402680276026e010c0001020100000e00d80404000100f602
    00020601e8026576656e742006009750656e74200000000000
";

/// A frame that doesn't say how long its content is, with a window of 2 MiB.
const ZSTD: &str = "
    000000000000000000000078ffffffff02f8c8ec790004000000030000018bcfe568000000018bcfe5692c00000000000000070003000003
    e80000000428b52ffd0058dc0100340328000000046b310a68656c6c6f0402680276026e010c0001020100000e00d80404000100f6020002
    0601e8026576656e7420000100b20a55a0010000
";

/// The same with a window of 128 MiB.
const ZSTD_LEVEL_22: &str = "
    000000000000000000000076ffffffff023bc4ef0a0004000000030000018bcfe568000000018bcfe5692c00000000000000070003000003
    e80000000428b52ffd0088cc010032030c15d0670c80ae00005acb481516d0ce0513512299942993b68e3b0a13e81acf77dfe35373914b9d
    225da6d441c1a4fd4b0100b20a55a0010000
";
