//! `GET /records` and `GET /record`: limits, slices, compressed batches, and rejected requests.

use crate::broker::{Broker, batch, records, records_of};
use crate::client::*;
use rawline_batch::{Batch, Codec, Limits};
use serde_json::json;

/// 5 batches in 5 objects, 10 records of 100 bytes each.
fn five_batches(broker: &Broker, codec: Codec) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let all = records(0, 50, 100);
    let batches: Vec<Vec<u8>> = all.chunks(10).map(|records| batch(codec, records)).collect();
    for batch in &batches {
        broker.post("/records?topic-name=t", BATCH, batch).assert_status(201);
    }
    (all, batches)
}

#[test]
fn limits_hold_in_every_form_across_batches_and_objects() {
    let broker = Broker::start(&[]);
    let (all, _) = five_batches(&broker, Codec::None);
    // (offset, max-records, max-bytes) and the number of records returned: 10 by default, at least one.
    let cases = [
        ("offset=0", 0, 10),
        ("offset=7", 7, 10),
        ("offset=45", 45, 5),
        ("offset=0&max-records=0", 0, 50),
        ("offset=3&max-records=30", 3, 30),
        ("offset=9&max-records=1", 9, 1),
        ("offset=49&max-records=100", 49, 1),
        ("offset=0&max-records=0&max-bytes=1", 0, 1),
        ("offset=0&max-records=0&max-bytes=99", 0, 1),
        ("offset=0&max-records=0&max-bytes=199", 0, 1),
        ("offset=0&max-records=0&max-bytes=200", 0, 2),
        ("offset=5&max-records=0&max-bytes=1099", 5, 10),
        ("offset=5&max-records=0&max-bytes=2500", 5, 25),
        ("offset=5&max-records=7&max-bytes=2500", 5, 7),
        ("offset=0&max-records=0&max-bytes=0", 0, 50),
        ("offset=0&max-records=18446744073709551615&max-bytes=18446744073709551615", 0, 50),
    ];
    for (query, first, count) in cases {
        let target = format!("/records?topic-name=t&{query}");
        let want = &all[first..first + count];
        let answer = broker.get_as(&target, BATCH);
        assert_eq!((answer.status, answer.number("rawline-first-offset")), (200, first as u64), "{query}");
        assert_eq!(records_of(&answer.body), want, "{query}");
        let answer = broker.get(&target);
        assert_eq!(answer.body, multipart_answer(&answer, want), "{query}");
        let lines = [want.join(&b'\n'), b"\n".to_vec()].concat();
        assert_eq!(broker.get_as(&target, LINES).body, lines, "{query}");
        let offsets: Vec<u64> = broker
            .get_as(&target, JSON)
            .json()
            .as_array()
            .unwrap()
            .iter()
            .map(|r| r["offset"].as_u64().unwrap())
            .collect();
        assert_eq!(offsets, (first as u64..(first + count) as u64).collect::<Vec<_>>(), "{query}");
    }
}

#[test]
fn whole_batches_are_verbatim_and_the_ends_are_slices() {
    let broker = Broker::start(&[]);
    let (all, batches) = five_batches(&broker, Codec::None);
    let answer = broker.get_as("/records?topic-name=t&offset=5&max-records=30", BATCH);
    assert_eq!(answer.number("rawline-next-offset"), 50);
    assert_eq!(records_of(&answer.body), &all[5..35]);
    let (head, rest) = Batch::parse_prefix(&answer.body, &Limits::FORMAT).unwrap();
    let whole = [&batches[1][..], &batches[2]].concat();
    assert!(head.header().slice && head.header().records == 5);
    assert_eq!(&rest[..whole.len()], whole);
    let tail = Batch::parse(&rest[whole.len()..], &Limits::FORMAT).unwrap();
    assert!(tail.header().slice && tail.header().records == 5);
    let answer = broker.get_as("/records?topic-name=t&offset=10&max-records=20", BATCH);
    assert_eq!(answer.body, whole);
}

#[test]
fn compressed_batches_are_returned_whole_but_records_exactly() {
    for codec in [Codec::Lz4, Codec::Zstd] {
        let broker = Broker::start(&[]);
        let (all, batches) = five_batches(&broker, codec);
        let answer = broker.get_as("/records?topic-name=t&offset=15&max-records=10", BATCH);
        assert_eq!(answer.number("rawline-first-offset"), 10, "the batch that holds 15 begins at 10");
        assert_eq!(answer.body, [&batches[1][..], &batches[2]].concat());
        let answer = broker.get_as("/records?topic-name=t&offset=15&max-records=1&max-bytes=1", BATCH);
        assert_eq!(answer.body, batches[1]);

        for (query, first, count) in
            [("", 15, 10), ("&max-records=3", 15, 3), ("&max-bytes=250", 15, 2), ("&max-records=0", 15, 35)]
        {
            let target = format!("/records?topic-name=t&offset={first}{query}");
            let want = &all[first..first + count];
            let answer = broker.get(&target);
            assert_eq!(answer.number("rawline-first-offset"), 15);
            assert_eq!(answer.body, multipart_answer(&answer, want), "{query}");
            assert_eq!(broker.get_as(&target, LINES).body, [want.join(&b'\n'), b"\n".to_vec()].concat(), "{query}");
            let lines = broker.get_as(&target, JSON).json();
            assert_eq!((lines[0]["offset"].as_u64(), lines.as_array().unwrap().len()), (Some(15), count), "{query}");
            assert_eq!(lines[0]["record"].as_str().unwrap().as_bytes(), all[15]);
            assert_eq!(lines[0]["time"], "2023-11-14T22:13:20Z");
        }
        assert_eq!(broker.get("/record?topic-name=t&offset=29").body, all[29]);
    }
}

