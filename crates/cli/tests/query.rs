//! `rawline series` and `rawline query` over roll-ups of a real topic: their output and their errors.

#![cfg(feature = "full")]
// Clippy recognizes tests only by their attribute; these are their helpers.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod support;

use rawline_avro::{Framing, Schema, SchemaStore, WriterId};
use rawline_client::{Client, ClientConfig};
use rawline_measure::{Options, Pipeline, Storage};
use rawline_series::MEASUREMENT_SCHEMA;
use std::process::Output;
use std::sync::Arc;
use support::{Broker, rawline, run};

/// 2014-04-10T00:00:00Z.
const BEGIN_MS: i64 = 1_397_088_000_000;

/// A measurement in Avro: metric, map of tags, time, value.
fn message(metric: &str, server: &str, time_ms: i64, value: f64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let long = |bytes: &mut Vec<u8>, value: i64| {
        let mut left = (value << 1).cast_unsigned();
        while left >= 0x80 {
            bytes.push(left as u8 | 0x80);
            left >>= 7;
        }
        bytes.push(left as u8);
    };
    let text = |bytes: &mut Vec<u8>, text: &str| {
        long(bytes, text.len() as i64);
        bytes.extend_from_slice(text.as_bytes());
    };
    text(&mut bytes, metric);
    bytes.push(2);
    text(&mut bytes, "server");
    text(&mut bytes, server);
    bytes.push(0);
    long(&mut bytes, time_ms);
    bytes.extend_from_slice(&value.to_le_bytes());
    bytes
}

/// Two metrics of three servers, one value per minute for three hours, rolled up in the broker's directory.
fn rolled_up() -> Broker {
    let broker = support::broker(&[]);
    let mut messages = Vec::new();
    for minute in 0..180 {
        for (i, server) in ["sgp-1", "sgp-2", "ams-1"].into_iter().enumerate() {
            let time_ms = BEGIN_MS + minute * 60_000 + 7;
            messages.push(message("cpu.load", server, time_ms, (minute * (i as i64 + 1)) as f64));
            messages.push(message("requests", server, time_ms, (minute * 60) as f64));
        }
    }
    let client = Client::new(ClientConfig::new(broker.url())).unwrap();
    let sizes: Vec<u32> = messages.iter().map(|message| message.len() as u32).collect();
    let storage = Storage::open(broker.directory().to_str().unwrap(), &[]).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        client.append_records("cloud", &sizes, messages.concat().into()).await.unwrap();
        let schemas = Arc::new(SchemaStore::default());
        schemas.add_as(WriterId::Known, &Arc::new(Schema::parse(MEASUREMENT_SCHEMA).unwrap())).unwrap();
        let defaults = Options::new(client, "cloud", storage, schemas, Framing::Bare, || 0);
        let options = Options { series_max: 1000, ..defaults };
        let summary = Pipeline::open(options).await.unwrap().run(|_| {}, std::future::pending()).await.unwrap();
        assert_eq!(summary.counts.decoded, 3 * 2 * 180);
    });
    broker
}

