//! The client commands against a real broker: records are returned unchanged, and errors say what to do.

// Clippy recognizes tests only by their attribute; these are their helpers.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;
use support::{rawline, run};

/// Pseudo-random numbers, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }
}

/// Lines of every kind: empty, binary, with carriage returns, long; the last with a newline.
fn lines(count: usize, length_max: u64, seed: u64) -> Vec<u8> {
    let mut numbers = Numbers(seed);
    let mut out = Vec::new();
    for _ in 0..count {
        match numbers.next() % 4 {
            0 => {}
            1 => out.extend_from_slice(b"{\"id\": 17, \"text\": \"as events are\"}\r"),
            _ => {
                for _ in 0..numbers.next() % length_max {
                    let byte = numbers.next() as u8;
                    out.push(if byte == b'\n' { 0 } else { byte });
                }
            }
        }
        out.push(b'\n');
    }
    out
}

/// The lines of a command's stderr, except the one with its name.
fn said(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn assert_same(got: &[u8], want: &[u8]) {
    let differs_at = got.iter().zip(want).position(|(got, want)| got != want);
    assert!(got == want, "{} bytes for {}, first difference at {differs_at:?}", got.len(), want.len());
}

#[test]
fn lines_come_back_byte_for_byte_with_every_codec() {
    let broker = support::broker(&[]);
    let mut large = lines(6, 1_500_000, 3);
    large.extend_from_slice(&vec![b'x'; 5 << 20]);
    large.push(b'\n');
    let inputs = [lines(100_000, 60, 1), lines(1_000, 3_000, 2), large, b"\n".to_vec(), b"\n\n\na".to_vec()];
    for codec in ["none", "lz4", "zstd"] {
        for (i, input) in inputs.iter().enumerate() {
            let topic = format!("{codec}-{i}");
            let output = broker.run(&["produce", &topic, "--codec", codec], input);
            let records = input.split_inclusive(|&byte| byte == b'\n').count();
            assert!(said(&output).contains(&format!("appended {records} record")), "{}", said(&output));
            assert!(said(&output).contains(&format!("offsets 0..{records},")), "{}", said(&output));
            assert!(said(&output).ends_with("B/s)\n") && !said(&output).contains("(0.0"), "{}", said(&output));
            let mut want = input.clone();
            if !want.ends_with(b"\n") {
                want.push(b'\n');
            }
            assert_same(&broker.run(&["consume", &topic], b"").stdout, &want);
            // Small reads cut batches into slices.
            assert_same(&broker.run(&["consume", &topic, "--read-bytes", "100KiB"], b"").stdout, &want);
        }
    }
}

#[test]
fn files_and_prefixed_records_come_back_byte_for_byte() {
    let broker = support::broker(&[]);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file with spaces");
    let file = lines(10_000, 100, 4);
    std::fs::write(&path, &file).unwrap();
    let path = path.to_str().unwrap();

    broker.run(&["produce", "whole", path, "--format", "file"], b"");
    broker.run(&["produce", "whole", path, "--format", "file", "--codec", "zstd"], b"");
    let mut want = Vec::new();
    for _ in 0..2 {
        want.extend_from_slice(&(file.len() as u32).to_le_bytes());
        want.extend_from_slice(&file);
    }
    let output = broker.run(&["consume", "whole", "--format", "length-prefixed"], b"");
    assert_same(&output.stdout, &want);

    broker.run(&["produce", "prefixed", "--format", "length-prefixed", "-"], &want);
    let output = broker.run(&["consume", "prefixed", "--format", "length-prefixed"], b"");
    assert_same(&output.stdout, &want);

    broker.run(&["produce", "lines", path], b"");
    assert_same(&broker.run(&["consume", "lines"], b"").stdout, &file);
}

#[test]
fn an_empty_input_appends_nothing_and_says_so() {
    let broker = support::broker(&[]);
    for format in ["lines", "file", "length-prefixed"] {
        let output = broker.run(&["produce", "empty", "--format", format], b"");
        assert!(said(&output).contains("the input is empty"), "{}", said(&output));
    }
    let topics = broker.run(&["topics", "--json"], b"").stdout;
    assert_eq!(serde_json::from_slice::<serde_json::Value>(&topics).unwrap(), serde_json::json!([]));
    broker.run(&["topic", "set", "empty", "--payload", "bytes"], b"");
    assert!(broker.run(&["consume", "empty"], b"").stdout.is_empty());
}

#[test]
fn a_range_is_the_requested_one() {
    let broker = support::broker(&[]);
    let numbers: Vec<String> = (0..1000).map(|number| number.to_string()).collect();
    let input = numbers.join("\n");
    for codec in ["none", "zstd"] {
        broker.run(&["produce", codec, "--codec", codec, "--batch-bytes", "100"], input.as_bytes());
        for (args, from, to) in [
            (&["--offset", "earliest"][..], 0, 1000),
            (&["--offset", "latest"], 1000, 1000),
            (&["--offset", "1000"], 1000, 1000),
            (&["--offset", "2000"], 1000, 1000),
            (&["--offset", "999"], 999, 1000),
            (&["--offset", "-1"], 999, 1000),
            (&["--offset", "-1000"], 0, 1000),
            (&["--offset", "-5", "--max-records", "2"], 995, 997),
            (&["--tail", "17"], 983, 1000),
            (&["--offset", "17", "--max-records", "60"], 17, 77),
            (&["--offset", "17", "--max-records", "1", "--follow"], 17, 18),
            (&["--max-records", "0"], 0, 0),
            (&["--max-records", "5000"], 0, 1000),
            (&["--since", "2020-01-01T00:00:00+02:00"], 0, 1000),
            (&["--since", "2120-01-01T00:00:00Z"], 1000, 1000),
            (&["--since", "2020-01-01"], 0, 1000),
            (&["--since", "1577836800"], 0, 1000),
            (&["--since", "-1h"], 0, 1000),
            (&["--since", "now+1h"], 1000, 1000),
        ] {
            let output = broker.run(&[&["consume", codec], args].concat(), b"");
            let want: String = numbers[from..to].iter().map(|number| format!("{number}\n")).collect();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), want, "{codec} {args:?}");
        }
    }
}

