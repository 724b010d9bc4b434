//! Structured values on the command line: JSON to bytes and back, and through a broker.

// Clippy recognizes tests only by their attribute; these are their helpers.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod support;

use std::process::{Command, Output};

/// Runs `rawline` with `input` on stdin.
fn rawline(arguments: &[&str], input: &[u8]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rawline"));
    command.args(arguments);
    support::run(command, input)
}

/// The same for commands that must succeed.
fn done(arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let output = rawline(arguments, input);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

const EVENTS: &str = concat!(
    r#"{"uid":"C1","ts":"2018-03-24T17:15:20.865716Z","host":"10.47.1.100","port":53,"proto":"udp","rtt":0.25,"#,
    r#""answers":["b","a","b"],"ttl":[2.5],"none":null}"#,
    "\n",
    r#"{"uid":"C2","ts":"2018-03-24T17:15:21Z","host":"2620:df::3","port":80,"proto":"tcp","rtt":1,"answers":[],"#,
    r#""ttl":[],"none":null}"#,
    "\n"
);

const TYPES: &[&str] = &[
    "--as",
    "ts=timestamp",
    "--as",
    "host=address",
    "--as",
    "port=port@proto",
    "--as",
    "rtt=timespan",
    "--as",
    "answers=set",
];

fn with_types<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [arguments, TYPES].concat()
}

#[test]
fn json_becomes_bytes_and_json_again() {
    let hex = done(&["value", "encode"], b"42\n-1\n\"a\"\n[true]\n");
    assert_eq!(String::from_utf8(hex.clone()).unwrap(), "02000000000000002a\n03ffffffffffffffff\n050161\n0e010101\n");
    assert_eq!(done(&["value", "decode", "--to", "plain"], &hex), b"42\n-1\n\"a\"\n[true]\n");
    let typed = done(&["value", "decode", "--to", "json"], &hex);
    assert!(String::from_utf8_lossy(&typed).starts_with("{\"@data-type\":\"count\",\"data\":42}\n"));
    assert_eq!(done(&["value", "encode", "--from", "json"], &typed), hex);
    let binary = done(&["value", "encode", "--to", "binary"], b"42\n[true]\n");
    assert_eq!(done(&["value", "decode", "--from", "binary", "--to", "plain"], &binary), b"42\n[true]\n");
    assert_eq!(done(&["value", "decode", "--to", "hex"], &hex), hex);
}

#[test]
fn a_topic_that_values_create_is_one_of_values() {
    let broker = support::broker(&[]);
    let run = |arguments: &[&str], input: &[u8]| {
        let output = support::run(broker.rawline(arguments), input);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    run(&["produce", "events", "--format=value"], b"{\"a\":1}\n");
    run(&["produce", "lines"], b"{\"a\":1}\n");
    // An existing topic keeps its settings.
    run(&["produce", "lines", "--format=value"], b"{\"a\":1}\n");
    let payload = |topic: &str| {
        let json: serde_json::Value = serde_json::from_str(&run(&["topic", topic, "--json"], b"")).unwrap();
        json["payload"].as_str().unwrap().to_owned()
    };
    assert_eq!((payload("events"), payload("lines")), ("value".to_owned(), "bytes".to_owned()));
}

#[test]
fn fields_get_the_requested_types() {
    let hex = done(&with_types(&["value", "encode"]), EVENTS.as_bytes());
    let typed = String::from_utf8(done(&["value", "decode", "--to", "json"], &hex)).unwrap();
    for part in [
        r#"{"@data-type":"address","data":"10.47.1.100"}"#,
        r#"{"@data-type":"port","data":"53/udp"}"#,
        r#"{"@data-type":"port","data":"80/tcp"}"#,
        r#"{"@data-type":"timestamp","data":"2018-03-24T17:15:20.865716"#,
        r#"{"@data-type":"timespan","#,
        r#"{"@data-type":"set","data":[{"@data-type":"string","data":"#,
        r#"{"@data-type":"vector","data":[{"@data-type":"real","data":2.5}]}"#,
        r#"{"@data-type":"none","#,
    ] {
        assert!(typed.contains(part), "{part} in {typed}");
    }
    assert_eq!(done(&["value", "encode", "--from", "json"], typed.as_bytes()), hex);
}

#[test]
fn a_bad_line_is_reported_and_the_others_are_converted() {
    let output = rawline(&["value", "encode"], b"1\n{\n\n2\n");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(output.stdout, b"020000000000000001\n020000000000000002\n");
    assert!(String::from_utf8_lossy(&output.stderr).contains("stdin, line 2: "));

    let output = rawline(&["value", "decode", "--to", "plain"], b"xyz\n0f\n02\n0100\n");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(output.stdout, b"false\n");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    for line in ["line 1: not hex", "line 2: ", "line 3: ", "3 bad values"] {
        assert!(errors.contains(line), "{line} in {errors}");
    }

    let cut = rawline(&["value", "decode", "--from", "binary"], &[9, 0, 0, 0, 1]);
    assert_eq!(cut.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&cut.stderr).contains("the input ends after 1 of 9 bytes"));
    assert_eq!(rawline(&["value", "encode", "--as", "x=colour"], b"").status.code(), Some(2));
    assert_eq!(rawline(&with_types(&["value", "encode"]), b"{\"host\":7}\n").status.code(), Some(1));
}