fn ask(broker: &Broker, args: &[&str]) -> Output {
    run(broker.rawline(&[args, &["--storage", broker.directory().to_str().unwrap()]].concat()), b"")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// The error message of a failed command, and its exit code.
fn failure(output: &Output) -> (String, i32) {
    assert!(output.stdout.is_empty(), "{}", text(&output.stdout));
    (text(&output.stderr).to_owned(), output.status.code().unwrap())
}

#[test]
fn series_and_answers_are_printed() {
    let broker = rolled_up();
    let output = ask(&broker, &["series", "cloud", "cpu.load{server=~\"sgp.*\"}"]);
    let want = "\
SERIES                       POINTS  FIRST HOUR (UTC)  LAST (UTC)
{\"cpu.load\",server=\"sgp-1\"}     180  2014-04-10 00:00  2014-04-10 02:59:00
{\"cpu.load\",server=\"sgp-2\"}     180  2014-04-10 00:00  2014-04-10 02:59:00
";
    assert_eq!((text(&output.stdout), text(&output.stderr)), (want, "rawline: 2 series\n"));
    let output = ask(&broker, &["series", "cloud", "--limit", "1", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((json["metric"].as_str(), json["points"].as_u64()), (Some("cpu.load"), Some(180)));
    assert!(text(&output.stderr).contains("1 of 6 series"), "{}", text(&output.stderr));

    let hours = ["query", "cloud", "{\"cpu.load\",server=~\"sgp.*\"}", "--step", "1h", "-v"];
    let output = ask(&broker, &hours);
    let want = "\
{\"cpu.load\"}  avg every 1h, 2014-04-10 00:00 to 2014-04-10 03:00 UTC
TIME (UTC)        sgp-1  sgp-2
2014-04-10 00:00   29.5     59
2014-04-10 01:00   89.5    179
2014-04-10 02:00  149.5    299
";
    assert_eq!(text(&output.stdout), want);
    assert!(text(&output.stderr).contains("files of the hour tier, used 6"), "{}", text(&output.stderr));
    let same = |tier: &str| ask(&broker, &[hours.as_slice(), &["--tier", tier]].concat()).stdout;
    assert_eq!((text(&same("raw")), text(&same("minute"))), (want, want));

    let rate = ["query", "cloud", "requests", "--agg", "rate", "--step", "30m", "--by", "", "--format", "csv"];
    let output = ask(&broker, &[rate.as_slice(), &["--from", "2014-04-10T01:00", "--to", "1397098800"]].concat());
    let want = "time,metric,value\n\
                2014-04-10T01:00:00Z,requests,3\n\
                2014-04-10T01:30:00Z,requests,3\n\
                2014-04-10T02:00:00Z,requests,3\n\
                2014-04-10T02:30:00Z,requests,3\n";
    assert_eq!(text(&output.stdout), want);
    let output = ask(&broker, &["query", "cloud", "requests", "--rows", "series", "--step", "10m", "--agg", "p90"]);
    assert!(text(&output.stdout).contains("COURSE") && text(&output.stdout).lines().count() == 5);
}

#[test]
fn plots_are_written_to_files() {
    let broker = rolled_up();
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    for (name, magic) in
        [("plot.png", b"\x89PNG".as_slice()), ("plot.SVG", b"<svg"), ("a.json", b"{\""), ("a.csv", b"time")]
    {
        let path = file(name);
        let output = ask(&broker, &["query", "cloud", "cpu.load", "--output", &path]);
        assert!(output.status.success() && output.stdout.is_empty(), "{}", text(&output.stderr));
        assert!(std::fs::read(&path).unwrap().starts_with(magic), "{name}");
    }
    // A plot may be written to a pipe.
    let output = ask(&broker, &["query", "cloud", "cpu.load", "--format", "png"]);
    assert!(output.stdout.starts_with(b"\x89PNG"));
    let (said, code) = failure(&ask(&broker, &["query", "cloud", "cpu.load", "--output", &file("plot.gif")]));
    assert!(said.contains("unknown file extension \"gif\"") && code == 2, "{said}");
    let (said, code) = failure(&ask(&broker, &["query", "cloud", "cpu.load", "-o", &file("no/such/plot.png")]));
    assert!(said.contains("can't write") && code == 1, "{said}");
}

#[test]
fn missing_names_are_reported_with_existing_ones() {
    let broker = rolled_up();
    let cases: [(&[&str], &str, i32); 13] = [
        (&["query", "cloud", "cpu_load"], "the topic has 2 metrics: cpu.load, requests", 1),
        (&["series", "cloud", "cpu.load{server=\"sgp\"}"], "server is one of: ams-1, sgp-1, sgp-2", 1),
        (
            &["query", "clouds", "cpu"],
            "which has those of cloud; check --storage, or run `rawline measure clouds` first",
            1,
        ),
        (&["series", "clouds"], "which has those of cloud", 1),
        (&["query", "cloud", "requests", "--from", "-1h"], "they have some from 2014-04-10T00:00:00Z", 1),
        (&["query", "cloud", "cpu{server=~sgp}"], "expected a value in quotes\n  cpu{server=~sgp}\n              ^", 2),
        (&["series", "cloud", "rate(cpu[5m])"], "--agg rate", 2),
        (&["query", "cloud", "requests", "--from", "yesterday"], "--from <TIME>': \"yesterday\" is not a time", 2),
        (&["query", "cloud", "requests", "--to", "2014-04-10T00:00:00Z[UTC]"], "give the offset only", 2),
        (&["query", "cloud", "requests", "--step", "5"], "--step <TIME>': \"5\" is not a duration", 2),
        (&["query", "cloud", "requests", "--agg", "mean"], "use avg, sum", 2),
        (&["query", "cloud", "requests", "--tier", "hour", "--step", "5m"], "use a longer --step", 2),
        (&["query", "cloud", "requests", "--step", "1m", "--points-max", "100"], "raise --points-max", 1),
    ];
    for (args, want, want_code) in cases {
        let (said, code) = failure(&ask(&broker, args));
        assert!(said.contains(want) && code == want_code, "{args:?}: {code}: {said}");
    }
    let nowhere = ["query", "cloud", "cpu", "--storage", "/no/such/directory"];
    let (said, code) = failure(&run(rawline("http://127.0.0.1:1", &nowhere), b""));
    assert!(said.contains("the directory /no/such/directory doesn't exist") && code == 1, "{said}");
}
