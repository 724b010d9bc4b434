//! `POST /records`: the four forms are stored unchanged, and errors are reported.

use crate::broker::{Broker, batch, records, records_of};
use crate::client::*;
use rawline_batch::Codec;
use serde_json::json;

/// Records of every kind that a line can hold: empty, text, not UTF-8, looking like a boundary.
fn odd_records() -> Vec<Vec<u8>> {
    let records: [&[u8]; 7] = [b"plain", b"", b"\xff\xfe\0", "Grüße".as_bytes(), b"--XX", b"\r", b"{\"a\": [1, 2]}"];
    records.map(<[u8]>::to_vec).to_vec()
}

/// Reads all records of a topic in a form and extracts them.
fn read_as(broker: &Broker, topic: &str, accept: &str, want: &[Vec<u8>]) {
    let answer = broker.get_as(&format!("/records?topic-name={topic}&offset=0&max-records=0"), accept);
    answer.assert_status(200);
    assert_eq!(answer.number("rawline-first-offset"), 0);
    assert_eq!(answer.number("rawline-next-offset"), want.len() as u64);
    match accept {
        BATCH => assert_eq!(records_of(&answer.body), want),
        LINES => {
            assert_eq!(answer.body, want.iter().flat_map(|record| [record, &b"\n"[..]].concat()).collect::<Vec<_>>())
        }
        JSON => {
            let lines = answer.json();
            let lines = lines.as_array().unwrap();
            assert_eq!(lines.len(), want.len());
            for (offset, (line, record)) in lines.iter().zip(want).enumerate() {
                assert_eq!(line["offset"], offset);
                match std::str::from_utf8(record) {
                    Ok(text) => assert_eq!(line["record"], text),
                    Err(_) => {
                        assert_eq!((&line["record"], line["record_base64"].as_str()), (&json!(null), Some("//4A")))
                    }
                }
            }
        }
        _ => assert_eq!(answer.body, multipart_answer(&answer, want)),
    }
}

#[test]
fn every_form_in_comes_out_in_every_form() {
    let broker = Broker::start(&["--durability", "fsync"]);
    let records = odd_records();
    let lines: Vec<u8> = records.iter().flat_map(|record| [record, &b"\n"[..]].concat()).collect();
    let forms = [
        ("batch", BATCH, batch(Codec::None, &records)),
        ("lz4", BATCH, batch(Codec::Lz4, &records)),
        ("zstd", BATCH, batch(Codec::Zstd, &records)),
        ("lines", LINES, lines),
        ("multipart", MULTIPART, multipart_of(&records)),
    ];
    let mut mixed = Vec::new();
    for (name, content_type, body) in &forms {
        for topic in [name, "mixed"] {
            let answer = broker.post(&format!("/records?topic-name={topic}"), content_type, body);
            let first = if topic == "mixed" { mixed.len() as u64 } else { 0 };
            let next = first + records.len() as u64;
            let want = match *content_type {
                MULTIPART => json!({ "offsets": (first..next).collect::<Vec<_>>() }),
                _ => json!({ "first_offset": first, "next_offset": next }),
            };
            assert_eq!(answer.assert_status(201).json(), want);
        }
        mixed.extend_from_slice(&records);
        for accept in [BATCH, LINES, JSON, "multipart/form-data"] {
            read_as(&broker, name, accept, &records);
        }
    }
    for record in &records {
        broker.post("/records?topic-name=mixed", RECORD, record).assert_status(201);
        mixed.push(record.clone());
    }
    for accept in [BATCH, LINES, JSON, "*/*"] {
        read_as(&broker, "mixed", accept, &mixed);
    }
    for (offset, record) in mixed.iter().enumerate() {
        let answer = broker.get(&format!("/record?topic-name=mixed&offset={offset}"));
        assert_eq!((answer.status, answer.header("content-type")), (200, Some(RECORD)));
        assert_eq!(&answer.body, record, "offset {offset}");
    }
}

#[test]
fn batches_come_back_verbatim() {
    let broker = Broker::start(&[]);
    let mut sent = Vec::new();
    for (number, codec) in [Codec::None, Codec::Lz4, Codec::Zstd, Codec::None].into_iter().enumerate() {
        let batch = batch(codec, &records(number * 100, 100, 333));
        broker.post("/records?topic-name=t", BATCH, &batch).assert_status(201);
        sent.extend_from_slice(&batch);
    }
    let two = [batch(Codec::None, &records(400, 1, 7)), batch(Codec::Zstd, &records(401, 5, 100))].concat();
    let answer = broker.post("/records?topic-name=t", BATCH, &two);
    assert_eq!(answer.json(), json!({ "first_offset": 400, "next_offset": 406 }));
    sent.extend_from_slice(&two);
    let answer = broker.get_as("/records?topic-name=t&offset=0&max-records=0", BATCH);
    assert_eq!(answer.header("content-type"), Some(BATCH));
    assert!(answer.body == sent, "{} bytes for {}", answer.body.len(), sent.len());
}

