//! `/measurements` of the real binary: what `rawline measure` rolled up in the broker's own storage is queried over
//! HTTP as `rawline query` does it.

use crate::broker::{Broker, RAWLINE};
use crate::client::{Answer, exchange, request};
use rawline_testkit::process::{self, run};
use rawline_testkit::s3_server::bucket;
use serde_json::{Value, json};
use std::net::SocketAddr;

/// 2014-04-10T00:00:00Z in seconds.
const BEGIN: i64 = 1_397_088_000;

/// Text that must be shown unchanged.
const HOSTILE: &str = "<script>alert(1)</script>\u{202e}\"\\,";

fn get(address: SocketAddr, path: &str, query: &[(&str, &str)]) -> Answer {
    let query: String = form_urlencoded::Serializer::new(String::new()).extend_pairs(query).finish();
    exchange(address, &request("GET", &format!("{path}?{query}"), &[], b""))
}

fn query(address: SocketAddr, topic: &str, selector: &str, more: &[(&str, &str)]) -> Answer {
    let named = [("topic-name", topic), ("selector", selector)];
    get(address, "/measurements/query", &[named.as_slice(), more].concat())
}

/// Two metrics of three servers, one value per minute for three hours; and one with hostile names.
fn lines() -> String {
    let mut lines = String::new();
    let mut add = |metric: &str, tags: Value, minute: i64, value: f64| {
        let time = (BEGIN + minute * 60) * 1000;
        let line = json!({"metric": metric, "tags": tags, "logtime": time, "value": value});
        lines += &format!("{line}\n");
    };
    for minute in 0..180 {
        for (i, server) in ["sgp-1", "sgp-2", "ams-1"].into_iter().enumerate() {
            let tags = json!({"server": server, "region": &server[..3]});
            add("cpu.load", tags.clone(), minute, (minute * (i as i64 + 1)) as f64);
            add("requests", tags, minute, (minute * 60) as f64);
        }
    }
    add(HOSTILE, json!({HOSTILE: HOSTILE}), 0, 1.0);
    lines
}