#[test]
fn keys_and_headers_are_stored_and_shown() {
    let broker = support::broker(&[]);
    let json = |topic: &str| -> Vec<serde_json::Value> {
        let output = broker.run(&["consume", topic, "--format", "json"], b"").stdout;
        output.split_inclusive(|&byte| byte == b'\n').map(|line| serde_json::from_slice(line).unwrap()).collect()
    };
    broker.run(&["produce", "t", "-K", "\\t", "-H", "source=shell", "-H", "none"], b"ada\tlogged in\t\n\xff\t\n");
    let said = broker.run(&["produce", "t", "--key-separator", ": "], b"grace: out\nkeyless\n").stderr;
    let said = String::from_utf8(said).unwrap();
    assert!(said.contains("without the key separator \": \": 1; they have no key"), "{said}");
    broker.run(&["produce", "t", "--key", "k", "--partition", "0", "--codec", "zstd"], "x\n".repeat(100).as_bytes());
    broker.run(&["produce", "t"], b"plain\n");
    let records = json("t");
    let headers = serde_json::json!([{"key": "source", "value": "shell"}, {"key": "none", "value": null}]);
    let mut expected = vec![
        serde_json::json!({"offset": 0, "key": "ada", "headers": headers, "record": "logged in\t"}),
        serde_json::json!({"offset": 1, "key_base64": "/w==", "headers": headers, "record": ""}),
        serde_json::json!({"offset": 2, "key": "grace", "record": "out"}),
        serde_json::json!({"offset": 3, "record": "keyless"}),
    ];
    expected.extend((4..104).map(|offset| serde_json::json!({"offset": offset, "key": "k", "record": "x"})));
    expected.push(serde_json::json!({"offset": 104, "record": "plain"}));
    assert_eq!(records.len(), expected.len());
    for (mut record, expected) in records.into_iter().zip(expected) {
        let time: jiff::Timestamp = record["time"].take().as_str().unwrap().parse().unwrap();
        assert!(time.as_second() > 1_700_000_000, "{time}");
        record.as_object_mut().unwrap().remove("time");
        assert_eq!(record, expected);
    }
    assert_eq!(broker.run(&["consume", "t", "--max-records", "3"], b"").stdout, b"logged in\t\n\nout\n");
    // Converted records can have keys too.
    broker.run(&["produce", "v", "-K:", "--format", "value"], b"ada:{\"n\":1}\n");
    assert_eq!(json("v")[0]["key"], "ada");
    assert_eq!(broker.run(&["consume", "v", "--format", "value"], b"").stdout, b"{\"n\":1}\n");
}