#[test]
fn bodies_in_chunks_are_taken() {
    let broker = Broker::start(&[]);
    let records = odd_records();
    let lines = records.join(&b'\n');
    for (content_type, body) in
        [(BATCH, batch(Codec::None, &records)), (LINES, lines), (MULTIPART, multipart_of(&records))]
    {
        for chunk_bytes in [1, 7, 1 << 20] {
            let topic = format!("t{}-{chunk_bytes}", content_type.len());
            let request = chunked(&format!("/records?topic-name={topic}"), content_type, &body, chunk_bytes);
            exchange(broker.address, &request).assert_status(201);
            read_as(&broker, &topic, JSON, &records);
        }
    }
    exchange(broker.address, &chunked("/records?topic-name=one", RECORD, &vec![b'x'; 200_000], 1000))
        .assert_status(201);
    assert_eq!(broker.get("/record?topic-name=one&offset=0").body, vec![b'x'; 200_000]);
}

#[test]
fn multipart_is_taken_exactly_or_not_at_all() {
    let broker = Broker::start(&[]);
    let part =
        |name: &str, text: &str| format!("--XX\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{text}\r\n");
    let end = "--XX--\r\n";
    let bodies: Vec<(&str, Vec<u8>)> = vec![
        ("sizes_invalid", multipart("null", b"")),
        ("sizes_invalid", multipart("", b"")),
        ("sizes_invalid", multipart("[]", b"")),
        ("sizes_invalid", multipart("{\"a\":1}", b"a")),
        ("sizes_invalid", multipart("3", b"abc")),
        ("sizes_invalid", multipart("[1.5]", b"a")),
        ("sizes_invalid", multipart("[1.0]", b"a")),
        ("sizes_invalid", multipart("[1e0]", b"a")),
        ("sizes_invalid", multipart("[-1]", b"a")),
        ("sizes_invalid", multipart("[\"1\"]", b"a")),
        ("sizes_invalid", multipart("[null]", b"a")),
        ("sizes_invalid", multipart("[4294967296]", b"a")),
        ("sizes_invalid", multipart("[1,]", b"a")),
        ("sizes_invalid", multipart("[1", b"a")),
        ("sizes_invalid", multipart("[1] 2", b"a")),
        ("sizes_invalid", multipart("\u{feff}[1]", b"a")),
        ("batch_sizes_sum", multipart("[1,2]", b"abcd")),
        ("batch_sizes_sum", multipart("[1,2]", b"ab")),
        ("batch_sizes_sum", multipart("[1]", b"")),
        ("batch_sizes_overflow", multipart("[4294967295,1]", b"")),
        ("batch_sizes_overflow", multipart("[4294967295,4294967295,5]", b"abc")),
        ("multipart_parts", [part("records", "a"), part("sizes", "[1]"), end.into()].concat().into()),
        ("multipart_parts", [part("sizes", "[1]"), end.into()].concat().into()),
        ("multipart_parts", [part("records", "a"), end.into()].concat().into()),
        ("multipart_parts", [part("sizes", "[1]"), part("data", "a"), end.into()].concat().into()),
        (
            "multipart_parts",
            [part("sizes", "[1]"), part("records", "a"), part("more", "b"), end.into()].concat().into(),
        ),
        ("multipart_parts", end.into()),
        ("multipart_invalid", [part("sizes", "[1]"), part("records", "a")].concat().into()),
        ("multipart_invalid", part("sizes", "[1]").into()),
        ("multipart_invalid", b"".to_vec()),
        ("multipart_invalid", b"no form at all".to_vec()),
        ("multipart_parts", multipart("[1]", b"a").split_off(4)),
    ];
    for (code, body) in bodies {
        let answer = broker.post("/records?topic-name=t", MULTIPART, &body);
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (400, code),
            "{}\n{}",
            String::from_utf8_lossy(&body),
            answer.text()
        );
    }
    broker.post("/records?topic-name=t", "multipart/form-data", b"").assert_error(400, "multipart_boundary");
    assert_eq!(broker.get("/topic?topic-name=t").json()["next_offset"], 0, "none of these was stored");

    // Spaces, a preamble and a body full of beginnings of boundaries are valid.
    broker.post("/records?topic-name=t", MULTIPART, &multipart(" [ 2 ,\n0 ] ", b"ab")).assert_status(201);
    let record = b"\r\n--XY\r\n--X\r\n--".repeat(10_000);
    let body = [b"preamble\r\n".to_vec(), multipart_of(std::slice::from_ref(&record))].concat();
    broker.post("/records?topic-name=t", MULTIPART, &body).assert_status(201);
    assert!(broker.get("/record?topic-name=t&offset=2").body == record);
}