#[test]
fn values_go_through_a_broker_and_keep_their_types() {
    let broker = support::broker(&[]);
    let url = broker.url();
    let at = ["--broker", url.as_str()];
    let produce = with_types(&["produce", "events", "--format", "value", at[0], at[1]]);
    done(&produce, EVENTS.as_bytes());
    let typed = done(&["consume", "events", "--format", "value-typed", at[0], at[1]], b"");
    let bytes = done(&["value", "encode", "--from", "json"], &typed);
    assert_eq!(bytes, done(&with_types(&["value", "encode"]), EVENTS.as_bytes()));
    // Output with types can be produced again unchanged.
    done(&["produce", "again", "--format", "value", at[0], at[1]], &typed);
    let again = done(&["consume", "again", "--format", "value-typed", at[0], at[1]], b"");
    assert_eq!(again, typed);
    let plain = String::from_utf8(done(&["consume", "events", "--format", "value", at[0], at[1]], b"")).unwrap();
    assert_eq!(plain.lines().count(), 2);
    assert!(plain.contains(r#""port":"53/udp""#) && plain.contains(r#""host":"10.47.1.100""#), "{plain}");

    let topic = done(&["topic", "set", "events", "--payload", "value", at[0], at[1]], b"");
    assert!(String::from_utf8_lossy(&topic).contains("payload        value"));
    assert_eq!(rawline(&["topic", "set", "events", "--payload", "colour", at[0], at[1]], b"").status.code(), Some(2));

    let bad = rawline(&["produce", "events", "--format", "value", at[0], at[1]], b"7\n{\n");
    assert_eq!(bad.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&bad.stderr).contains("line 2: "));
    done(&["produce", "lines", at[0], at[1]], b"no value\n");
    let none = rawline(&["consume", "lines", "--format", "value", at[0], at[1]], b"");
    assert_eq!(none.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&none.stderr).contains("the record at offset 0 isn't a structured value"));
}

/// Lines of JSON, of several sizes, that are enough for many jobs.
fn numbered(count: usize) -> String {
    (0..count).map(|number| format!("{{\"number\":{number},\"text\":\"{}\"}}\n", "x".repeat(number % 100))).collect()
}

#[test]
fn lines_that_are_converted_on_all_cores_keep_their_order() {
    let broker = support::broker(&[]);
    let url = broker.url();
    let at = ["--broker", url.as_str()];
    let lines = numbered(20_000);
    done(&["produce", "t", "--format", "value", "--as", "number=integer", at[0], at[1]], lines.as_bytes());
    assert!(done(&["consume", "t", "--format", "value", at[0], at[1]], b"") == lines.as_bytes());
    let some = done(&["consume", "t", "--format", "value", "--max-records", "15000", at[0], at[1]], b"");
    assert!(some == numbered(15_000).as_bytes());
    let typed = done(&["consume", "t", "--format", "value-typed", at[0], at[1]], b"");
    let bytes = done(&["value", "encode", "--as", "number=integer"], lines.as_bytes());
    assert!(done(&["value", "encode", "--from", "json"], &typed) == bytes);
}

#[test]
fn the_records_before_a_bad_one_are_converted_and_none_after_it() {
    let broker = support::broker(&[]);
    let url = broker.url();
    let at = ["--broker", url.as_str()];
    let good = numbered(20_000);
    let input = format!("\n{good}{{\n{good}");
    let produced = rawline(&["produce", "t", "--format", "value", at[0], at[1]], input.as_bytes());
    let error = String::from_utf8_lossy(&produced.stderr).into_owned();
    assert!(produced.status.code() == Some(1) && error.contains("stdin, line 20002: "), "{error}");
    assert!(error.contains("appended 20000 records"), "{error}");
    assert!(done(&["consume", "t", "--format", "value", at[0], at[1]], b"") == good.as_bytes());

    done(&["produce", "t", at[0], at[1]], b"no value\n");
    done(&["produce", "t", "--format", "value", at[0], at[1]], good.as_bytes());
    let consumed = rawline(&["consume", "t", "--format", "value", at[0], at[1]], b"");
    let error = String::from_utf8_lossy(&consumed.stderr).into_owned();
    assert!(consumed.status.code() == Some(1) && error.contains("the record at offset 20000 isn't"), "{error}");
    assert!(consumed.stdout == good.as_bytes());
}