#[test]
fn json_has_offset_time_and_record() {
    let broker = support::broker(&[]);
    broker.run(&["produce", "t"], b"plain\n\xff\xfe\n{\"a\":\"\\u00fc\"}\n");
    let output = broker.run(&["consume", "t", "--format", "json"], b"").stdout;
    let lines: Vec<serde_json::Value> =
        output.split_inclusive(|&byte| byte == b'\n').map(|line| serde_json::from_slice(line).unwrap()).collect();
    assert_eq!(lines.len(), 3);
    for (offset, line) in lines.iter().enumerate() {
        assert_eq!(line["offset"], offset);
        line["time"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    }
    assert_eq!(lines[0]["record"], "plain");
    assert_eq!(lines[1]["record_base64"], "//4=");
    assert_eq!(lines[2]["record"], "{\"a\":\"\\u00fc\"}");
}

/// Sends a signal, and returns how the command ended and what it wrote to stderr.
fn end(mut command: std::process::Child, signal: rustix::process::Signal) -> (Option<i32>, String) {
    rustix::process::kill_process(rustix::process::Pid::from_child(&command), signal).unwrap();
    let mut stderr = String::new();
    command.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    (command.wait().unwrap().code(), stderr)
}

const SIGNALS: [rustix::process::Signal; 2] = [rustix::process::Signal::INT, rustix::process::Signal::TERM];

/// Both signals, since a supervisor sends the second one.
#[test]
fn a_member_of_a_group_commits_and_leaves_at_a_signal() {
    for signal in SIGNALS {
        let broker = support::broker(&[]);
        broker.run(&["produce", "t"], b"a\nb\nc\n");
        let args = ["consume", "t", "--group", "g", "--follow"];
        let mut member = broker.rawline(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(member.stdout.take().unwrap()).lines();
        let read: Vec<String> = lines.by_ref().take(3).map(Result::unwrap).collect();
        assert_eq!(read, ["a", "b", "c"]);
        assert_eq!(end(member, signal), (Some(0), String::new()), "{signal:?}");
        let group = broker.run(&["group", "show", "g", "--json"], b"").stdout;
        let group: serde_json::Value = serde_json::from_slice(&group).unwrap();
        assert_eq!((&group["members"], &group["offsets"][0]["offset"]), (&serde_json::json!([]), &3.into()), "{group}");
    }
}

#[test]
fn a_producer_appends_what_it_has_read_at_a_signal() {
    for signal in SIGNALS {
        let broker = support::broker(&[]);
        // The first two records fill a batch; the third one waits for more.
        let args = ["produce", "t", "--batch-bytes", "20", "--linger", "10m"];
        let mut producer = broker.rawline(&args).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut input = producer.stdin.take().unwrap();
        input.write_all(b"0123456789\n0123456789\nthird\n").unwrap();
        while run(broker.rawline(&["consume", "t", "--max-records", "1"]), b"").stdout.is_empty() {
            rawline_testkit::process::pause();
        }
        let (code, stderr) = end(producer, signal);
        assert_eq!(code, Some(1), "{signal:?}: {stderr}");
        assert!(stderr.contains("appended 3 records") && stderr.contains("rawline: interrupted"), "{stderr}");
        assert_eq!(broker.run(&["consume", "t"], b"").stdout, b"0123456789\n0123456789\nthird\n");
    }
}

#[test]
fn a_subscription_saves_its_position_at_a_signal() {
    for signal in SIGNALS {
        let broker = support::broker(&[]);
        broker.run(&["produce", "t"], b"a\nb\nc\n");
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("cursor");
        let args = ["subscribe", "t", "--from", "first", "--cursor-file", file.to_str().unwrap()];
        let mut reader = broker.rawline(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(reader.stdout.take().unwrap()).lines();
        let read: Vec<String> = lines.by_ref().take(3).map(Result::unwrap).collect();
        assert_eq!(read, ["a", "b", "c"]);
        assert_eq!(end(reader, signal), (Some(0), String::new()), "{signal:?}");
        assert!(std::fs::read_to_string(&file).unwrap().ends_with("/0=3\n"));
    }
}

#[test]
fn a_group_is_not_reset_to_an_offset_after_the_end() {
    let broker = support::broker(&[]);
    broker.run(&["produce", "t"], b"a\nb\n");
    broker.run(&["group", "reset", "g", "t", "--offset", "2", "--yes"], b"");
    let output = run(broker.rawline(&["group", "reset", "g", "t", "--offset", "3", "--yes"]), b"");
    assert_eq!(output.status.code(), Some(1));
    let stderr = said(&output);
    assert!(stderr.contains("offset 3 is after the end of partition 0 of topic \"t\"; give 2 at most"), "{stderr}");
    assert_eq!(broker.run(&["consume", "t", "--group", "g"], b"").stdout, b"", "it continues after the last record");
}

#[test]
fn records_are_deleted_and_offsets_set_after_a_confirmation_only() {
    let broker = support::broker(&[]);
    broker.run(&["produce", "t"], b"a\nb\nc\n");
    let offsets = || {
        let topic = broker.run(&["topic", "t", "--json"], b"").stdout;
        let topic: serde_json::Value = serde_json::from_slice(&topic).unwrap();
        let groups = broker.run(&["group", "list", "--json"], b"").stdout;
        let groups: serde_json::Value = serde_json::from_slice(&groups).unwrap();
        (topic["first_offset"].as_u64().unwrap(), groups.as_array().unwrap().len())
    };
    let trim = ["topic", "trim", "t", "--before", "2"];
    let reset = ["group", "reset", "g", "t", "--offset", "1"];
    for (args, change) in [(&trim[..], "the deletion of records of topic"), (&reset, "the reset of group \"g\"")] {
        let output = run(broker.rawline(args), b"y\n");
        let stderr = said(&output);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(change) && stderr.contains("add --yes to confirm it"), "{stderr}");
        let (code, shown) = support::terminal::on_terminal(&broker.url(), 80, args, "n\n");
        assert!(code == Some(1) && shown.contains("[y/N]"), "{code:?}: {shown}");
    }
    assert_eq!(offsets(), (0, 0), "nothing was confirmed");
    let (code, shown) = support::terminal::on_terminal(&broker.url(), 80, &trim, "y\n");
    let question = "Delete the 2 records with the offsets 0..2 of topic t, partition 0, permanently? [y/N] ";
    assert!(code == Some(0) && shown.contains(question) && shown.contains("first offset   2"), "{code:?}: {shown}");
    let (code, shown) = support::terminal::on_terminal(&broker.url(), 80, &reset, "yes\n");
    let question = "Set the offsets of group g in 1 partition(s) of topic t?";
    assert!(code == Some(0) && shown.contains(question), "{code:?}: {shown}");
    assert_eq!(offsets(), (2, 1));
    // What is after the end is refused without a question.
    for args in [["topic", "trim", "t", "--before", "4"], ["group", "reset", "g", "t", "--offset=4"]] {
        let (code, shown) = support::terminal::on_terminal(&broker.url(), 80, &args, "y\n");
        assert!(code == Some(1) && !shown.contains("[y/N]"), "{args:?}: {code:?}: {shown}");
    }
}

#[test]
fn a_broker_listens_on_the_address_of_a_name() {
    let broker = support::broker(&["--listen", "localhost:0"]);
    assert!(broker.url().starts_with("http://127.0.0.1:"), "{}", broker.url());
    broker.run(&["topics"], b"");
    for wrong in ["localhost", "127.0.0.1", "no.such.name.invalid:1", ":1", "localhost:65536"] {
        let output = run(rawline("http://x", &["serve", "--storage", "memory:", "--listen", wrong]), b"");
        assert_eq!(output.status.code(), Some(2), "{wrong}: {}", said(&output));
    }
}

#[test]
fn only_memory_has_a_size_of_its_own() {
    let output = run(rawline("http://x", &["serve", "--storage", "data", "--storage-bytes", "1GiB"]), b"");
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("--storage-bytes limits --storage memory:"), "{}", said(&output));
}

#[test]
fn follow_gives_records_as_they_come_and_ends_cleanly_when_interrupted() {
    SIGNALS.into_iter().for_each(follow_until);
}

fn follow_until(signal: rustix::process::Signal) {
    let broker = support::broker(&[]);
    broker.run(&["produce", "t"], b"before\n");
    let mut consumer =
        broker.rawline(&["consume", "t", "--follow"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(consumer.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "before");
    for number in 0..3 {
        broker.run(&["produce", "t"], format!("{number} a\n{number} b\n").as_bytes());
        assert_eq!(lines.next().unwrap().unwrap(), format!("{number} a"));
        assert_eq!(lines.next().unwrap().unwrap(), format!("{number} b"));
    }
    assert_eq!(end(consumer, signal), (Some(0), String::new()), "{signal:?}");
    assert!(lines.next().is_none());
}

#[test]
fn a_subscription_continues_from_its_file_and_reports_on_stderr() {
    let broker = support::broker(&[]);
    broker.run(&["produce", "dns"], b"a\nb\nc\n");
    broker.run(&["produce", "zeek.http"], b"d\n");
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("cursor");
    let cursor = file.to_str().unwrap();
    let first = ["subscribe", "dns", "--from", "first", "--max-records", "2", "--cursor-file", cursor];
    assert_eq!(broker.run(&first, b"").stdout, b"a\nb\n");
    assert!(
        std::fs::read_to_string(&file).unwrap().contains(";dns~")
            && std::fs::read_to_string(&file).unwrap().ends_with("/0=2\n")
    );
    // Within the batch, whatever --from says.
    broker.run(&["produce", "dns"], b"e\n");
    let second = ["subscribe", "dns", "--max-records", "2", "--cursor-file", cursor, "--format", "json"];
    let output = broker.run(&second, b"");
    let lines: Vec<serde_json::Value> =
        output.stdout.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let shown: Vec<_> = lines
        .iter()
        .map(|line| {
            (line["topic"].as_str().unwrap(), line["partition"].as_u64().unwrap(), line["record"].as_str().unwrap())
        })
        .collect();
    assert_eq!(shown, [("dns", 0, "c"), ("dns", 0, "e")]);
    assert!(std::fs::read_to_string(&file).unwrap().ends_with("/0=4\n"));
    // Several topics; skipped records are reported on stderr, not in the output.
    let prefixes = ["subscribe", "--prefix", "zeek.", "--prefix", "dn", "--from", "first"];
    let skipping = [&prefixes[..], &["--slow", "skip", "--max-lag", "2", "--max-records", "2"]].concat();
    let output = broker.run(&skipping, b"");
    let mut lines: Vec<_> = output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
    lines.sort();
    assert_eq!(lines, [b"d", b"e"]);
    assert!(
        said(&output).contains("skipped 3 record(s) of dns, partition 0, which continues at offset 3"),
        "{output:?}"
    );
    for (args, code, expected) in [
        (&["subscribe"][..], 2, "required"),
        (&["subscribe", "dns", "--from", "yesterday"], 2, "give end, first or an offset"),
        (&["subscribe", "dns", "--from", "2026-11-26T10:00:00[Europe/Berlin]"], 2, "give the offset only"),
        (&["subscribe", "missing"], 1, "topic_not_found"),
        (&["subscribe", "--prefix", "", "--from", "7"], 1, "offset"),
    ] {
        let output = run(broker.rawline(args), b"");
        assert_eq!(output.status.code(), Some(code), "{args:?}: {output:?}");
        assert!(said(&output).contains(expected) && output.stdout.is_empty(), "{args:?}: {output:?}");
    }
}

#[test]
fn a_reader_that_stops_early_is_not_a_failure() {
    let broker = support::broker(&[]);
    broker.run(&["produce", "t"], &lines(200_000, 60, 5));
    for format in ["raw", "json"] {
        let mut consumer = broker
            .rawline(&["consume", "t", "--format", format])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = [0; 1];
        consumer.stdout.take().unwrap().read_exact(&mut first).unwrap();
        let output = consumer.wait_with_output().unwrap();
        assert_eq!((output.status.code(), said(&output).as_str()), (Some(0), ""));
    }
}

#[test]
fn topics_are_listed_as_text_and_as_json() {
    let broker = support::broker(&[]);
    let output = broker.run(&["topics"], b"");
    assert!(output.stdout.is_empty() && said(&output).contains("no topics yet"), "{}", said(&output));
    broker.run(&["produce", "one"], b"a\nb\n");
    broker.run(&["produce", "two-Longer_name.x"], b"a\n");
    let table = String::from_utf8(broker.run(&["topics"], b"").stdout).unwrap();
    let rows: Vec<&str> = table.lines().collect();
    assert_eq!(rows.len(), 3, "{table}");
    assert!(
        rows.iter().any(|row| row.starts_with("one ")) && rows.iter().any(|row| row.starts_with("two-Longer_name.x "))
    );
    let json: serde_json::Value = serde_json::from_slice(&broker.run(&["topics", "--json"], b"").stdout).unwrap();
    assert_eq!(json.as_array().unwrap().len(), 2);
    let topic = broker.run(&["topic", "one", "--json"], b"").stdout;
    let topic: serde_json::Value = serde_json::from_slice(&topic).unwrap();
    assert_eq!((&topic["name"], &topic["next_offset"]), (&"one".into(), &2.into()));
    assert!(topic["bytes"].as_u64().unwrap() > 0 && topic["latest_commit_at"].is_string());
    let text = String::from_utf8(broker.run(&["topic", "one"], b"").stdout).unwrap();
    assert!(text.contains("next offset    2\n"), "{text}");
}

#[test]
fn lists_are_filtered_sorted_and_cut_to_the_terminal() {
    let broker = support::broker(&[]);
    let long = format!("dns-{}", "x".repeat(150));
    for (topic, records) in [("dns", "a\n"), ("http", "a\nb\nc\n"), (&long, "a\nb\n")] {
        broker.run(&["produce", topic], records.as_bytes());
    }
    let names = |args: &[&str]| -> Vec<String> {
        let output = broker.run(&[args, &["--format", "json"]].concat(), b"").stdout;
        let topics: serde_json::Value = serde_json::from_slice(&output).unwrap();
        topics.as_array().unwrap().iter().map(|topic| topic["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&["topics"]), ["dns", &long, "http"]);
    assert_eq!(names(&["topic", "list"]), ["dns", &long, "http"]);
    assert_eq!(names(&["topics", "--contains", "t"]), ["http"]);
    assert_eq!(names(&["topics", "--contains", "s-x"]), [&*long]);
    assert_eq!(names(&["topics", "--contains", "none"]), [""; 0]);
    assert_eq!(names(&["topics", "--prefix", "dns", "--sort", "records"]), [&*long, "dns"]);
    assert_eq!(names(&["topics", "--sort", "records"]), ["http", &long, "dns"]);
    let empty = broker.run(&["topics", "--contains", "none"], b"");
    assert!(empty.stdout.is_empty() && said(&empty).contains("no topic has such a name"), "{}", said(&empty));
    // A script gets all of the names.
    let table = String::from_utf8(broker.run(&["topics"], b"").stdout).unwrap();
    assert!(table.contains(&long), "{table}");
    let (code, table) = support::terminal::on_terminal(&broker.url(), 100, &["topics"], "");
    assert_eq!((code, table.lines().map(|line| line.chars().count()).max()), (Some(0), Some(100)), "{table}");
    assert!(table.contains("dns-xxxx") && table.contains("x…  ") && !table.contains(&long), "{table}");
    // A topic with the name of a command.
    broker.run(&["produce", "list"], b"a\n");
    let shown = String::from_utf8(broker.run(&["topic", "show", "list"], b"").stdout).unwrap();
    assert!(shown.starts_with("name           list\n"), "{shown}");
    let output = run(broker.rawline(&["topics", "--json", "--format", "table"]), b"");
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
}

#[test]
fn structured_values_are_json_on_a_terminal_and_bytes_in_a_pipe() {
    let broker = support::broker(&[]);
    broker.run(&["produce", "v", "--format", "value"], b"{\"n\":1}\n");
    let piped = broker.run(&["consume", "v"], b"").stdout;
    assert!(!piped.contains(&b'{'), "{piped:?}");
    let shown = |args: &[&str]| support::terminal::on_terminal(&broker.url(), 80, args, "");
    assert_eq!(shown(&["consume", "v"]), (Some(0), "{\"n\":1}\n".to_owned()));
    broker.run(&["produce", "t"], b"text\n");
    assert_eq!(shown(&["consume", "t"]), (Some(0), "text\n".to_owned()));
}

#[test]
fn top_shows_topics_groups_and_rates() {
    let broker = support::broker(&[]);
    broker.run(&["topic", "create", "four", "--partitions", "4"], b"");
    broker.run(&["produce", "t"], b"a\nb\n");
    broker.run(&["group", "reset", "g", "t", "--offset", "1", "--yes"], b"");
    let mut top = broker.rawline(&["top", "--once", "--interval", "1s"]);
    let top = top.stdout(Stdio::piped()).spawn().unwrap();
    // Whether it has had its first look isn't known: some of these are appended after it.
    for _ in 0..3 {
        broker.run(&["produce", "four"], "x\n".repeat(1000).as_bytes());
    }
    let output = top.wait_with_output().unwrap();
    let table = String::from_utf8(output.stdout).unwrap();
    let row = |name: &str| -> Vec<String> {
        let row = table
            .lines()
            .find(|line| line.split_whitespace().next() == Some(name))
            .unwrap_or_else(|| panic!("{table}"));
        row.split_whitespace().map(str::to_owned).collect()
    };
    assert!(output.status.success() && table.contains("topics 2, by rate  groups 1"), "{table}");
    assert_eq!(row("t")[1..3], ["1", "2"]);
    assert_eq!((&*row("four")[1], row("t").last().unwrap().as_str()), ("4", "B"), "{table}");
    assert_eq!(row("g"), ["g", "empty", "0", "1", "0"]);
    // Live on a terminal until a key ends it; the terminal is as before.
    let (code, shown) = support::terminal::on_terminal(&broker.url(), 60, &["top"], "q");
    assert!(code == Some(0) && shown.contains("\u{1b}[?1049h"), "{code:?}: {shown:?}");
    assert!(shown.contains("TOPIC") && shown.contains("GROUP") && shown.ends_with("\u{1b}[?1049l"), "{shown:?}");
    let output = run(broker.rawline(&["top"]), b"");
    assert!(output.status.code() == Some(2) && said(&output).contains("--once"), "{}", said(&output));
}

#[test]
fn every_list_can_be_json() {
    let broker = support::broker(&[]);
    let directory = tempfile::tempdir().unwrap();
    let keys = directory.path().join("keys.toml");
    let keys = keys.to_str().unwrap();
    broker.run(&["key", "add", "reader", "--read", "dns", "web.*", "--connections", "5", "--keys", keys], b"");
    broker.run(&["produce", "t"], b"a\nb\n");
    broker.run(&["group", "reset", "g", "t", "--offset", "1", "--yes"], b"");
    let json = |args: &[&str]| -> serde_json::Value {
        let [short, long] =
            [&["--json"][..], &["--format", "json"]].map(|format| broker.run(&[args, format].concat(), b"").stdout);
        if args[0] != "cost" {
            assert_eq!(short, long, "{args:?}");
        }
        serde_json::from_slice(&long).unwrap()
    };
    broker.run(&["group", "reset", "late", "t", "--offset", "0", "--yes"], b"");
    let group = |name: &str, lag| serde_json::json!({"name": name, "state": "empty", "members": 0, "topics": ["t"], "lag": lag});
    assert_eq!(json(&["group", "list"]), serde_json::json!([group("g", 1), group("late", 2)]));
    assert_eq!(json(&["group", "list", "--sort", "lag"]), serde_json::json!([group("late", 2), group("g", 1)]));
    assert_eq!(json(&["group", "show", "g"])["offsets"][0]["lag"], 1);
    assert_eq!(json(&["topic", "t"]), json(&["topic", "show", "t"]));
    assert_eq!(json(&["brokers"]), serde_json::json!([]));
    assert_eq!(json(&["cost"])["requests"]["put"], 0);
    let key = &json(&["key", "list", "--keys", keys])[0];
    assert_eq!((&key["name"], &key["read"][1], &key["connections"]), (&"reader".into(), &"web.*".into(), &5.into()));
    assert!(!key.to_string().contains("sha"), "hashes stay in the file: {key}");
}

#[test]
fn failures_have_their_exit_code_and_say_what_to_do() {
    let broker = support::broker(&["--api-key", "right"]);
    let url = broker.url();
    let unreachable_url = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    for (url, args, input, code, what) in [
        (&unreachable_url, &["topics"][..], "", 1, "rawline serve"),
        (&unreachable_url, &["topic", "t"], "", 1, "rawline serve"),
        (&unreachable_url, &["consume", "t"], "", 1, "is the broker running"),
        (&unreachable_url, &["produce", "t"], "a\n", 1, "is the broker running"),
        (&url, &["topics"], "", 1, "401"),
        (&url, &["produce", "t", "--api-key", "wrong"], "a\n", 1, "401"),
        (&url, &["consume", "t", "--api-key", "wrong"], "", 1, "401"),
        (&url, &["produce", "t", "/no/such/file", "--api-key", "right"], "", 1, "can't read /no/such/file"),
        (&url, &["produce", "t", "/", "--api-key", "right"], "", 1, "is a directory"),
        (&url, &["produce", "", "--api-key", "right"], "a\n", 1, "400"),
        (&url, &["produce", "t", "--api-key", "right", "--format", "length-prefixed"], "ab", 1, "record 1"),
        (&url, &["produce", "t", "--codec", "gzip"], "", 2, "none, lz4, zstd"),
        (&url, &["produce", "t", "--linger", "5"], "", 2, "5ms"),
        (&url, &["produce"], "", 2, "TOPIC"),
        (&url, &["produce", "t", "--batch-bytes", "0", "--api-key", "right"], "a\n", 2, "batch_bytes"),
        (&url, &["consume", "t", "--offset", "-x"], "", 2, "earliest or latest"),
        (&url, &["consume", "t", "--offset", "1", "--since", "2026-01-01T00:00:00Z"], "", 2, "--since"),
        (&url, &["consume", "t", "--since", "yesterday"], "", 2, "--since"),
        (&url, &["consume", "t", "--since", "2026-11-26T10:00:00+01:00[Europe/Berlin]"], "", 2, "give the offset only"),
        (&url, &["group", "reset", "g", "t", "--since", "2026-11-26[Europe/Berlin]"], "", 2, "give the offset only"),
        (&url, &["topics", "--broker", "127.0.0.1:1"], "", 2, "http://127.0.0.1:51313"),
        (&url, &["topics", "--broker", "ftp://example.org"], "", 2, "http://127.0.0.1:51313"),
        (&url, &["nonsense"], "", 2, "nonsense"),
    ] {
        let output = run(rawline(url, args), input.as_bytes());
        let stderr = said(&output);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {stderr}");
        assert!(stderr.contains(what), "{args:?}: {stderr}");
        assert!(code == 2 || stderr.lines().any(|line| line.starts_with("rawline: ")), "{args:?}: {stderr}");
        assert!(!stderr.contains("right"), "the key was shown: {stderr}");
    }
}

#[test]
fn usage_shows_no_flag_as_required_because_its_variable_is_set() {
    let usage = |args: &[&str]| {
        let output = run(
            {
                let mut command = rawline("http://x", args);
                command.env("RAWLINE_API_KEY", "k");
                command
            },
            b"",
        );
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        said(&output).lines().find_map(|line| line.strip_prefix("Usage: ").map(str::to_owned)).unwrap()
    };
    assert_eq!(usage(&["produce"]), "rawline produce <TOPIC> [FILE]");
    assert_eq!(usage(&["produce", "--broker", "http://y"]), "rawline produce --broker <URL> <TOPIC> [FILE]");
}

#[test]
fn a_profile_names_a_broker_with_its_key() {
    use std::os::unix::fs::PermissionsExt;
    let broker = support::broker(&["--api-key", "secret-of-prod"]);
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join(".config/rawline/config.toml");
    let key = home.path().join("prod.key");
    std::fs::write(&key, "secret-of-prod\n").unwrap();
    std::fs::set_permissions(&key, PermissionsExt::from_mode(0o644)).unwrap();
    let command = |args: &[&str], variables: &[(&str, &str)], input: &[u8]| {
        let mut command = std::process::Command::new(support::RAWLINE);
        command.args(args).env_clear().env("HOME", home.path()).envs(variables.iter().copied());
        let output = run(command, input);
        assert!(!said(&output).contains("secret") && !String::from_utf8_lossy(&output.stdout).contains("secret"));
        (output.status.code().unwrap(), String::from_utf8_lossy(&output.stdout).into_owned() + &said(&output))
    };
    let (url, key_file) = (broker.url(), key.to_str().unwrap());
    let add = ["profile", "add", "prod", "--broker", &url, "--api-key-file", key_file, "--use"];
    let (code, text) = command(&add, &[], b"");
    assert!(code == 1 && text.contains("chmod 600"), "{text}");
    std::fs::set_permissions(&key, PermissionsExt::from_mode(0o600)).unwrap();
    assert_eq!(command(&add, &[], b"").0, 0);
    assert_eq!(command(&["profile", "add", "copy", "--broker", &url, "--api-key-stdin"], &[], b"secret-of-prod").0, 0);
    assert_eq!(command(&["profile", "add", "dead", "--broker", "http://127.0.0.1:1"], &[], b"").0, 0);
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "the file has a key");
    // The current one, one by flag, one by variable.
    assert_eq!(command(&["produce", "t"], &[], b"a\n").0, 0);
    assert_eq!(command(&["consume", "t", "--profile", "copy"], &[], b""), (0, "a\n".to_owned()));
    assert_eq!(command(&["consume", "t"], &[("RAWLINE_PROFILE", "copy")], b""), (0, "a\n".to_owned()));
    for (args, variables, expected) in [
        (
            &["profile", "show"][..],
            &[][..],
            format!("broker   {url} (from profile \"prod\")\napi key  from profile \"prod\"\n"),
        ),
        (
            &["profile", "show"],
            &[("RAWLINE_BROKER", "http://x:1")],
            "broker   http://x:1 (from RAWLINE_BROKER)\napi key  none\n".into(),
        ),
    ] {
        assert_eq!(command(args, variables, b""), (0, expected), "{args:?}");
    }
    // Errors say which address and which key were used.
    for (args, variables, part) in [
        (&["topics", "--profile", "dead"][..], &[][..], "(this one is from profile \"dead\")"),
        (&["topics"], &[("RAWLINE_BROKER", "http://127.0.0.1:1")], "(this one is from RAWLINE_BROKER)"),
        (&["topics", "--broker", "http://127.0.0.1:1"], &[], "(this one is from --broker)"),
        (&["topics", "--profile", ""], &[("RAWLINE_BROKER", &url)], "401, unauthorized"),
        (&["topics", "--profile", ""], &[("RAWLINE_BROKER", &url)], "(none was given)"),
        (&["topics"], &[("RAWLINE_API_KEY", "wrong")], "(this one is from RAWLINE_API_KEY)"),
        (&["topics", "--profile", "typo"], &[], "no profile \"typo\"; the profiles are prod, copy, dead"),
    ] {
        let (code, text) = command(args, variables, b"");
        assert!(code != 0 && text.contains(part), "{args:?} {variables:?}: {text}");
    }
    // The key isn't sent to another broker.
    let other = support::broker(&["--api-key", "secret-of-prod"]);
    let (code, text) = command(&["topics", "--broker", &other.url()], &[], b"");
    assert!(code == 1 && text.contains("401"), "{text}");
    assert_eq!(command(&["topics", "--profile", "prod", "--broker", &other.url()], &[], b"").0, 0);
    let (_, table) = command(&["profile", "list"], &[], b"");
    assert!(table.contains("prod *") && table.contains(key_file) && table.contains("stored"), "{table}");
    let (_, json) = command(&["profile", "list", "--json"], &[], b"");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (&json[1]["name"], &json[1]["has_key"], &json[2]["has_key"]),
        (&"copy".into(), &true.into(), &false.into())
    );
    assert_eq!(command(&["profile", "use", "dead"], &[], b"").0, 0);
    assert_eq!(command(&["topics"], &[], b"").0, 1);
    assert_eq!(command(&["profile", "remove", "dead"], &[], b"").0, 0);
    assert_eq!(command(&["profile", "use", "dead"], &[], b"").0, 2);
    // A stored key that others can read is refused.
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o640)).unwrap();
    let (code, text) = command(&["topics"], &[], b"");
    assert!(code == 1 && text.contains("chmod 600"), "{text}");
}

#[test]
fn what_was_read_before_a_bad_record_is_appended() {
    let broker = support::broker(&[]);
    let mut input = Vec::new();
    for record in ["one", "two"] {
        input.extend_from_slice(&(record.len() as u32).to_le_bytes());
        input.extend_from_slice(record.as_bytes());
    }
    input.extend_from_slice(&[9, 0, 0, 0, b'x']);
    let output = run(broker.rawline(&["produce", "t", "--format", "length-prefixed"]), &input);
    assert_eq!(output.status.code(), Some(1));
    let stderr = said(&output);
    assert!(stderr.contains("record 3: the input ends after 1 of 9 bytes"), "{stderr}");
    assert!(stderr.contains("appended 2 records"), "{stderr}");
    assert_eq!(broker.run(&["consume", "t"], b"").stdout, b"one\ntwo\n");
}

#[test]
fn a_failure_before_the_first_record_does_not_claim_an_empty_input() {
    let broker = support::broker(&[]);
    for (format, input) in [("length-prefixed", &b"ab"[..]), ("value", b"{\n")] {
        let output = run(broker.rawline(&["produce", "t", "--format", format]), input);
        let stderr = said(&output);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(!stderr.contains("empty") && !stderr.contains("appended"), "{format}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{format}: {stderr}");
    }
}

#[test]
fn batches_are_compressed_as_requested() {
    let broker = support::broker(&[]);
    let input = b"the same line again and again\n".repeat(10_000);
    let bytes = |topic: &str, flags: &[&str]| {
        broker.run(&[&["produce", topic], flags].concat(), &input);
        let topic = broker.run(&["topic", topic, "--json"], b"").stdout;
        serde_json::from_slice::<serde_json::Value>(&topic).unwrap()["bytes"].as_u64().unwrap()
    };
    let plain = bytes("plain", &[]);
    for flags in [["--compression", "lz4"], ["--compression", "zstd"], ["--codec", "zstd"]] {
        let compressed = bytes(flags.concat().trim_start_matches('-'), &flags);
        assert!(compressed < plain / 5, "{flags:?}: {compressed} of {plain}");
    }
    // The lines may be split into a different number of batches, each with a header.
    let none = bytes("none", &["--compression", "none"]);
    assert!(none.abs_diff(plain) < plain / 10, "{none} and {plain}");
}

#[test]
fn a_missing_topic_is_an_error_that_says_how_to_list_topics() {
    let broker = support::broker(&["--no-create-topics"]);
    for args in [&["consume", "typo"][..], &["consume", "typo", "--follow"], &["topic", "typo"]] {
        let output = run(broker.rawline(args), b"");
        let stderr = said(&output);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {stderr}");
        assert!(stderr.contains("typo") && stderr.contains("`rawline topics`"), "{args:?}: {stderr}");
    }
}

#[test]
fn storage_that_cannot_be_opened_is_an_error_with_its_flag() {
    for (flags, flag) in [
        (&["--storage", "/dev/null/data"][..], "--storage /dev/null/data"),
        (&["--storage", "s3://bucket/prefix", "--cache-dir", "/dev/null/cache"], "--cache-dir"),
        (&["--storage", "ftp://bucket"], "--storage"),
        (&["--storage", "s3:/bucket/prefix"], "s3://BUCKET/PREFIX"),
        (&["--storage", "memory"], "memory:, or a directory, such as ./memory"),
    ] {
        let args = [&["serve", "--listen", "127.0.0.1:0"], flags].concat();
        let output = run(rawline("http://x", &args), b"");
        assert!(!output.status.success(), "{flags:?}");
        assert!(said(&output).contains(flag), "{flags:?}: {}", said(&output));
    }
}

#[test]
fn the_broker_raises_its_limit_on_open_files() {
    // Not a script that this test writes: until every process that another test starts meanwhile has closed its copy of
    // the open file, it can't be executed.
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/few_files.sh");
    let rawline = ("RAWLINE".to_owned(), support::RAWLINE.to_owned());
    let broker = support::Broker::start_with(program, &[], vec![rawline]);
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", broker.pid())).unwrap();
    let (_, line) = limits.split_once("Max open files").unwrap();
    let [soft, hard] = [0, 1].map(|column| line.split_whitespace().nth(column).unwrap());
    assert_ne!(soft, "256", "{limits}");
    assert_eq!(soft, hard, "{limits}");
}

#[test]
fn bash_completes_commands_flags_and_values() {
    let complete = |words: &[&str]| -> Vec<String> {
        let words: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        let script = format!(
            "source <(\"$RAWLINE\" completions bash); COMP_WORDS=({}); COMP_CWORD={}; \
             _rawline rawline \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"; \
             printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            words.join(" "),
            words.len() - 1,
        );
        let mut bash = std::process::Command::new("bash");
        bash.args(["--norc", "-c", &script]).env("RAWLINE", support::RAWLINE);
        let output = run(bash, b"");
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
    };
    assert_eq!(complete(&["rawline", "subs"]), ["subscribe"]);
    assert_eq!(complete(&["rawline", "group", "re"]), ["reset"]);
    assert_eq!(complete(&["rawline", "consume", "dns", "--ta"]), ["--tail"]);
    assert_eq!(complete(&["rawline", "topics", "--sort", "pa"]), ["partitions"]);
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        let script = run(rawline("http://x", &["completions", shell]), b"").stdout;
        let script = String::from_utf8(script).unwrap();
        assert!(script.contains("subscribe") && script.contains("tail"), "{shell}");
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let directory = tempfile::tempdir().unwrap();
    let pages = directory.path().join("share/man1");
    let output = run(rawline("http://x", &["man", pages.to_str().unwrap()]), b"");
    assert!(output.status.success(), "{}", said(&output));
    let page = |name: &str| std::fs::read_to_string(pages.join(name)).unwrap();
    for (name, part) in [
        ("rawline.1", "rawline\\-subscribe(1)"),
        ("rawline-consume.1", "\\-\\-tail"),
        ("rawline-group-reset.1", "rawline group reset nightly dns"),
    ] {
        assert!(page(name).starts_with(".ie \\n(.g") && page(name).contains(part), "{name}: {}", page(name));
    }
    let refused = run(rawline("http://x", &["man", "/dev/null/man1"]), b"");
    assert!(
        refused.status.code() == Some(1) && said(&refused).contains("can't write to /dev/null/man1"),
        "{refused:?}"
    );
}

#[test]
fn the_version_names_commit_and_features() {
    let output = run(rawline("http://x", &["--version"]), b"").stdout;
    let line = String::from_utf8(output).unwrap();
    let (version, built) = line.trim_end().trim_end_matches(')').split_once(" (commit ").unwrap();
    assert_eq!(version, concat!("rawline ", env!("CARGO_PKG_VERSION")));
    let mut parts = built.splitn(2, ", ");
    let (commit, features) = (parts.next().unwrap(), parts.next().unwrap());
    assert!(commit == "unknown" || commit.len() >= 12, "{line}");
    assert_eq!(features.starts_with("full"), cfg!(feature = "full"), "{line}");
}

#[test]
fn every_help_has_examples_and_reads_as_text() {
    let mut commands = vec![
        &["produce"][..],
        &["consume"],
        &["subscribe"],
        &["topics"],
        &["topic"],
        &["topic", "trim"],
        &["group"],
        &["group", "list"],
        &["group", "show"],
        &["group", "reset"],
        &["group", "delete"],
        &["serve"],
        &["value"],
        &["value", "encode"],
        &["value", "decode"],
        &["completions"],
        &["man"],
        &["profile"],
        &["top"],
        &["lab"],
    ];
    if cfg!(feature = "full") {
        commands.extend([
            &["bench"][..],
            &["bench", "write"],
            &["bench", "read"],
            &["bench", "latency"],
            &["bench", "delivery"],
            &["bench", "limits"],
            &["bench", "proxy"],
        ]);
    }
    for command in commands {
        let output = run(rawline("http://x", &[command, &["--help"]].concat()), b"");
        let help = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && help.contains("Examples:"), "{help}");
        assert!(help.contains(&format!("rawline {}", command[0])), "{help}");
        // Each description begins with a capital letter, of a verb or a noun.
        let descriptions = help.lines().filter_map(|line| line.strip_prefix("          "));
        for description in descriptions.filter(|line| !line.starts_with([' ', '[', '-'])).take(1) {
            assert!(description.starts_with(|sign: char| sign.is_uppercase()), "{description}");
        }
        assert!(!help.contains("Most "), "a maximum is called a maximum: {help}");
    }
}

#[test]
fn produce_and_consume_outlive_the_brokers_restart() {
    let mut broker = support::broker(&[]);
    broker.run(&["produce", "t"], b"begin\n");
    let mut producer = broker
        .rawline(&["produce", "t", "--batch-bytes", "2KiB"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut consumer = broker.rawline(&["consume", "t", "--follow"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut consumed = BufReader::new(consumer.stdout.take().unwrap()).lines().map(|line| line.unwrap());
    assert_eq!(consumed.next().unwrap(), "begin");

    let mut input = producer.stdin.take().unwrap();
    let mut sent = 0;
    let mut seen = 0;
    for _ in 0..3 {
        // Enough to be in flight when the broker is killed.
        for _ in 0..20_000 {
            writeln!(input, "{sent}").unwrap();
            sent += 1;
        }
        broker.kill();
        for _ in 0..1000 {
            writeln!(input, "{sent}").unwrap();
            sent += 1;
        }
        broker.start_again();
        // The consumer receives every record in order; a record whose response was lost may be duplicated.
        while seen < sent {
            let line: u64 = consumed.next().unwrap().parse().unwrap();
            assert!(line <= seen, "{line} came before {seen}");
            seen = seen.max(line + 1);
        }
    }
    drop(input);
    let output = producer.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains(&format!("appended {sent} records")), "{}", said(&output));
    consumer.kill().unwrap();
    consumer.wait().unwrap();
}

#[test]
fn a_bucket_that_is_down_is_reported_while_the_start_retries() {
    // A port where no program listens.
    let endpoint = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let endpoint = format!("http://{endpoint}");
    let cache = tempfile::tempdir().unwrap();
    let mut command = rawline("", &["serve", "--storage", "s3://bucket", "--listen", "127.0.0.1:0", "--cache-dir"]);
    command.arg(cache.path()).env("AWS_ENDPOINT_URL", &endpoint).env_remove("AWS_ENDPOINT_URL_S3");
    command.env("AWS_ACCESS_KEY_ID", "test").env("AWS_SECRET_ACCESS_KEY", "test");
    let mut broker = command.stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(broker.stderr.take().unwrap()).lines().map(Result::unwrap);
    let reported: Vec<_> = lines.filter(|line| line.contains("WARN")).take(2).collect();
    broker.kill().unwrap();
    broker.wait().unwrap();
    assert_eq!(reported.len(), 2, "{reported:?}");
    for line in &reported {
        for part in [&*endpoint, "s3://bucket", "Connection refused", "is retried for"] {
            assert!(line.contains(part), "{line} lacks {part}");
        }
    }
}