/// The parser of forms buffers bytes that it can't parse; the buffer must not grow with the body.
#[test]
fn a_form_whose_parts_never_begin_is_refused_early() {
    let broker = Broker::start(&[]);
    for body in [vec![b'x'; 8 << 20], [b"--XX\r\nContent-Disposition: ".to_vec(), vec![b'x'; 8 << 20]].concat()] {
        let answer = broker.post("/records?topic-name=t", MULTIPART, &body);
        answer.assert_error(400, "multipart_invalid");
        assert!(answer.text().contains("within 1048576 bytes"), "{}", answer.text());
    }
}

#[test]
fn queries_are_checked() {
    let broker = Broker::start(&[]);
    let body = multipart("[1]", b"a");
    for query in ["", "?topic-name=", "?topic-name"] {
        let answer = broker.post(&format!("/records{query}"), MULTIPART, &body);
        answer.assert_error(400, "topic_name_missing");
    }
    for query in
        ["?topic=t", "?topic-name=t&x=y", "?topic-name=t&topic-name=u", "?topic-name=t&partition=0&partition=0"]
    {
        let answer = broker.post(&format!("/records{query}"), MULTIPART, &body);
        answer.assert_error(400, "query_invalid");
        let answer = broker.post(&format!("/records{query}"), BATCH, &batch(Codec::None, &records(0, 1, 1)));
        answer.assert_error(400, "query_invalid");
    }
    broker.get("/topic?topic-name=t").assert_error(404, "topic_not_found");
    for name in ["..", ".hidden", "a/b", "a%2Fb", "a%00b", "a%20b", "%FF", &"x".repeat(201)] {
        let answer = broker.post(&format!("/records?topic-name={name}"), MULTIPART, &body);
        answer.assert_error(400, "topic_name");
    }
    broker.post("/records?topic-name=a%2Db_c.d", MULTIPART, &body).assert_status(201);
    assert_eq!(broker.get("/topic?topic-name=a-b_c.d").json()["next_offset"], 1);
}

#[test]
fn bodies_of_no_known_kind_are_refused() {
    let broker = Broker::start(&[]);
    for content_type in ["text/plain", "application/json", "application/x-www-form-urlencoded", "nonsense"] {
        broker.post("/records?topic-name=t", content_type, b"a").assert_error(400, "content_type");
    }
    exchange(broker.address, &request("POST", "/records?topic-name=t", &[], b"a")).assert_error(400, "content_type");
    let headers = [("content-type", LINES), ("content-encoding", "gzip")];
    exchange(broker.address, &request("POST", "/records?topic-name=t", &headers, b"a"))
        .assert_error(415, "content_encoding");
    let upper = "Application/X-NDJSON; charset=utf-8";
    broker.post("/records?topic-name=t", upper, b"a").assert_status(201);
    broker.post("/records?topic-name=t", LINES, b"").assert_error(400, "records_missing");
    broker.post("/records?topic-name=t", LINES, b"\n\nb\n").assert_status(201);
    assert_eq!(broker.get_as("/records?topic-name=t&offset=0", LINES).text(), "a\n\n\nb\n");
}

#[test]
fn wrong_batches_are_refused_each_with_its_code() {
    let broker = Broker::start(&[]);
    let good = batch(Codec::None, &records(0, 10, 10));
    let with = |position: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[position] = byte;
        bytes
    };
    let cases = [
        ("batch_magic", with(0, b'X')),
        ("batch_version", with(4, 9)),
        ("batch_codec", with(5, 9)),
        ("batch_crc", with(good.len() - 20, b'X')),
        ("batch_crc", with(61, good[61] ^ 1)),
        ("batch_reserved", with(50, 1)),
        ("batch_length", with(8, good[8] ^ 8)),
        ("batch_truncated", good[..good.len() - 1].to_vec()),
        ("batch_truncated", good[..10].to_vec()),
        ("batch_truncated", [good.clone(), good[..70].to_vec()].concat()),
        ("batch_magic", [good.clone(), vec![0; 64]].concat()),
    ];
    for (code, body) in cases {
        broker.post("/records?topic-name=t", BATCH, &body).assert_error(400, code);
    }
    let answer = broker.post("/records?topic-name=t", BATCH, b"");
    answer.assert_error(400, "batch_empty");
    assert_eq!(
        broker.get("/topic?topic-name=t").json()["next_offset"],
        0,
        "a good batch before a bad one is not stored"
    );
}

