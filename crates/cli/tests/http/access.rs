//! Keys with grants: their rights over HTTP, changes of the file, the audit log, and quotas.

use crate::broker::{Broker, RAWLINE, batch};
use crate::client::*;
use rawline_batch::Codec;
use rawline_testkit::process;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;

/// A keys file in its own folder.
struct Keys {
    folder: tempfile::TempDir,
}

impl Keys {
    fn new() -> Keys {
        Keys { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> String {
        self.folder.path().join("keys.toml").display().to_string()
    }

    fn rawline(&self, args: &[&str]) -> (bool, String, String) {
        let mut command = process::rawline(RAWLINE, "", args);
        let output = process::run(
            {
                command.env("RAWLINE_KEYS", self.path());
                command
            },
            b"",
        );
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.success(), text(output.stdout), text(output.stderr))
    }

    /// A new key.
    fn add(&self, args: &[&str]) -> String {
        let (is_added, key, error) = self.rawline(&[&["key", "add"], args].concat());
        assert!(is_added, "{error}");
        key.trim_end().to_owned()
    }

    fn broker(&self, flags: &[&str]) -> Broker {
        Broker::start(&[&["--keys", &self.path()], flags].concat())
    }
}

fn ask(broker: &Broker, key: &str, method: &str, target: &str, content_type: &str, body: &[u8]) -> Answer {
    let authorization = format!("Bearer {key}");
    let headers = [("authorization", &*authorization), ("content-type", content_type)];
    exchange(broker.address, &request(method, target, &headers, body))
}

fn get(broker: &Broker, key: &str, target: &str) -> Answer {
    ask(broker, key, "GET", target, "", b"")
}

fn append(broker: &Broker, key: &str, topic: &str) -> Answer {
    ask(broker, key, "POST", &format!("/records?topic-name={topic}"), LINES, b"a secret record\n")
}

fn names(list: &Answer, kind: &str) -> Vec<String> {
    list.assert_status(200);
    let list = list.json()[kind].clone();
    list.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
}

/// Repeats a question until the answer has this status: the broker looks at the file every second.
fn until(status: u16, question: impl Fn() -> Answer) {
    let mut found = question();
    for _ in 0..20_000 {
        if found.status == status {
            return;
        }
        process::pause();
        found = question();
    }
    found.assert_status(status);
}

#[test]
fn a_key_does_what_it_grants_and_nothing_else() {
    let keys = Keys::new();
    let admin = keys.add(&["admin", "--all"]);
    let writer = keys.add(&["writer", "--write", "w", "logs.*"]);
    let reader = keys.add(&["reader", "--read", "logs.*", "--groups", "dash-*"]);
    let broker = keys.broker(&[]);
    for topic in ["w", "logs.1", "logs.2", "other"] {
        append(&broker, &admin, topic).assert_status(201);
    }
    for (topic, status) in [("w", 201), ("logs.1", 201), ("logs.3", 201), ("w2", 403), ("other", 403)] {
        append(&broker, &writer, topic).assert_status(status);
        let small = ask(
            &broker,
            &writer,
            "POST",
            &format!("/records?topic-name={topic}"),
            BATCH,
            &batch(Codec::None, &[b"a".to_vec()]),
        );
        small.assert_status(status);
        append(&broker, &reader, topic).assert_error(403, "grant_missing");
    }
    let refused = append(&broker, &writer, "other");
    assert!(refused.text().contains("this key has no grant to write to topic other: add"), "{}", refused.text());
    for (topic, status) in [("logs.1", 200), ("w", 403), ("other", 403), ("none", 403), ("logs.none", 404)] {
        for target in ["/records?offset=0&topic-name=", "/record?offset=0&topic-name="] {
            get(&broker, &reader, &format!("{target}{topic}")).assert_status(status);
        }
    }
    get(&broker, &reader, "/topic?topic-name=other").assert_error(403, "grant_missing");
    for (path, parameter) in [("metrics", "search"), ("tags", "selector"), ("query", "selector")] {
        let target = |topic| format!("/measurements/{path}?{parameter}=cpu&topic-name={topic}");
        let ask = |key, topic| get(&broker, key, &target(topic));
        ask(&reader, "other").assert_error(403, "grant_missing");
        ask(&writer, "logs.1").assert_error(403, "grant_missing");
        // Nothing is rolled up, or the binary can't query it.
        ask(&reader, "logs.1").assert_status(404);
    }
    assert_eq!(names(&get(&broker, &reader, "/topics"), "topics"), ["logs.1", "logs.2", "logs.3"]);
    assert_eq!(names(&get(&broker, &writer, "/topics"), "topics"), ["logs.1", "logs.2", "logs.3", "w"]);
    assert_eq!(names(&get(&broker, &admin, "/topics"), "topics").len(), 5);
    for (method, target) in [
        ("PUT", "/topic?topic-name=logs.1"),
        ("POST", "/topic?topic-name=logs.9"),
        ("DELETE", "/topic?topic-name=logs.1"),
        ("POST", "/trim?topic-name=logs.1&before=1"),
        ("POST", "/producer?producer-name=p"),
        ("GET", "/metrics"),
        ("GET", "/stats"),
    ] {
        for key in [&reader, &writer] {
            ask(&broker, key, method, target, JSON, b"{}").assert_error(403, "grant_missing");
        }
    }
    get(&broker, &admin, "/metrics").assert_status(200);
    get(&broker, &reader, "/nowhere").assert_error(404, "path_not_found");
    get(&broker, "reader.wrong", "/topics").assert_error(401, "unauthorized");
}

/// A batch of one record with a producer's number.
fn numbered(codec: Codec, record: &[u8], id: u64, sequence: u64) -> Vec<u8> {
    let mut builder = rawline_batch::Builder::new(codec, rawline_batch::Limits::default());
    builder.push(record).unwrap();
    let mut bytes = Vec::new();
    builder.finish_into(1, id, sequence, &mut bytes).unwrap();
    bytes
}

/// An append in the name of a producer needs the grant for that name, not only for the topic.
#[test]
fn an_append_with_the_id_of_a_named_producer_needs_the_grant_for_its_name() {
    let keys = Keys::new();
    let owner = keys.add(&["owner", "--write", "a-*", "--read", "a-*", "--producers", "orders"]);
    let other = keys.add(&["other", "--write", "a-*", "--producers", "mine"]);
    let broker = keys.broker(&[]);
    let open = |key: &str, name: &str| ask(&broker, key, "POST", &format!("/producer?producer-name={name}"), "", b"");
    let opened = open(&owner, "orders");
    let id = opened.assert_status(201).json()["producer_id"].as_u64().unwrap();
    open(&other, "orders").assert_error(403, "grant_missing");
    let target = "/records?topic-name=a-1&producer-epoch=0";
    let append = |key: &str, kind: &str, body: &[u8]| ask(&broker, key, "POST", target, kind, body);
    let small = numbered(Codec::None, b"forged", id, 0);
    // As large as only the HTTP library takes it.
    let large = numbered(Codec::None, &[7; 300_000], id, 0);
    append(&owner, BATCH, &numbered(Codec::None, b"first", id, 0)).assert_status(201);
    for forged in [&small, &large] {
        append(&other, BATCH, forged).assert_error(403, "grant_missing");
    }
    let producer = rawline_batch::record_batch::RecordProducer { id, epoch: 0, base_sequence: 1 };
    let limits = rawline_batch::Limits::default();
    let mut builder =
        rawline_batch::record_batch::RecordBatchBuilder::new(rawline_batch::record_batch::RecordCodec::None, limits);
    builder.push(1_000, None, Some(b"forged"), []).unwrap();
    let kafkas = builder.finish(Some(producer)).unwrap().to_vec();
    let target_of_kafkas = "/records?topic-name=a-1";
    let kind = "application/vnd.kafka.record-batch";
    ask(&broker, &other, "POST", target_of_kafkas, kind, &kafkas).assert_error(403, "grant_missing");
    let second = append(&owner, BATCH, &numbered(Codec::None, b"second", id, 1));
    assert_eq!(second.assert_status(201).json()["first_offset"], 1);
    let stored = get(&broker, &owner, "/record?topic-name=a-1&offset=1");
    assert_eq!(stored.assert_status(200).text(), "second");
    // Its own producers, and ids that no name has, are the key's.
    let mine = open(&other, "mine").assert_status(201).json()["producer_id"].as_u64().unwrap();
    for id in [mine, 7, 1 << 62] {
        append(&other, BATCH, &numbered(Codec::None, b"own", id, 0)).assert_status(201);
    }
    append(&other, BATCH, &numbered(Codec::None, b"guessed", id ^ 1, 0)).assert_error(409, "producer_fenced");
    // With the content that is stored, an append is a duplicate; with another, it isn't.
    append(&owner, BATCH, &numbered(Codec::None, b"second", id, 1)).assert_status(201);
    append(&owner, BATCH, &numbered(Codec::None, b"forged", id, 1)).assert_error(409, "sequence_conflict");
}

/// A topic that is named next to a group needs its own grant.
#[test]
fn a_groups_offsets_in_a_topic_are_deleted_by_those_who_may_read_it() {
    let keys = Keys::new();
    let admin = keys.add(&["admin", "--all"]);
    let key = keys.add(&["reader", "--read", "a-*", "--groups", "a"]);
    let broker = keys.broker(&[]);
    for topic in ["a-1", "b-secret"] {
        append(&broker, &admin, topic).assert_status(201);
        let commit = format!(r#"{{"offsets":[{{"topic":"{topic}","partition":0,"offset":1}}]}}"#);
        ask(&broker, &admin, "PUT", "/group?group-name=a", JSON, commit.as_bytes()).assert_status(204);
    }
    let delete =
        |topic: &str| ask(&broker, &key, "DELETE", &format!("/group?group-name=a&topic-name={topic}"), "", b"");
    delete("b-secret").assert_error(403, "grant_missing");
    delete("none").assert_error(403, "grant_missing");
    delete("a-1").assert_status(204);
    let left = get(&broker, &admin, "/group?group-name=a").assert_status(200).json();
    assert_eq!(left["offsets"][0]["topic"], "b-secret", "{left}");
}

/// One key takes all that there is for offsets of groups: the others get their share all the same, and it is refused.
#[test]
fn one_key_does_not_exhaust_the_offsets_of_the_others() {
    const PARTITIONS: usize = 1024;
    let keys = Keys::new();
    let greedy = keys.add(&["greedy", "--all"]);
    let other = keys.add(&["other", "--read", "t", "--groups", "b-*"]);
    let broker = keys.broker(&[]);
    let settings = format!(r#"{{"partitions":{PARTITIONS}}}"#);
    ask(&broker, &greedy, "POST", "/topic?topic-name=t", JSON, settings.as_bytes()).assert_status(201);
    let commit = |key: &str, group: &str, count: usize| {
        let offset = |partition: usize| format!(r#"{{"topic":"t","partition":{partition},"offset":0}}"#);
        let offsets: Vec<String> = (0..count).map(offset).collect();
        let body = format!(r#"{{"offsets":[{}]}}"#, offsets.join(","));
        ask(&broker, key, "PUT", &format!("/group?group-name={group}"), JSON, body.as_bytes())
    };
    commit(&other, "b-1", 1).assert_status(204);
    let groups = 100_000 / PARTITIONS;
    for number in 0..groups {
        commit(&greedy, &format!("a-{number:03}"), PARTITIONS).assert_status(204);
    }
    commit(&greedy, "a-last", 100_000 - groups * PARTITIONS - 1).assert_status(204);
    let refused = commit(&greedy, "a-more", 1);
    refused.assert_error(507, "offsets_too_many");
    assert!(refused.text().contains("no other key has more than this one"), "{}", refused.text());
    commit(&greedy, "a-001", PARTITIONS).assert_status(204);
    for group in ["b-2", "b-3"] {
        commit(&other, group, PARTITIONS).assert_status(204);
    }
    let left = names(&get(&broker, &greedy, "/groups"), "groups");
    let is_there = |group: &str| left.iter().any(|name| name == group);
    assert!(!is_there("a-000") && is_there("a-001") && is_there("a-last"), "{left:?}");
    assert!(["b-1", "b-2", "b-3"].into_iter().all(is_there), "{left:?}");
    commit(&greedy, "a-more", PARTITIONS).assert_error(507, "offsets_too_many");
}

/// A request that waits ends without a record if its key is removed, or loses the grant.
#[test]
fn a_read_that_waits_does_not_outlive_its_key() {
    let keys = Keys::new();
    let admin = keys.add(&["admin", "--all"]);
    let changed = keys.add(&["changed", "--read", "*", "--groups", "*"]);
    let removed = keys.add(&["removed", "--read", "*", "--groups", "*"]);
    let broker = keys.broker(&[]);
    append(&broker, &admin, "t").assert_status(201);
    let wait = |key: &str, method: &str, target: &str, accept: &str, body: &[u8]| {
        let authorization = format!("Bearer {key}");
        let headers = [("authorization", &*authorization), ("content-type", JSON), ("accept", accept)];
        let mut connection = Connection::open(broker.address);
        connection.send(&request(method, target, &headers, body));
        connection
    };
    let read = |key: &str, accept: &str| wait(key, "GET", "/records?topic-name=t&offset=1&timeout=5m", accept, b"");
    // Reads of batches wait without the HTTP library.
    let forms = [JSON, "application/vnd.rawline.batch"];
    let reads = forms.map(|accept| [(read(&changed, accept), 403), (read(&removed, accept), 401)]);
    let mut waiting: Vec<_> = reads.into_iter().flatten().collect();
    // The second member waits until the first joins again, which it doesn't before its time is over.
    let join =
        |key: &str| wait(key, "POST", "/member?group-name=g", JSON, br#"{"topics":["t"],"rebalance_ms":300000}"#);
    let joined = join(&admin).receive();
    let member = joined.assert_status(200).json()["member"].as_str().unwrap().to_owned();
    waiting.extend([(join(&changed), 403), (join(&removed), 401)]);
    // Later requests find them waiting.
    get(&broker, &admin, "/health").assert_status(200);
    let (is_removed, _, error) = keys.rawline(&["key", "remove", "removed"]);
    assert!(is_removed, "{error}");
    let file = std::fs::read_to_string(keys.path()).unwrap();
    let (before, entry) = file.split_once("name = \"changed\"").unwrap();
    let lost = entry.replacen("read = [\"*\"]", "read = [\"other\"]", 1);
    assert_ne!(lost, entry, "{file}");
    std::fs::write(keys.path(), format!("{before}name = \"changed\"{lost}")).unwrap();
    until(401, || get(&broker, &removed, "/topics"));
    until(403, || get(&broker, &changed, "/records?topic-name=t&offset=0"));
    append(&broker, &admin, "t").assert_status(201);
    let reads = waiting.drain(..4).collect::<Vec<_>>();
    for (mut connection, status) in reads {
        let answer = connection.receive();
        answer.assert_status(status);
        assert!(!answer.text().contains("secret"), "{}", answer.text());
    }
    let leave = format!("/member?group-name=g&member={member}");
    ask(&broker, &admin, "DELETE", &leave, "", b"").assert_status(204);
    for (mut connection, status) in waiting {
        connection.receive().assert_status(status);
    }
}

#[test]
fn groups_are_granted_and_their_members_get_granted_topics_only() {
    let keys = Keys::new();
    let admin = keys.add(&["admin", "--all"]);
    let reader = keys.add(&["reader", "--read", "logs.*", "--groups", "dash-*"]);
    let broker = keys.broker(&[]);
    for topic in ["logs.1", "other"] {
        append(&broker, &admin, topic).assert_status(201);
    }
    let commit = |key: &str, group: &str, topic: &str| {
        let body = format!(r#"{{"offsets":[{{"topic":"{topic}","partition":0,"offset":1}}]}}"#);
        ask(&broker, key, "PUT", &format!("/group?group-name={group}"), JSON, body.as_bytes())
    };
    for (topic, key) in [("other", &admin), ("logs.1", &reader)] {
        commit(key, "dash-1", topic).assert_status(204);
    }
    commit(&reader, "dash-1", "other").assert_error(403, "grant_missing");
    commit(&reader, "ops", "logs.1").assert_error(403, "grant_missing");
    commit(&admin, "ops", "logs.1").assert_status(204);
    assert_eq!(names(&get(&broker, &reader, "/groups"), "groups"), ["dash-1"]);
    let group = get(&broker, &reader, "/group?group-name=dash-1").json();
    assert_eq!(group["offsets"].as_array().unwrap().len(), 1, "{group}");
    get(&broker, &reader, "/group?group-name=ops").assert_error(403, "grant_missing");
    let join = |topics: &str| {
        let body = format!(r#"{{"topics":[{topics}]}}"#);
        ask(&broker, &reader, "POST", "/member?group-name=dash-2", JSON, body.as_bytes())
    };
    join(r#""logs.1","other""#).assert_error(403, "grant_missing");
    join(r#""logs.1""#).assert_status(200);
}

#[test]
fn subscriptions_and_tickets_have_the_grants_of_their_key() {
    let keys = Keys::new();
    let admin = keys.add(&["admin", "--all"]);
    let reader = keys.add(&["reader", "--read", "logs.*", "dns"]);
    let writer = keys.add(&["writer", "--write", "*"]);
    let broker = keys.broker(&[]);
    for topic in ["logs.1", "logs.2", "dns", "dnssec", "other"] {
        append(&broker, &admin, topic).assert_status(201);
    }
    let ticket =
        |key: &str| ask(&broker, key, "POST", "/ticket", "", b"").json()["ticket"].as_str().unwrap().to_owned();
    let subscribe = |query: &str| {
        let target = format!("/subscribe?{query}&from=first&ticket={}", ticket(&reader));
        let head = format!("HEAD {target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        let mut connection = Connection::open(broker.address);
        connection.send(head.as_bytes());
        connection.try_receive(false).unwrap().status
    };
    for (query, status) in [
        ("topic-name=logs.1", 200),
        ("topic-name=other", 403),
        ("topic-name=logs.1&topic-name=other", 403),
        ("topic-prefix=", 200),
        ("topic-prefix=logs.1", 200),
        ("topic-prefix=o", 403),
        ("topic-prefix=dnss", 403),
    ] {
        assert_eq!(subscribe(query), status, "{query}");
    }
    let target = format!("/subscribe?topic-prefix=&ticket={}", ticket(&writer));
    get(&broker, "", &target).assert_error(403, "grant_missing");
    // The deliveries of all topics.
    let mut command = broker.rawline(&["subscribe", "--prefix", "", "--from", "first", "--max-records", "3"]);
    command.args(["--api-key", &reader, "--format", "json"]);
    let output = process::run(command, b"");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text} {}", String::from_utf8_lossy(&output.stderr));
    let mut topics: Vec<&str> = ["logs.1", "logs.2", "\"dns\"", "dnssec", "other"].into();
    topics.retain(|topic| text.contains(topic));
    assert_eq!(topics, ["logs.1", "logs.2", "\"dns\""], "{text}");
}

#[test]
fn the_file_is_read_again_when_it_changes_and_a_wrong_one_changes_nothing() {
    let keys = Keys::new();
    let one = keys.add(&["one", "--read", "*"]);
    let broker = keys.broker(&[]);
    let topics = |key: &str| get(&broker, key, "/topics");
    topics(&one).assert_status(200);
    let two = keys.add(&["two", "--read", "*"]);
    until(200, || topics(&two));
    topics(&one).assert_status(200);
    let good = std::fs::read_to_string(keys.path()).unwrap();
    std::fs::write(keys.path(), good.replace("read", "raed")).unwrap();
    let (is_listed, _, error) = keys.rawline(&["key", "list"]);
    assert!(!is_listed && error.contains("keys.toml: line") && error.contains("unknown field \"raed\""), "{error}");
    // The broker has seen the wrong file when it sees the next one.
    topics(&two).assert_status(200);
    std::fs::write(keys.path(), good).unwrap();
    assert!(keys.rawline(&["key", "remove", "one"]).0);
    until(401, || topics(&one));
    topics(&two).assert_status(200);
    assert!(!keys.rawline(&["key", "remove", "one"]).0);
}

#[test]
fn a_broker_does_not_start_with_a_wrong_keys_file() {
    let keys = Keys::new();
    for (text, expected) in [(None, "No such file"), (Some("\n[[key]]\nname = \"a b\"\n"), "line 3: a key's name is")] {
        if let Some(text) = text {
            std::fs::write(keys.path(), text).unwrap();
        }
        let output = crate::broker::command(&["--keys", &keys.path(), "--listen", "127.0.0.1:0"]).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(expected) && error.contains("--keys"), "{error}");
        assert_eq!(output.status.code(), Some(2));
    }
}

#[test]
fn the_key_command_makes_lists_and_removes_keys() {
    let keys = Keys::new();
    let key = keys.add(&["collector", "--write", "zeek.*", "dns", "--bytes-in", "10MiB", "--connections", "4"]);
    assert!(key.starts_with("collector.") && key.len() > 50, "{key}");
    let text = std::fs::read_to_string(keys.path()).unwrap();
    assert!(!text.contains(&key) && !text.contains(key.split_once('.').unwrap().1), "the file has the hash only");
    assert_eq!(std::fs::metadata(keys.path()).unwrap().permissions().mode() & 0o777, 0o600);
    let (_, list, _) = keys.rawline(&["key", "list"]);
    assert!(list.contains("collector  -     dns zeek.*") && list.contains("in 10.00 MiB/s, 4 connections"), "{list}");
    for (args, expected) in [
        (&["key", "add", "collector", "--all"][..], "there is a key \"collector\" already"),
        (&["key", "add", "none"], "would have no grants"),
        (&["key", "add", "a/b", "--all"], "can't be a key's name"),
        (&["key", "add", "n", "--read", "a*b"], "--read: \"a*b\" has a *"),
        (&["key", "remove", "none"], "there is no key \"none\""),
    ] {
        let (is_done, _, error) = keys.rawline(args);
        assert!(!is_done && error.contains(expected), "{error}");
    }
}

/// Its first request describes the topic, for which any of three grants would do.
#[test]
fn a_producer_without_a_grant_is_shown_which_one_to_add() {
    let keys = Keys::new();
    let key = keys.add(&["reader", "--read", "t"]);
    let broker = keys.broker(&[]);
    for topic in ["t", "other"] {
        let mut command = broker.rawline(&["produce", topic]);
        command.env("RAWLINE_API_KEY", &key);
        let output = process::run(command, b"a\n");
        let error = String::from_utf8(output.stderr).unwrap();
        let expected = format!("no grant to write to topic {topic}: add a pattern that matches it to \"write\" of");
        assert!(output.status.code() == Some(1) && error.contains(&expected), "{error}");
    }
}

/// Neither the log nor the audit log ever has a key or a record.
#[test]
fn changes_and_refusals_are_audited_without_keys_and_records() {
    let keys = Keys::new();
    let admin = keys.add(&["admin", "--all"]);
    let reader = keys.add(&["reader", "--read", "*"]);
    let log = keys.folder.path().join("audit.log");
    let broker = keys.broker(&["--audit-log", &log.display().to_string()]);
    append(&broker, &admin, "t").assert_status(201);
    append(&broker, &reader, "t").assert_status(403);
    get(&broker, "admin.wrong-secret", "/topics").assert_status(401);
    ask(&broker, &admin, "PUT", "/topic?topic-name=t", JSON, br#"{"retain_hours":1}"#).assert_status(200);
    ask(&broker, &admin, "DELETE", "/topic?topic-name=none", "", b"").assert_status(404);
    ask(&broker, &admin, "DELETE", "/topic?topic-name=t", "", b"").assert_status(204);
    for _ in 0..200 {
        append(&broker, &reader, "t").assert_status(403);
    }
    let text = std::fs::read_to_string(&log).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let has = |key: Option<&str>, action: &str, resource: &str, outcome: &str| {
        lines.iter().any(|line| {
            (line["key"].as_str(), line["action"].as_str()) == (key, Some(action))
                && (line["resource"].as_str(), line["outcome"].as_str()) == (Some(resource), Some(outcome))
                && line["peer"] == "127.0.0.1"
                && line["protocol"] == "http"
        })
    };
    assert!(has(Some("reader"), "POST /records", "topic t", "grant_missing"), "{text}");
    assert!(has(None, "GET /topics", "", "unauthorized"), "{text}");
    assert!(has(Some("admin"), "topic.alter", "topic t", "ok"), "{text}");
    assert!(has(Some("admin"), "topic.delete", "topic none", "topic_not_found"), "{text}");
    assert!(has(Some("admin"), "topic.delete", "topic t", "ok"), "{text}");
    assert!(lines.len() < 150, "{} lines", lines.len());
    assert_eq!(std::fs::metadata(&log).unwrap().permissions().mode() & 0o777, 0o600);
    for secret in [&admin, &reader, "wrong-secret", "a secret record"] {
        assert!(!text.contains(secret), "{secret}");
    }
}

/// Also of what is logged for developers.
#[test]
fn the_log_has_refusals_without_keys_and_records() {
    let keys = Keys::new();
    let [admin, reader] = [&["admin", "--all"][..], &["reader", "--read", "*"]].map(|args| keys.add(args));
    let path = keys.folder.path().join("log");
    let storage = keys.folder.path().join("storage").display().to_string();
    let flags = ["--keys", &keys.path(), "--listen", "127.0.0.1:0", "--kafka", "127.0.0.1:0", "--storage", &storage];
    let mut command = crate::broker::command(&flags);
    command.env("RUST_LOG", "debug").stderr(std::fs::File::create(&path).unwrap());
    let mut process = command.spawn().unwrap();
    let log = || std::fs::read_to_string(&path).unwrap();
    let address = || log().split_once("listening on http://").and_then(|(_, rest)| rest.lines().next()?.parse().ok());
    while address().is_none() {
        assert!(process.try_wait().unwrap().is_none(), "{}", log());
        process::pause();
    }
    let address = address().unwrap();
    let ask = |key: &str, method: &str, target: &str| {
        let authorization = format!("Bearer {key}");
        let headers = [("authorization", &*authorization), ("content-type", LINES)];
        exchange(address, &request(method, target, &headers, b"a secret record\n")).status
    };
    let append = "/records?topic-name=t";
    let statuses =
        [ask(&admin, "POST", append), ask(&reader, "POST", append), ask("admin.wrong-secret", "POST", append)];
    assert_eq!(statuses, [201, 403, 401]);
    ask(&admin, "DELETE", "/topic?topic-name=t");
    process.kill().unwrap();
    process.wait().unwrap();
    let text = log();
    assert!(!text.contains('\x1b'), "a file has no colors: {text}");
    for noted in ["grant_missing", "unauthorized", "topic.delete", "audit"] {
        assert!(text.contains(noted), "{noted}: {text}");
    }
    for secret in [&admin, &reader, "wrong-secret", "a secret record"] {
        assert!(!text.contains(secret), "{secret}");
    }
}

#[test]
fn a_quota_gets_429_with_the_time_to_wait_and_clients_wait() {
    let keys = Keys::new();
    let key = keys.add(&["slow", "--write", "*", "--read", "*", "--bytes-in", "1000", "--bytes-out", "1000"]);
    let broker = keys.broker(&[]);
    let body = vec![b'a'; 2500];
    let append = || ask(&broker, &key, "POST", "/records?topic-name=t", LINES, &body);
    append().assert_status(201);
    let refused = append();
    refused.assert_error(429, "quota_exceeded");
    assert!(["1", "2"].contains(&refused.header("retry-after").unwrap()), "{refused:?}");
    // The command waits as long as the response says.
    let mut command = broker.rawline(&["produce", "t"]);
    command.args(["--api-key", &key]);
    let output = process::run(command, b"after the wait\n");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let read = || get(&broker, &key, "/records?topic-name=t&offset=0&max-bytes=1");
    read().assert_status(200);
    read().assert_error(429, "quota_exceeded");
    get(&broker, &key, "/topics").assert_status(200);
}