/// Appends measurements to `cloud` and rolls them up.
fn fill(broker: &process::Broker, storage: &str, variables: &[(String, String)]) {
    let command = |args: &[&str]| {
        let mut command = broker.rawline(args);
        command.envs(variables.iter().cloned());
        command
    };
    for (args, input) in [
        (&["produce", "cloud", "--format", "avro", "--schema", "measurement"] as &[&str], lines()),
        (&["measure", "cloud", "--storage", storage], String::new()),
    ] {
        let output = run(command(args), input.as_bytes());
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// What `rawline query` prints for the same arguments.
fn printed(broker: &process::Broker, storage: &str, variables: &[(String, String)], args: &[&str]) -> String {
    let args = [&["query", "cloud"], args, &["--format", "json", "--storage", storage]].concat();
    let mut command = broker.rawline(&args);
    command.envs(variables.iter().cloned());
    let output = run(command, b"");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn check_answers(broker: &process::Broker, storage: &str, variables: &[(String, String)]) {
    let address = broker.address;
    let overview = get(address, "/measurements", &[]);
    assert_eq!(overview.assert_status(200).json(), json!({"is_available": true, "topics": []}));
    get(address, "/measurements/metrics", &[("topic-name", "cloud")]).assert_error(404, "measurements_not_found");
    fill(broker, storage, variables);
    let overview = get(address, "/measurements", &[]);
    assert_eq!(overview.json(), json!({"is_available": true, "topics": ["cloud"]}));
    assert_eq!(overview.header("cache-control"), Some("no-store"));

    let metrics = get(address, "/measurements/metrics", &[("topic-name", "cloud")]).json();
    let metric = |name: &str, count: u64| json!({"metric": name, "series_count": count});
    let want = [metric(HOSTILE, 1), metric("cpu.load", 3), metric("requests", 3)];
    assert_eq!(metrics, json!({"series_count": 7, "is_complete": true, "metrics": want}));
    let found = get(address, "/measurements/metrics", &[("topic-name", "cloud"), ("search", "CPU")]).json();
    assert_eq!(found, json!({"series_count": 3, "is_complete": true, "metrics": [metric("cpu.load", 3)]}));

    let tags = get(address, "/measurements/tags", &[("topic-name", "cloud"), ("selector", "cpu.load")]).json();
    let tag = |name: &str, values: &[&str]| json!({"tag": name, "is_complete": true, "values": values});
    let want = [tag("region", &["ams", "sgp"]), tag("server", &["ams-1", "sgp-1", "sgp-2"])];
    assert_eq!(tags, json!({"series_count": 3, "is_complete": true, "tags": want}));
    let none = get(address, "/measurements/tags", &[("topic-name", "cloud"), ("selector", "cpu_load")]);
    none.assert_error(404, "measurements_not_found");
    assert!(none.text().contains("the topic has 3 metrics"), "{}", none.text());

    // The same bytes, whichever way a query comes.
    let hours =
        query(address, "cloud", "cpu.load{region=\"sgp\"}", &[("step", "1h"), ("agg", "p99"), ("by", "server")]);
    let args = ["cpu.load{region=\"sgp\"}", "--step", "1h", "--agg", "p99", "--by", "server"];
    assert_eq!(hours.assert_status(200).text(), printed(broker, storage, variables, &args));
    assert_eq!(hours.json()["series"][1]["points"].as_array().unwrap().len(), 3);
    let one = query(
        address,
        "cloud",
        "requests",
        &[("agg", "rate"), ("step", "30m"), ("by", ""), ("from", "2014-04-10T01:00"), ("to", "1397098800")],
    );
    let range = ["--from", "2014-04-10T01:00", "--to", "1397098800"];
    let args = [&["requests", "--agg", "rate", "--step", "30m", "--by", ""], range.as_slice()].concat();
    assert_eq!(one.text(), printed(broker, storage, variables, &args));
    assert_eq!(query(address, "cloud", "requests", &[]).json()["series"].as_array().unwrap().len(), 3);
    let both = query(address, "cloud", "{}", &[("by", "server"), ("by", HOSTILE), ("step", "1d")]).json();
    assert_eq!(both["series"].as_array().unwrap().len(), 4, "{both}");
}

#[test]
fn measurements_in_a_directory_are_queried() {
    let broker = process::Broker::start(RAWLINE, &[]);
    check_answers(&broker, broker.directory().to_str().unwrap(), &[]);
}

#[tokio::test(flavor = "multi_thread")]
async fn measurements_in_a_bucket_are_queried() {
    let bucket = bucket().await;
    let (storage, cache) = (format!("s3://{}/some/prefix", bucket.name), bucket.cache_dir());
    let flags = ["--storage", &storage, "--cache-dir", cache.to_str().unwrap()];
    let broker = process::Broker::start_with(RAWLINE, &flags, bucket.variables());
    check_answers(&broker, &storage, &bucket.variables());
}

/// Selector, other parameters, status, code and a part of the sentence.
type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], u16, &'a str, &'a str);

#[test]
fn queries_that_have_no_answer_say_why() {
    let broker = process::Broker::start(RAWLINE, &[]);
    fill(&broker, broker.directory().to_str().unwrap(), &[]);
    let regexes = "cpu.load{a!~\"b\",c=~\"d\",e=~\"f\",g=~\"h\",i=~\"j\"}";
    let many: Vec<(&str, &str)> = ["a", "b", "c", "d", "e", "f", "g", "h", "i"].map(|tag| ("by", tag)).into();
    let cases: [Case<'_>; 12] = [
        ("cpu.load", &[("from", "-1h")], 404, "measurements_not_found", "they have some from 2014-04-10T00:00:00Z"),
        ("requests", &[("agg", "rate"), ("step", "1d")], 404, "measurements_not_found", "cannot compute a rate"),
        ("cpu.load{server=\"x\"}", &[], 404, "measurements_not_found", "server is one of: ams-1, sgp-1, sgp-2"),
        ("rate(cpu[5m])", &[], 400, "query_invalid", "selector: "),
        ("cpu{server=~sgp}", &[], 400, "query_invalid", "expected a value in quotes"),
        (regexes, &[], 400, "query_invalid", "5 regular expressions, the maximum is 4"),
        ("cpu.load", &[("from", "yesterday")], 400, "query_invalid", "from: \\\"yesterday\\\" is not a time"),
        ("cpu.load", &[("step", "5")], 400, "query_invalid", "step: \\\"5\\\" is not a duration"),
        ("cpu.load", &[("agg", "mean")], 400, "query_invalid", "agg: \\\"mean\\\" is not an aggregation"),
        ("cpu.load", &[("from", "2014-04-11"), ("to", "2014-04-10")], 400, "query_invalid", "the range starts at"),
        ("cpu.load", &many, 400, "query_invalid", "up to 8 tags"),
        ("{}", &[("from", "2014-04-10"), ("to", "2014-04-11"), ("agg", "p99"), ("step", "1s")], 200, "", ""),
    ];
    for (selector, more, status, code, sentence) in cases {
        let answer = query(broker.address, "cloud", selector, more);
        assert_eq!(answer.status, status, "{selector} {more:?}: {}", answer.text());
        if status != 200 {
            assert_eq!(answer.code(), code, "{selector} {more:?}");
            assert!(answer.text().contains(sentence), "{selector} {more:?}: {}", answer.text());
        }
    }
    for (target, parameter) in [("metrics", "search"), ("tags", "selector"), ("query", "selector")] {
        let target = format!("/measurements/{target}");
        get(broker.address, &target, &[(parameter, "cpu")]).assert_error(400, "topic_name_missing");
    }
    get(broker.address, "/measurements/query", &[("topic-name", "cloud")]).assert_error(400, "query_missing");
    // It stays within the storage, and names no other topic.
    for topic in ["none", "../.measure/cloud", ".."] {
        let answer = query(broker.address, topic, "cpu.load", &[]);
        answer.assert_error(404, "measurements_not_found");
        assert!(!answer.text().contains("those of"), "{}", answer.text());
    }
}

#[test]
fn answers_are_bounded() {
    let broker = process::Broker::start(RAWLINE, &[]);
    let mut lines = String::new();
    for server in 0..101 {
        for minute in 0..60 {
            let time = (BEGIN + minute * 60) * 1000;
            let tags = json!({"server": format!("s{server}")});
            lines += &format!("{}\n", json!({"metric": "cpu", "tags": tags, "logtime": time, "value": server}));
        }
    }
    let produce = ["produce", "many", "--format", "avro", "--schema", "measurement"];
    broker.run(&produce, lines.as_bytes());
    broker.run(&["measure", "many", "--storage", broker.directory().to_str().unwrap()], b"");
    let lines = query(broker.address, "many", "cpu", &[]);
    lines.assert_error(400, "measurements_too_many");
    assert!(lines.text().contains("more than 100 lines"), "{}", lines.text());
    // 5,000 quantiles at most.
    let points = query(broker.address, "many", "cpu{server!=\"s100\"}", &[("agg", "p50"), ("step", "1m")]);
    points.assert_error(400, "measurements_too_many");
    assert!(points.text().contains("more than 5000 values"), "{}", points.text());
    let one = query(broker.address, "many", "cpu", &[("by", "")]).json();
    assert_eq!((one["series_count"].as_u64(), one["series"].as_array().unwrap().len()), (Some(101), 1));
    // As many as may run at once, and others that wait.
    let ask = |_| std::thread::spawn(move || query(broker.address, "many", "cpu", &[("by", "")]).status);
    let asked: Vec<_> = (0..16).map(ask).collect();
    assert!(asked.into_iter().all(|asked| asked.join().unwrap() == 200));
}

#[test]
fn a_broker_in_memory_has_no_measurements() {
    let broker = Broker::start(&["--storage", "memory:"]);
    assert_eq!(broker.get("/measurements").json(), json!({"is_available": false, "topics": []}));
    broker.get("/measurements/metrics?topic-name=t").assert_error(404, "measurements_unavailable");
}