/// A few stored bytes can decompress to many; a response contains a bounded part of them.
#[test]
fn records_that_decompress_to_much_are_returned_in_parts() {
    let broker = Broker::start(&["--memory", "160MiB"]);
    let megabytes = vec![vec![b'a'; 1 << 20]; 10];
    for _ in 0..3 {
        broker.post("/records?topic-name=t", BATCH, &batch(Codec::Zstd, &megabytes)).assert_status(201);
    }
    for accept in [LINES, JSON, "*/*"] {
        let answer = broker.get_as("/records?topic-name=t&offset=8&max-records=0", accept);
        let bytes = answer.assert_status(200).body.len();
        assert!((4 << 20..5 << 20).contains(&bytes), "{bytes}");
    }
    // One record is always returned, whatever its size.
    let large = vec![b'b'; 20 << 20];
    broker
        .post("/records?topic-name=large", BATCH, &batch(Codec::Zstd, std::slice::from_ref(&large)))
        .assert_status(201);
    let answer = broker.get("/records?topic-name=large&offset=0");
    assert!(answer.body == multipart_answer(&answer, std::slice::from_ref(&large)));
    assert!(broker.get("/record?topic-name=large&offset=0").body == large);
    assert_eq!(broker.get_as("/records?topic-name=large&offset=0", LINES).body.len(), large.len() + 1);
    // As JSON it might need more than all buffers: 6 bytes for each byte.
    broker.get_as("/records?topic-name=large&offset=0", JSON).assert_status(200);
    let larger = vec![b'b'; 30 << 20];
    broker.post("/records?topic-name=large", BATCH, &batch(Codec::Zstd, &[larger])).assert_status(201);
    broker.get_as("/records?topic-name=large&offset=1", JSON).assert_error(400, "answer_too_large");
}

#[test]
fn data_that_does_not_decompress_is_returned_as_sent_or_reported() {
    let broker = Broker::start(&[]);
    let mut broken = batch(Codec::Zstd, &records(0, 100, 100));
    // The broker verifies checksums, but not that data decompresses: the checksum is therefore corrected.
    let data = 64 + 400 + 8;
    broken[data] ^= 0xff;
    let (header, body) = broken.split_at_mut(64);
    let crc = rawline_batch::crc32c(&[&header[..60], body].concat());
    header[60..].copy_from_slice(&crc.to_le_bytes());
    broker.post("/records?topic-name=t", BATCH, &broken).assert_status(201);
    assert_eq!(broker.get_as("/records?topic-name=t&offset=0", BATCH).body, broken);
    for accept in [LINES, JSON, "*/*"] {
        broker.get_as("/records?topic-name=t&offset=0", accept).assert_error(500, "unpack_failed");
    }
    broker.get("/record?topic-name=t&offset=3").assert_error(500, "unpack_failed");
}

#[test]
fn empty_records_and_control_characters_survive() {
    let broker = Broker::start(&[]);
    let control: Vec<u8> = (0..32).collect();
    let all = vec![Vec::new(), control.clone(), Vec::new(), Vec::new()];
    broker.post("/records?topic-name=t", MULTIPART, &multipart_of(&all)).assert_status(201);
    let answer = broker.get("/records?topic-name=t&offset=0");
    assert_eq!(answer.body, multipart_answer(&answer, &all));
    let lines = broker.get_as("/records?topic-name=t&offset=0", JSON).json();
    assert_eq!(lines[1]["record"].as_str().unwrap().as_bytes(), control);
    assert_eq!(lines[3]["record"], "");
    let answer = broker.get("/record?topic-name=t&offset=2");
    assert_eq!((answer.status, answer.body.len()), (200, 0));
}