#[test]
fn bodies_larger_than_a_batch_are_refused() {
    let broker = Broker::start(&["--batch-bytes-max", "64KiB", "--batch-records-max", "100", "--memory", "1MiB"]);
    let target = "/records?topic-name=t";
    // By the head alone: the broker waits for no byte of the body.
    let head = format!(
        "POST {target} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {RECORD}\r\ncontent-length: 131073\r\n\r\n"
    );
    exchange(broker.address, head.as_bytes()).assert_error(413, "body_too_large");
    let large = vec![b'x'; 131_073];
    exchange(broker.address, &chunked(target, RECORD, &large, 5000)).assert_error(413, "body_too_large");
    exchange(broker.address, &chunked(target, BATCH, &large, 5000)).assert_error(400, "batch_magic");

    let large = vec![b'x'; 65_536];
    broker.post(target, RECORD, &large).assert_error(413, "body_too_large");
    broker.post(target, LINES, &large).assert_error(413, "body_too_large");
    broker.post(target, MULTIPART, &multipart_of(std::slice::from_ref(&large))).assert_error(413, "body_too_large");
    broker.post(target, BATCH, &batch(Codec::None, std::slice::from_ref(&large))).assert_error(413, "batch_limit");
    // The largest that fits: 64 bytes of header, 4 of size, rounded up to a multiple of 8.
    let fits = vec![b'x'; 65_536 - 64 - 4];
    broker.post(target, RECORD, &fits).assert_status(201);
    broker.post(target, BATCH, &batch(Codec::None, std::slice::from_ref(&fits))).assert_status(201);
    broker.post(target, MULTIPART, &multipart_of(std::slice::from_ref(&fits))).assert_status(201);

    let many = records(0, 101, 3);
    broker.post(target, BATCH, &batch(Codec::None, &many)).assert_error(413, "batch_limit");
    broker.post(target, LINES, &many.join(&b'\n')).assert_error(413, "records_too_many");
    broker.post(target, MULTIPART, &multipart_of(&many)).assert_error(413, "records_too_many");
    broker.post(target, LINES, &many[1..].join(&b'\n')).assert_status(201);
    broker.post(target, MULTIPART, &multipart_of(&many[1..])).assert_status(201);

    // A batch whose data would unpack to more than a reader can hold.
    let bomb = batch(Codec::Zstd, &[vec![0; 131_073]]);
    broker.post(target, BATCH, &bomb).assert_error(413, "batch_limit");
}

/// A client that sends everything before it reads the response must get the response, not a reset.
#[test]
fn a_refused_upload_still_gets_its_answer() {
    let broker = Broker::start(&["--batch-bytes-max", "64KiB"]);
    let large = vec![b'x'; 20 << 20];
    for target in ["/records?topic-name=t", "/records", "/nowhere", "/topic?topic-name=t"] {
        let answer = broker.post(target, RECORD, &large);
        assert!([400, 404, 405, 413].contains(&answer.status), "{target}: {}", answer.status);
    }
}

/// Defect 15: any web page could fill the broker with topics through its images.
#[test]
fn only_appends_and_settings_create_topics() {
    let broker = Broker::start(&[]);
    for target in [
        "/records?topic-name=t&offset=0",
        "/records?topic-name=t&offset=0&timeout=1h",
        "/record?topic-name=t&offset=0",
        "/topic?topic-name=t",
        "/offset?topic-name=t&time=2026-01-01T00:00:00Z",
    ] {
        broker.get(target).assert_error(404, "topic_not_found");
        exchange(broker.address, &request("POST", "/records?topic-name=t", &[("content-type", "text/plain")], b"a"))
            .assert_error(400, "content_type");
    }
    assert_eq!(broker.get("/topics").json(), json!({ "topics": [] }));
    broker.create_topic("set");
    broker.post("/records?topic-name=appended", RECORD, b"a").assert_status(201);
    let names: Vec<String> = broker.get("/topics").json()["topics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|topic| topic["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["appended", "set"]);
}

#[test]
fn topics_are_not_created_when_that_is_configured() {
    let broker = Broker::start(&["--no-create-topics"]);
    for answer in [
        broker.post("/records?topic-name=t", RECORD, b"a"),
        broker.get("/records?topic-name=t&offset=0"),
        broker.get("/record?topic-name=t&offset=0"),
        broker.get("/topic?topic-name=t"),
        broker.get("/offset?topic-name=t&time=2026-01-01T00:00:00Z"),
    ] {
        answer.assert_error(404, "topic_not_found");
    }
    assert_eq!(broker.get("/topics").json(), json!({ "topics": [] }));
}

#[test]
fn a_storage_in_memory_has_a_limit() {
    let broker = Broker::start(&["--storage", "memory:", "--storage-bytes", "64KiB"]);
    broker.post("/records?topic-name=t", RECORD, &[b'r'; 100_000]).assert_error(503, "store_unavailable");
    broker.post("/records?topic-name=t", RECORD, b"r").assert_status(201);
}