/// An error in the JSON mapping that preserves types: it isn't stored as a table with the keys `@data-type` and `data`.
#[test]
fn typed_json_with_a_mistake_is_refused_with_its_line() {
    let broker = support::broker(&[]);
    let url = broker.url();
    let produce = ["produce", "events", "--format", "value", "--broker", url.as_str()];
    for line in [
        r#"{"@data-type":"address","data":"10.0.0.300"}"#,
        r#"{"data":7,"@data-type":"cuont"}"#,
        r#"{"@data-type":"count","data":7,"data":8}"#,
        r#"{"@data-type":7}"#,
    ] {
        let output = rawline(&produce, format!("7\n{line}\n").as_bytes());
        assert_eq!(output.status.code(), Some(1), "{line}");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(error.contains("line 2: "), "{line}: {error}");
    }
    // The name at a deeper level, or as a text, is ordinary JSON.
    let plain = "{\"text\":\"@data-type\",\"inner\":{\"@data-type\":1}}\n";
    done(&["produce", "plain", "--format", "value", "--broker", url.as_str()], plain.as_bytes());
    let shown = done(&["consume", "plain", "--format", "value", "--broker", url.as_str()], b"");
    assert_eq!(String::from_utf8(shown).unwrap(), plain);
}

#[test]
fn values_that_break_a_rule_are_refused_however_they_are_shown() {
    let broker = support::broker(&[]);
    let url = broker.url();
    let vector = [14, 1, 0, 0, 0, 0, 0, 0, 0];
    let count = [2, 0, 0, 0, 0, 0, 0, 0, 7];
    let typed = done(&["value", "encode"], b"[[7]]\n");
    let length = |bytes: &[u8]| [&(bytes.len() as u32).to_le_bytes()[..], bytes].concat();
    // The tags and counts as the program writes them.
    let nested = hex::decode(typed.trim_ascii()).unwrap();
    let head = nested[..nested.len() - count.len()].len() / 2;
    let level = nested[..head].to_vec();
    assert_eq!(nested, [level.clone(), level.clone(), count.to_vec()].concat(), "{vector:?}");
    let deep = [level.repeat(200_000), count.to_vec()].concat();
    let set = |elements: [&str; 2]| {
        let elements = elements.map(|text| format!(r#"{{"@data-type":"count","data":{text}}}"#)).join(",");
        let line = format!(r#"{{"@data-type":"set","data":[{elements}]}}"#);
        hex::decode(done(&["value", "encode", "--from", "json"], line.as_bytes()).trim_ascii()).unwrap()
    };
    let mut twice = set(["7", "8"]);
    *twice.last_mut().unwrap() = 7;
    for bytes in [&deep, &twice] {
        for to in ["json", "plain", "hex"] {
            let output = rawline(&["value", "decode", "--from", "binary", "--to", to], &length(bytes));
            assert_eq!(output.status.code(), Some(1), "{to}");
            assert!(output.stdout.is_empty(), "{to}");
        }
        done(&["produce", "bad", "--format", "length-prefixed", "--broker", url.as_str()], &length(bytes));
    }
    for format in ["value", "value-typed"] {
        for offset in ["0", "1"] {
            let at = ["--offset", offset, "--format", format, "--broker", url.as_str()];
            let output = rawline(&[&["consume", "bad"], &at[..]].concat(), b"");
            assert_eq!(output.status.code(), Some(1), "{format} {offset}");
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(error.contains(&format!("the record at offset {offset} isn't a structured value")), "{error}");
        }
    }
}

#[test]
fn a_type_for_a_field_that_no_record_has_is_reported() {
    let line = b"{\"a\":{\"b\":\"::1\"},\"x\":1}\n";
    let output = rawline(&["value", "encode", "--as", "a.b=address", "--as", "typo=address"], line);
    assert!(output.status.success());
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.contains("no record has the field typo of --as typo=address"), "{error}");
    assert!(!error.contains("a.b=address"), "{error}");
}