#[test]
fn queries_are_checked() {
    let broker = Broker::start(&[]);
    broker.post("/records?topic-name=t", RECORD, b"a").assert_status(201);
    let cases = [
        ("/records", "topic_name_missing"),
        ("/record?offset=0", "topic_name_missing"),
        ("/topic", "topic_name_missing"),
        ("/offset?time=2026-01-01T00:00:00Z", "topic_name_missing"),
        ("/records?topic-name=t", "query_missing"),
        ("/record?topic-name=t", "query_missing"),
        ("/offset?topic-name=t", "query_missing"),
        ("/records?topic-name=t&offset=-1", "query_number"),
        ("/records?topic-name=t&offset=", "query_number"),
        ("/records?topic-name=t&offset=1.5", "query_number"),
        ("/records?topic-name=t&offset=x", "query_number"),
        ("/records?topic-name=t&offset=18446744073709551616", "query_number"),
        ("/record?topic-name=t&offset=-1", "query_number"),
        ("/records?topic-name=t&offset=0&max-records=-1", "query_number"),
        ("/records?topic-name=t&offset=0&max-records=", "query_number"),
        ("/records?topic-name=t&offset=0&max-bytes=-1", "query_number"),
        ("/records?topic-name=t&offset=0&max-bytes=1KB", "query_number"),
        ("/records?topic-name=t&offset=0&timeout=5", "query_duration"),
        ("/records?topic-name=t&offset=0&timeout=-5s", "query_duration"),
        ("/records?topic-name=t&offset=0&timeout=forever", "query_duration"),
        ("/records?topic-name=t&offset=0&timeout=25h", "query_duration"),
        ("/offset?topic-name=t&time=yesterday", "query_time"),
        ("/offset?topic-name=t&time=2026-11-26T10:00:00%2B01:00%5BEurope/Berlin%5D", "query_time"),
        ("/records?topic-name=/&offset=0", "topic_name"),
        ("/topic?topic-name=%2e%2e", "topic_name"),
    ];
    for (target, code) in cases {
        let answer = broker.get(target);
        assert_eq!((answer.status, answer.code().as_str()), (400, code), "{target}");
    }
}

#[test]
fn a_missing_record_is_not_found() {
    let broker = Broker::start(&[]);
    broker.create_topic("t");
    broker.get("/record?topic-name=t&offset=0").assert_error(404, "offset_out_of_bounds");
    broker.post("/records?topic-name=t", RECORD, b"a").assert_status(201);
    assert_eq!(broker.get("/record?topic-name=t&offset=0").body, b"a");
    for offset in ["1", "18446744073709551615"] {
        broker.get(&format!("/record?topic-name=t&offset={offset}")).assert_error(404, "offset_out_of_bounds");
    }
}

#[test]
fn an_unknown_form_is_not_acceptable() {
    let broker = Broker::start(&[]);
    broker.post("/records?topic-name=t", RECORD, b"a").assert_status(201);
    for accept in ["text/html", "image/png, text/plain", "multipart/mixed"] {
        broker.get_as("/records?topic-name=t&offset=0", accept).assert_error(406, "not_acceptable");
    }
    for (accept, content_type) in [
        ("text/html, */*;q=0.1", "multipart/form-data"),
        ("multipart/form-data", "multipart/form-data"),
        ("", "multipart/form-data"),
        ("application/json, */*", JSON),
        ("application/jsonl", LINES),
        (BATCH, BATCH),
    ] {
        let answer = broker.get_as("/records?topic-name=t&offset=0", accept);
        assert!(answer.header("content-type").unwrap().starts_with(content_type), "{accept}");
    }
}

/// Every response has a new boundary, so that no producer can write a record that contains it.
#[test]
fn boundaries_are_not_used_twice() {
    let broker = Broker::start(&[]);
    broker.post("/records?topic-name=t", RECORD, b"a").assert_status(201);
    let boundary = || broker.get("/records?topic-name=t&offset=0").header("content-type").unwrap().to_owned();
    assert_ne!(boundary(), boundary());
}

#[test]
fn a_head_request_has_the_head_of_the_answer() {
    let broker = Broker::start(&[]);
    broker.post("/records?topic-name=t", RECORD, b"abc").assert_status(201);
    let mut connection = Connection::open(broker.address);
    for (target, bytes) in [("/record?topic-name=t&offset=0", 3), ("/health", 3)] {
        connection.send(&request("HEAD", target, &[], b""));
        let answer = connection.try_receive(false).unwrap();
        assert_eq!((answer.status, answer.number("content-length")), (200, bytes));
    }
    connection.send(&request("GET", "/record?topic-name=t&offset=0", &[], b""));
    assert_eq!(connection.receive().body, b"abc");
}

#[test]
fn without_new_records_the_response_is_empty_in_every_form() {
    let broker = Broker::start(&[]);
    broker.post("/records?topic-name=t", RECORD, b"a").assert_status(201);
    broker.create_topic("empty");
    for (topic, offset, next) in [("t", 1, 1), ("t", 1000, 1), ("empty", 0, 0), ("empty", 7, 0)] {
        let target = format!("/records?topic-name={topic}&offset={offset}&timeout=10ms");
        let answer = broker.get(&target);
        assert_eq!(answer.status, 206);
        assert_eq!(answer.body, multipart_answer(&answer, &[]));
        assert_eq!(answer.number("rawline-next-offset"), next);
        for accept in [BATCH, LINES] {
            let answer = broker.get_as(&target, accept);
            assert_eq!((answer.status, answer.body.len()), (204, 0), "{accept}");
            assert_eq!(answer.number("rawline-next-offset"), next);
        }
        assert_eq!(broker.get_as(&target, JSON).json(), json!([]));
    }
}
