//! Kafka's requests that create, change, delete and describe topics, and describe the broker.

use crate::support::kafka::{Client, batch, produce_body, produced, served, served_in};
use crate::support::{exchange, get, http};
use rawline_batch::record_batch::RecordCodec;
use rawline_broker::limits::TOPIC_PARTITIONS_MAX;
use rawline_kafka::messages::*;
use rawline_kafka::{Api, ErrorCode, Response};
use rawline_testkit::served::Served;
use std::collections::BTreeSet;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const TOPIC: i8 = 2;
const BROKER: i8 = 4;
const FROM_TOPIC: i8 = 1;
const FROM_DEFAULT: i8 = 5;
const LINES: &str = "content-type: application/x-ndjson";
const MAX: &str = "9223372036854775807";

macro_rules! call {
    ($client:expr, $api:ident, $version:expr, $request:expr) => {
        match $client.call($version, $request).await {
            Response::$api(response) => response,
            other => panic!("{other:?}"),
        }
    };
}

fn topic(name: &str, partitions: i32) -> CreatableTopic {
    CreatableTopic {
        name: name.to_owned(),
        num_partitions: partitions,
        replication_factor: -1,
        ..CreatableTopic::default()
    }
}

fn with_config(topic: CreatableTopic, name: &str, value: Option<&str>) -> CreatableTopic {
    let mut topic = topic;
    topic.configs.push(CreatableTopicConfig { name: name.to_owned(), value: value.map(str::to_owned) });
    topic
}

fn with_brokers(topic: CreatableTopic, partitions: &[i32], brokers: &[i32]) -> CreatableTopic {
    let assigned = |index: &i32| CreatableReplicaAssignment { partition_index: *index, broker_ids: brokers.to_vec() };
    CreatableTopic { assignments: partitions.iter().map(assigned).collect(), ..topic }
}

async fn create(client: &mut Client, topics: Vec<CreatableTopic>, validate_only: bool) -> Vec<CreatableTopicResult> {
    let request = CreateTopicsRequest { topics, validate_only, ..CreateTopicsRequest::default() };
    call!(client, CreateTopics, 7, request).topics
}

/// Creates a topic, which must not fail.
async fn created(client: &mut Client, name: &str, partitions: i32) {
    let created = create(client, vec![topic(name, partitions)], false).await;
    assert_eq!((created[0].error_code, &created[0].error_message), (0, &None));
}

/// The description of a topic over HTTP; `None` if it doesn't exist.
async fn info(server: &Served, name: &str) -> Option<serde_json::Value> {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let request = get(&format!("/topic?topic-name={name}"));
    let (status, text) = exchange(&mut stream, &[request.as_bytes()]).await.unwrap();
    (status == 200).then(|| serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap())
}

/// An error has this code and a message that contains this.
fn assert_refused(found: (i16, &Option<String>), code: ErrorCode, part: &str) {
    assert_eq!(found.0, i16::from(code), "{found:?}");
    assert!(found.1.as_ref().unwrap().contains(part), "{found:?}: no {part:?}");
}

async fn produce(client: &mut Client, name: &str, count: usize) {
    let body = produce_body(name, -1, &batch(RecordCodec::None, count, None));
    let body = client.exchange(Api::Produce, 3, &body).await;
    assert_eq!(produced(&body, name).0, 0);
}

fn resource(resource_type: i8, name: &str) -> DescribeConfigsResource {
    DescribeConfigsResource { resource_type, resource_name: name.to_owned(), configuration_keys: None }
}

async fn describe(client: &mut Client, resource: DescribeConfigsResource) -> DescribeConfigsResult {
    let request = DescribeConfigsRequest {
        resources: vec![resource],
        include_synonyms: true,
        ..DescribeConfigsRequest::default()
    };
    call!(client, DescribeConfigs, 4, request).results.remove(0)
}

/// A topic's setting and where its value comes from.
async fn setting(client: &mut Client, topic: &str, name: &str) -> (String, i8) {
    let wanted = DescribeConfigsResource { configuration_keys: Some(vec![name.to_owned()]), ..resource(TOPIC, topic) };
    let found = describe(client, wanted).await.configs;
    assert_eq!(found.len(), 1, "{found:?}");
    (found[0].value.clone().unwrap(), found[0].config_source)
}

#[tokio::test]
async fn topics_are_created_as_clients_ask() {
    let (server, _dir) = served().await;
    let mut client = Client::connect(&server).await;
    for version in 2..=7 {
        let name = format!("t{version}");
        let wanted = with_config(topic(&name, 3), "retention.ms", Some("18000000"));
        let wanted = with_config(wanted, "retention.bytes", Some("1000000"));
        let wanted = with_config(wanted, "cleanup.policy", Some("delete"));
        let wanted = with_config(wanted, "max.message.bytes", Some("33554432"));
        let request = CreateTopicsRequest { topics: vec![wanted], ..CreateTopicsRequest::default() };
        let created = call!(client, CreateTopics, version, request).topics.remove(0);
        assert_eq!((created.error_code, created.error_message, &created.name), (0, None, &name));
        let found = info(&server, &name).await.unwrap();
        assert_eq!((&found["partitions"], &found["retain_hours"]), (&3.into(), &5.into()), "{found}");
        assert_eq!(found["retain_bytes"], 1_000_000);
        if version >= 5 {
            assert_eq!((created.num_partitions, created.replication_factor), (3, 1));
            let configs = created.configs.unwrap();
            let age = configs.iter().find(|config| config.name == "retention.ms").unwrap();
            assert_eq!((age.value.as_deref(), age.config_source), (Some("18000000"), FROM_TOPIC));
        }
    }
    let one = CreatableTopic { replication_factor: 1, ..topic("one", -1) };
    let unlimited = with_config(topic("unlimited", 1), "retention.ms", Some("-1"));
    let unlimited = with_config(unlimited, "retention.bytes", Some(" -1 "));
    let assigned = with_brokers(topic("assigned", -1), &[1, 0], &[1]);
    let most = topic("most", TOPIC_PARTITIONS_MAX as i32);
    let found = create(&mut client, vec![one, unlimited, assigned, most], false).await;
    let partitions: Vec<_> = found.iter().map(|topic| (topic.error_code, topic.num_partitions)).collect();
    assert_eq!(partitions, [(0, 1), (0, 1), (0, 2), (0, TOPIC_PARTITIONS_MAX as i32)]);
    assert_eq!(info(&server, "unlimited").await.unwrap()["retain_hours"], serde_json::Value::Null);
    // A dry run creates nothing, and an existing topic isn't created again.
    let both = vec![topic("new", 1), topic("one", 1)];
    for validate_only in [true, false] {
        let found = create(&mut client, both.clone(), validate_only).await;
        assert_eq!((found[0].error_code, found[0].num_partitions), (0, 1));
        assert_refused((found[1].error_code, &found[1].error_message), ErrorCode::TopicAlreadyExists, "exists already");
        assert_eq!(info(&server, "new").await.is_some(), !validate_only);
    }
}

#[tokio::test]
async fn topics_that_cannot_be_are_not_created() {
    let (server, _dir) = served().await;
    let mut client = Client::connect(&server).await;
    let replicated = |factor| CreatableTopic { replication_factor: factor, ..topic("t", 1) };
    let config = |name, value| with_config(topic("t", 1), name, Some(value));
    let twice = with_config(config("retention.ms", "1"), "retention.ms", Some("2"));
    for (wanted, code, part) in [
        (topic("/", 1), ErrorCode::InvalidTopicException, "can't be a topic's name"),
        (topic("__consumer_offsets", 1), ErrorCode::InvalidTopicException, "keeps for itself"),
        (topic("__transaction_state", 1), ErrorCode::InvalidTopicException, "keeps for itself"),
        (topic("t", 0), ErrorCode::InvalidPartitions, "use 1 to 1024"),
        (topic("t", -2), ErrorCode::InvalidPartitions, "use 1 to 1024"),
        (topic("t", 1025), ErrorCode::InvalidPartitions, "use 1 to 1024"),
        (replicated(3), ErrorCode::InvalidReplicationFactor, "use 1, or -1"),
        (replicated(0), ErrorCode::InvalidReplicationFactor, "use 1, or -1"),
        (with_brokers(topic("t", 2), &[0, 1], &[1]), ErrorCode::InvalidRequest, "have to be -1"),
        (with_brokers(topic("t", -1), &[0, 2], &[1]), ErrorCode::InvalidReplicaAssignment, "from 0 to 1"),
        (with_brokers(topic("t", -1), &[0, 0], &[1]), ErrorCode::InvalidReplicaAssignment, "from 0 to 1"),
        (with_brokers(topic("t", -1), &[0], &[1, 2]), ErrorCode::InvalidReplicaAssignment, "to broker 1"),
        (with_brokers(topic("t", -1), &[0], &[]), ErrorCode::InvalidReplicaAssignment, "to broker 1"),
        (config("cleanup.policy", "none"), ErrorCode::InvalidConfig, "use delete, compact or"),
        (config("delete.retention.ms", "-1"), ErrorCode::InvalidConfig, "0 or more"),
        (config("message.timestamp.type", "LogAppendTime"), ErrorCode::InvalidConfig, "producers' times"),
        (config("max.message.bytes", "33554433"), ErrorCode::InvalidConfig, "at most 33554432 bytes"),
        (config("max.message.bytes", "-1"), ErrorCode::InvalidConfig, "up to 33554432"),
        (config("segment.bytes", "1000"), ErrorCode::InvalidConfig, "1048576 or more"),
        (config("min.compaction.lag.ms", "1000"), ErrorCode::InvalidConfig, "compacts"),
        (config("remote.storage.enable", "true"), ErrorCode::InvalidConfig, "no second storage"),
        (config("retention.ms", "0"), ErrorCode::InvalidConfig, "1 or more"),
        (config("retention.ms", "-2"), ErrorCode::InvalidConfig, "1 or more"),
        (config("retention.bytes", "1e9"), ErrorCode::InvalidConfig, "1 or more"),
        (config("retention.hours", "1"), ErrorCode::InvalidConfig, "no setting"),
        (with_config(topic("t", 1), "retention.ms", None), ErrorCode::InvalidConfig, "has no value"),
        (twice, ErrorCode::InvalidRequest, "more than once"),
    ] {
        for validate_only in [true, false] {
            let found = create(&mut client, vec![wanted.clone()], validate_only).await.remove(0);
            assert_refused((found.error_code, &found.error_message), code, part);
        }
    }
    for found in create(&mut client, vec![topic("t", 1), topic("t", 2)], false).await {
        assert_refused((found.error_code, &found.error_message), ErrorCode::InvalidRequest, "more than once");
    }
    assert_eq!(info(&server, "t").await, None);
    // So many that the response would be large: the connection is closed.
    let request = CreateTopicsRequest {
        topics: (0..10_001).map(|number| topic(&number.to_string(), 1)).collect(),
        validate_only: true,
        ..CreateTopicsRequest::default()
    };
    let mut body = Vec::new();
    rawline_kafka::Request::from(request).write(7, &mut body);
    let request = client.request(Api::CreateTopics.key(), 7, &body);
    client.stream.write_all(&request).await.unwrap();
    let mut rest = Vec::new();
    let _ = client.stream.read_to_end(&mut rest).await;
    assert!(rest.is_empty());
}

#[tokio::test]
async fn topics_are_deleted_by_name() {
    let (server, _dir) = served().await;
    let mut client = Client::connect(&server).await;
    for version in 1..=6 {
        created(&mut client, "t", 2).await;
        let names = ["t", "none", "/"].map(str::to_owned);
        let state = |name: &String| DeleteTopicState { name: Some(name.clone()), ..DeleteTopicState::default() };
        let request = DeleteTopicsRequest {
            topics: names.iter().map(state).collect(),
            topic_names: names.to_vec(),
            ..DeleteTopicsRequest::default()
        };
        let found = call!(client, DeleteTopics, version, request).responses;
        let codes: Vec<_> = found.iter().map(|topic| (topic.name.as_deref().unwrap(), topic.error_code)).collect();
        let (unknown, invalid) = (ErrorCode::UnknownTopicOrPartition, ErrorCode::InvalidTopicException);
        assert_eq!(codes, [("t", 0), ("none", unknown.into()), ("/", invalid.into())]);
        assert_eq!(info(&server, "t").await, None);
        if version >= 5 {
            assert!(found[1].error_message.as_ref().unwrap().contains("does not exist"), "{found:?}");
        }
    }
    created(&mut client, "t", 1).await;
    let topics = vec![DeleteTopicState { name: None, topic_id: Uuid([7; 16]) }];
    let request = DeleteTopicsRequest { topics, ..DeleteTopicsRequest::default() };
    let found = call!(client, DeleteTopics, 6, request).responses.remove(0);
    assert_refused((found.error_code, &found.error_message), ErrorCode::UnknownTopicId, "by its name");
    assert_eq!(found.topic_id, Uuid([7; 16]));
    let topic_names = vec!["t".to_owned(), "t".to_owned()];
    let request = DeleteTopicsRequest { topic_names, ..DeleteTopicsRequest::default() };
    for found in call!(client, DeleteTopics, 5, request).responses {
        assert_refused((found.error_code, &found.error_message), ErrorCode::InvalidRequest, "more than once");
    }
    assert!(info(&server, "t").await.is_some());
}

#[tokio::test]
async fn topics_get_more_partitions() {
    let (server, _dir) = served().await;
    let mut client = Client::connect(&server).await;
    created(&mut client, "t", 1).await;
    let wanted = |count, assignments: Option<&[&[i32]]>| {
        let assigned = |brokers: &&[i32]| CreatePartitionsAssignment { broker_ids: brokers.to_vec() };
        let assignments = assignments.map(|all| all.iter().map(assigned).collect());
        CreatePartitionsTopic { name: "t".to_owned(), count, assignments }
    };
    let request = |topic: CreatePartitionsTopic, validate_only| CreatePartitionsRequest {
        topics: vec![topic],
        validate_only,
        ..CreatePartitionsRequest::default()
    };
    for (version, count) in [(0, 2), (1, 3), (2, 4), (3, 5)] {
        let last = wanted(count, (version == 3).then_some(&[&[1_i32][..]]));
        for (validate_only, expected) in [(true, count - 1), (false, count)] {
            let response = call!(client, CreatePartitions, version, request(last.clone(), validate_only));
            let found = &response.results[0];
            assert_eq!((found.error_code, &found.error_message, found.name.as_str()), (0, &None, "t"));
            assert_eq!(info(&server, "t").await.unwrap()["partitions"], expected);
        }
    }
    let (number, assigned) = (ErrorCode::InvalidPartitions, ErrorCode::InvalidReplicaAssignment);
    let missing = CreatePartitionsTopic { name: "none".to_owned(), ..wanted(2, None) };
    for (topic, code, part) in [
        (wanted(4, None), number, "can only grow"),
        (wanted(5, None), number, "can only grow"),
        (wanted(0, None), number, "use 1 to 1024"),
        (wanted(1025, None), number, "use 1 to 1024"),
        (wanted(7, Some(&[&[1]])), assigned, "one for each"),
        (wanted(6, Some(&[&[2]])), assigned, "to broker 1"),
        (missing, ErrorCode::UnknownTopicOrPartition, "does not exist"),
    ] {
        for validate_only in [true, false] {
            let found = call!(client, CreatePartitions, 3, request(topic.clone(), validate_only)).results.remove(0);
            assert_refused((found.error_code, &found.error_message), code, part);
        }
    }
    let topics = vec![wanted(6, None), wanted(7, None)];
    let twice = CreatePartitionsRequest { topics, ..CreatePartitionsRequest::default() };
    for found in call!(client, CreatePartitions, 3, twice).results {
        assert_refused((found.error_code, &found.error_message), ErrorCode::InvalidRequest, "more than once");
    }
    assert_eq!(info(&server, "t").await.unwrap()["partitions"], 5);
}

#[tokio::test]
async fn records_are_deleted_from_the_front() {
    let (server, _dir) = served().await;
    let mut client = Client::connect(&server).await;
    created(&mut client, "t", 2).await;
    produce(&mut client, "t", 10).await;
    let partition = |partition_index, offset| DeleteRecordsPartition { partition_index, offset };
    let of_topic = |name: &str, partitions| DeleteRecordsTopic { name: name.to_owned(), partitions };
    let out_of_range = i16::from(ErrorCode::OffsetOutOfRange);
    let unknown = i16::from(ErrorCode::UnknownTopicOrPartition);
    for (version, offset, expected) in [
        (0, 4, (4, 0)),
        // A lower one changes nothing.
        (1, 2, (4, 0)),
        (2, 11, (-1, out_of_range)),
        (2, -2, (-1, out_of_range)),
        (2, -1, (10, 0)),
        (2, 10, (10, 0)),
    ] {
        let partitions = vec![partition(0, offset), partition(1, -1), partition(2, -1), partition(-1, 0)];
        let topics = vec![of_topic("t", partitions), of_topic("none", vec![partition(0, 0)])];
        let request = DeleteRecordsRequest { topics, ..DeleteRecordsRequest::default() };
        let found = call!(client, DeleteRecords, version, request).topics;
        let results = |topic: &DeleteRecordsTopicResult| -> Vec<_> {
            topic.partitions.iter().map(|partition| (partition.low_watermark, partition.error_code)).collect()
        };
        assert_eq!(results(&found[0]), [expected, (0, 0), (-1, unknown), (-1, unknown)], "{offset}");
        assert_eq!(results(&found[1]), [(-1, unknown)]);
    }
    assert_eq!(client.fetch("t", 9, 1 << 20).await.error, out_of_range);
    assert_eq!(info(&server, "t").await.unwrap()["first_offset"], 10);
}

#[tokio::test]
async fn settings_are_described() {
    let (server, _dir) = served().await;
    let mut client = Client::connect(&server).await;
    let wanted = with_config(topic("t", 1), "retention.bytes", Some("5000"));
    assert_eq!(create(&mut client, vec![wanted], false).await[0].error_code, 0);
    for version in 1..=4 {
        let resources = vec![resource(TOPIC, "t"), resource(TOPIC, "none"), resource(BROKER, "1")];
        let request = DescribeConfigsRequest { resources, ..DescribeConfigsRequest::default() };
        let results = call!(client, DescribeConfigs, version, request).results;
        let codes: Vec<_> = results.iter().map(|result| (result.error_code, result.resource_type)).collect();
        assert_eq!(codes, [(0, TOPIC), (ErrorCode::UnknownTopicOrPartition.into(), TOPIC), (0, BROKER)]);
        for (result, known) in [
            (0, [("cleanup.policy", "delete"), ("retention.bytes", "5000"), ("flush.ms", MAX)]),
            (2, [("log.retention.ms", "-1"), ("node.id", "1"), ("auto.create.topics.enable", "true")]),
        ] {
            for (name, value) in known {
                let found = results[result].configs.iter().find(|config| config.name == name).unwrap();
                assert_eq!(found.value.as_deref(), Some(value));
                let source = if name == "retention.bytes" { FROM_TOPIC } else { FROM_DEFAULT };
                assert_eq!((found.config_source, found.is_sensitive), (source, false), "{name}");
                assert_eq!(found.read_only, result == 2, "{name}");
                assert_eq!(found.synonyms, []);
            }
        }
        let names: Vec<_> = results[2].configs.iter().map(|config| &config.name).collect();
        assert!(names.is_sorted_by(|one, next| one < next), "{names:?}");
    }
    // With the names of the broker's settings from which values come.
    let found = describe(&mut client, resource(TOPIC, "t")).await.configs;
    let synonyms = |name: &str| {
        let config = found.iter().find(|config| config.name == name).unwrap();
        let synonym = |one: &DescribeConfigsSynonym| (one.name.clone(), one.value.clone().unwrap(), one.source);
        (config.config_type, config.synonyms.iter().map(synonym).collect::<Vec<_>>())
    };
    let named = |name: &str, value: &str, source| (name.to_owned(), value.to_owned(), source);
    let default = named("log.retention.bytes", "-1", FROM_DEFAULT);
    assert_eq!(synonyms("retention.bytes"), (5, vec![named("retention.bytes", "5000", FROM_TOPIC), default]));
    assert_eq!(synonyms("cleanup.policy"), (7, vec![named("log.cleanup.policy", "delete", FROM_DEFAULT)]));
    // Some of them, and none.
    assert_eq!(setting(&mut client, "t", "retention.ms").await, ("-1".to_owned(), FROM_DEFAULT));
    let all = describe(&mut client, resource(BROKER, "")).await;
    assert_eq!((all.error_code, all.configs.len()), (0, 0));
    for (wanted, code, part) in [
        (resource(BROKER, "2"), ErrorCode::InvalidRequest, "ask for broker \"1\""),
        (resource(8, "1"), ErrorCode::InvalidRequest, "type 8"),
        (resource(TOPIC, "none"), ErrorCode::UnknownTopicOrPartition, "does not exist"),
    ] {
        let found = describe(&mut client, wanted).await;
        assert_refused((found.error_code, &found.error_message), code, part);
    }
    let resources = vec![resource(TOPIC, "t"), resource(TOPIC, "t")];
    let twice = DescribeConfigsRequest { resources, ..DescribeConfigsRequest::default() };
    for found in call!(client, DescribeConfigs, 4, twice).results {
        assert_refused((found.error_code, &found.error_message), ErrorCode::InvalidRequest, "more than once");
    }
}

/// One change of a setting: the operation's number, the setting's name and value.
type Change<'a> = (i8, &'a str, Option<&'a str>);

/// Changes some settings; the error and its message.
async fn change(
    client: &mut Client,
    version: i16,
    (resource_type, name): (i8, &str),
    changes: &[Change<'_>],
    validate_only: bool,
) -> (i16, Option<String>) {
    let config = |(operation, name, value): &Change<'_>| IncrementalAlterableConfig {
        name: (*name).to_owned(),
        config_operation: *operation,
        value: value.map(str::to_owned),
    };
    let configs = changes.iter().map(config).collect();
    let resources = vec![IncrementalAlterConfigsResource { resource_type, resource_name: name.to_owned(), configs }];
    let request = IncrementalAlterConfigsRequest { resources, validate_only };
    let found = call!(client, IncrementalAlterConfigs, version, request).responses.remove(0);
    assert_eq!((found.resource_type, found.resource_name.as_str()), (resource_type, name));
    (found.error_code, found.error_message)
}

#[tokio::test]
async fn some_settings_are_changed() {
    let (server, _dir) = served().await;
    let mut client = Client::connect(&server).await;
    created(&mut client, "t", 3).await;
    let (set, delete, append, subtract) = (0, 1, 2, 3);
    let age = |value| [(set, "retention.ms", Some(value))];
    for (version, value) in [(0, "1"), (1, "1500"), (1, "604800000"), (1, "3600001")] {
        assert_eq!(change(&mut client, version, (TOPIC, "t"), &age(value), true).await, (0, None));
        assert_ne!(setting(&mut client, "t", "retention.ms").await.0, value);
        assert_eq!(change(&mut client, version, (TOPIC, "t"), &age(value), false).await, (0, None));
        assert_eq!(setting(&mut client, "t", "retention.ms").await, (value.to_owned(), FROM_TOPIC));
    }
    let both = [(set, "retention.bytes", Some(MAX)), (delete, "retention.ms", None)];
    assert_eq!(change(&mut client, 1, (TOPIC, "t"), &both, false).await, (0, None));
    assert_eq!(setting(&mut client, "t", "retention.bytes").await, (MAX.to_owned(), FROM_TOPIC));
    assert_eq!(setting(&mut client, "t", "retention.ms").await, ("-1".to_owned(), FROM_DEFAULT));
    // An age beyond the maximum isn't a limit.
    assert_eq!(change(&mut client, 1, (TOPIC, "t"), &age(MAX), false).await, (0, None));
    assert_eq!(setting(&mut client, "t", "retention.ms").await, ("-1".to_owned(), FROM_DEFAULT));
    // A change without effect is allowed.
    for nothing in [
        (set, "cleanup.policy", Some("DELETE")),
        (delete, "cleanup.policy", None),
        (delete, "segment.ms", None),
        (set, "min.insync.replicas", Some("1")),
    ] {
        assert_eq!(change(&mut client, 1, (TOPIC, "t"), &[nothing], false).await, (0, None), "{nothing:?}");
    }
    for (value, found) in [("compact", "compact"), ("Delete, compact", "compact,delete"), ("compact", "compact")] {
        let policy = [(set, "cleanup.policy", Some(value)), (set, "delete.retention.ms", Some("7200000"))];
        assert_eq!(change(&mut client, 1, (TOPIC, "t"), &policy, false).await, (0, None));
        assert_eq!(setting(&mut client, "t", "cleanup.policy").await, (found.to_owned(), FROM_TOPIC));
        assert_eq!(setting(&mut client, "t", "delete.retention.ms").await, ("7200000".to_owned(), FROM_TOPIC));
    }
    let described = info(&server, "t").await.unwrap();
    assert_eq!((&described["cleanup_policy"], &described["tombstone_hours"]), (&"compact".into(), &2.into()));
    let undone = [(delete, "cleanup.policy", None), (delete, "delete.retention.ms", None)];
    assert_eq!(change(&mut client, 1, (TOPIC, "t"), &undone, false).await, (0, None));
    assert_eq!(setting(&mut client, "t", "cleanup.policy").await, ("delete".to_owned(), FROM_DEFAULT));
    let topic = (TOPIC, "t");
    let (config, request) = (ErrorCode::InvalidConfig, ErrorCode::InvalidRequest);
    for (resource, wanted, code, part) in [
        (topic, (set, "cleanup.policy", Some("compact, none")), config, "use delete, compact or"),
        (topic, (append, "cleanup.policy", Some("none")), config, "use delete, compact or"),
        (topic, (append, "cleanup.policy", None), config, "has no value"),
        (topic, (subtract, "cleanup.policy", Some("delete")), config, "use delete, compact or"),
        (topic, (append, "leader.replication.throttled.replicas", Some("all")), config, "PARTITION:BROKER"),
        (topic, (set, "delete.retention.ms", Some("-1")), config, "0 or more"),
        (topic, (append, "retention.ms", Some("1")), config, "isn't a list"),
        (topic, (subtract, "retention.ms", Some("1")), config, "isn't a list"),
        (topic, (set, "retention.ms", None), config, "has no value"),
        (topic, (set, "retention.ms", Some("week")), config, "1 or more"),
        (topic, (set, "segment.ms", Some("0")), config, "1 or more"),
        (topic, (set, "max.compaction.lag.ms", Some("1")), config, MAX),
        (topic, (set, "no.such", Some("1")), config, "no setting"),
        (topic, (delete, "no.such", None), config, "no setting"),
        (topic, (4, "retention.ms", Some("1")), request, "operation on a setting"),
        ((TOPIC, "none"), age("1")[0], ErrorCode::UnknownTopicOrPartition, "does not exist"),
        ((BROKER, "1"), (set, "log.retention.ms", Some("1")), request, "start it with others"),
        ((BROKER, ""), (set, "log.retention.ms", Some("1")), request, "start it with others"),
        ((BROKER, "2"), (set, "log.retention.ms", Some("1")), request, "broker \"1\""),
        ((32, "group"), (set, "x", Some("1")), request, "type 32"),
    ] {
        for validate_only in [true, false] {
            let (found, message) = change(&mut client, 1, resource, &[wanted], validate_only).await;
            assert_refused((found, &message), code, part);
        }
    }
    // One that is refused, and none of the request's is changed.
    let mixed = [(set, "retention.ms", Some("5")), (set, "no.such", Some("1"))];
    assert_eq!(change(&mut client, 1, topic, &mixed, false).await.0, i16::from(config));
    assert_eq!(setting(&mut client, "t", "retention.ms").await.0, "-1");
    let (found, message) = change(&mut client, 1, topic, &[age("1")[0], age("2")[0]], false).await;
    assert_refused((found, &message), request, "more than once");
    assert_eq!(info(&server, "t").await.unwrap()["partitions"], 3);
}

#[tokio::test]
async fn all_settings_are_replaced() {
    let (server, _dir) = served().await;
    let mut client = Client::connect(&server).await;
    let wanted = with_config(topic("t", 1), "retention.bytes", Some("5000"));
    create(&mut client, vec![wanted], false).await;
    let altered = |name: &str, config: &str, value: &str, validate_only| AlterConfigsRequest {
        resources: vec![AlterConfigsResource {
            resource_type: TOPIC,
            resource_name: name.to_owned(),
            configs: vec![AlterableConfig { name: config.to_owned(), value: Some(value.to_owned()) }],
        }],
        validate_only,
    };
    for (version, value) in [(0, "1000"), (1, "2000"), (2, "3000")] {
        for validate_only in [true, false] {
            let request = altered("t", "retention.ms", value, validate_only);
            let found = call!(client, AlterConfigs, version, request).responses.remove(0);
            assert_eq!((found.error_code, found.error_message, found.resource_name.as_str()), (0, None, "t"));
            assert_eq!(setting(&mut client, "t", "retention.ms").await.0 == value, !validate_only);
        }
        // Other settings have their defaults.
        assert_eq!(setting(&mut client, "t", "retention.bytes").await, ("-1".to_owned(), FROM_DEFAULT));
    }
    for (request, code, part) in [
        (altered("t", "cleanup.policy", "none", false), ErrorCode::InvalidConfig, "use delete, compact or"),
        (altered("none", "retention.ms", "1", false), ErrorCode::UnknownTopicOrPartition, "does not exist"),
    ] {
        let found = call!(client, AlterConfigs, 2, request).responses.remove(0);
        assert_refused((found.error_code, &found.error_message), code, part);
    }
    let mut twice = altered("t", "retention.ms", "1", false);
    twice.resources.push(twice.resources[0].clone());
    for found in call!(client, AlterConfigs, 2, twice).responses {
        assert_refused((found.error_code, &found.error_message), ErrorCode::InvalidRequest, "more than once");
    }
    assert_eq!(setting(&mut client, "t", "retention.ms").await, ("3000".to_owned(), FROM_TOPIC));
}

/// Each of Kafka's settings that a topic only keeps: they are described as they were set, also after a restart.
#[tokio::test]
async fn settings_without_an_effect_are_kept_and_described() {
    let dir = tempfile::tempdir().unwrap();
    let server = served_in(dir.path()).await;
    let mut client = Client::connect(&server).await;
    let kept = [
        ("compression.gzip.level", "3"),
        ("compression.lz4.level", "5"),
        ("compression.type", "zstd"),
        ("compression.zstd.level", "-7"),
        ("file.delete.delay.ms", "0"),
        ("flush.messages", "1"),
        ("flush.ms", "0"),
        ("follower.replication.throttled.replicas", "*"),
        ("index.interval.bytes", "1"),
        ("leader.replication.throttled.replicas", "0:1,1:1"),
        ("local.retention.bytes", "1"),
        ("local.retention.ms", "1"),
        ("max.message.bytes", "1048588"),
        ("min.cleanable.dirty.ratio", "0.01"),
        ("min.insync.replicas", "2"),
        ("preallocate", "true"),
        ("remote.log.copy.disable", "true"),
        ("remote.log.delete.on.disable", "true"),
        // As Kafka Streams creates its topics.
        ("segment.bytes", "52428800"),
        ("segment.index.bytes", "1024"),
        ("segment.jitter.ms", "1"),
        ("segment.ms", "1"),
        ("unclean.leader.election.enable", "true"),
    ];
    let wanted = kept.iter().fold(topic("t", 1), |topic, (name, value)| with_config(topic, name, Some(value)));
    let created = create(&mut client, vec![wanted], false).await.remove(0);
    assert_eq!((created.error_code, &created.error_message), (0, &None));
    drop(client);
    server.stop().await;

    let server = served_in(dir.path()).await;
    let mut client = Client::connect(&server).await;
    for (name, value) in kept {
        assert_eq!(setting(&mut client, "t", name).await, (value.to_owned(), FROM_TOPIC), "{name}");
        assert_eq!(change(&mut client, 1, (TOPIC, "t"), &[(1, name, None)], false).await, (0, None));
        let (default, source) = setting(&mut client, "t", name).await;
        assert!(default != value && source == FROM_DEFAULT, "{name}: {default}");
        // A value that is set is the topic's, even if it is the default.
        assert_eq!(change(&mut client, 1, (TOPIC, "t"), &[(0, name, Some(&default))], false).await, (0, None));
        assert_eq!(setting(&mut client, "t", name).await, (default, FROM_TOPIC), "{name}");
    }
    // A request that replaces all settings resets these.
    let replaced = AlterConfigsResource { resource_type: TOPIC, resource_name: "t".to_owned(), configs: Vec::new() };
    let request = AlterConfigsRequest { resources: vec![replaced], validate_only: false };
    assert_eq!(call!(client, AlterConfigs, 2, request).responses[0].error_code, 0);
    assert_eq!(setting(&mut client, "t", "segment.bytes").await.1, FROM_DEFAULT);
}

#[tokio::test]
async fn lists_are_changed_by_elements() {
    let (server, _dir) = served().await;
    let mut client = Client::connect(&server).await;
    created(&mut client, "t", 1).await;
    let (append, subtract) = (2, 3);
    let (policy, replicas) = ("cleanup.policy", "leader.replication.throttled.replicas");
    for (operation, name, value, expected) in [
        (append, policy, "compact", "compact,delete"),
        (append, policy, "compact", "compact,delete"),
        (subtract, policy, "delete", "compact"),
        (subtract, policy, "delete", "compact"),
        (append, policy, "delete,compact", "compact,delete"),
        (subtract, policy, "compact", "delete"),
        (append, replicas, "0:1", "0:1"),
        (append, replicas, "1:1,0:1", "0:1,1:1"),
        (subtract, replicas, "0:1", "1:1"),
        (subtract, replicas, "1:1,2:1", ""),
    ] {
        for validate_only in [true, false] {
            let changed = [(operation, name, Some(value))];
            assert_eq!(change(&mut client, 1, (TOPIC, "t"), &changed, validate_only).await, (0, None));
        }
        assert_eq!(setting(&mut client, "t", name).await.0, expected, "{operation} {value}");
    }
}

#[tokio::test]
async fn a_topic_takes_batches_up_to_its_own_limit() {
    let (server, _dir) = served().await;
    let mut client = Client::connect(&server).await;
    let sent = batch(RecordCodec::None, 100, None);
    let limit = sent.len().to_string();
    let wanted = with_config(topic("t", 1), "max.message.bytes", Some(&limit));
    assert_eq!(create(&mut client, vec![wanted], false).await[0].error_code, 0);
    let body = client.exchange(Api::Produce, 3, &produce_body("t", -1, &sent)).await;
    assert_eq!(produced(&body, "t"), (0, 0));
    // Two that are small enough are, whatever their sum is.
    let body = client.exchange(Api::Produce, 3, &produce_body("t", -1, &[&sent[..], &sent].concat())).await;
    assert_eq!(produced(&body, "t"), (0, 100));
    let large = batch(RecordCodec::None, 101, None);
    let body = client.exchange(Api::Produce, 3, &produce_body("t", -1, &large)).await;
    assert_eq!(produced(&body, "t").0, i16::from(ErrorCode::MessageTooLarge));
    let large = vec![b'-'; sent.len()];
    let (status, _, text) = http(&server, "POST", "/records?topic-name=t", LINES, &large).await;
    let text = String::from_utf8(text).unwrap();
    assert!(status == 413 && text.contains("max.message.bytes"), "{status} {text}");
    assert_eq!(change(&mut client, 1, (TOPIC, "t"), &[(1, "max.message.bytes", None)], false).await, (0, None));
    let (status, _, _) = http(&server, "POST", "/records?topic-name=t", LINES, &large).await;
    assert_eq!(status, 201);
}

/// The authorized operations: all.
const TOPIC_OPERATIONS: i32 = 0b1101_1111_1000;
const BROKER_OPERATIONS: i32 = 0b1_1111_1010_0000;

#[tokio::test]
async fn the_broker_describes_itself() {
    let (server, _dir) = served().await;
    let mut client = Client::connect(&server).await;
    let mut ids = BTreeSet::new();
    for version in 0..=2 {
        for (is_asked, operations) in [(false, i32::MIN), (true, BROKER_OPERATIONS)] {
            let request = DescribeClusterRequest {
                include_cluster_authorized_operations: is_asked,
                ..DescribeClusterRequest::default()
            };
            let found = call!(client, DescribeCluster, version, request);
            assert_eq!((found.error_code, found.controller_id, found.endpoint_type), (0, 1, 1));
            let operations_found = found.cluster_authorized_operations;
            assert_eq!((found.cluster_id.len(), operations_found), (32, operations), "{}", found.cluster_id);
            ids.insert(found.cluster_id.clone());
            let broker = &found.brokers[0];
            assert_eq!((broker.broker_id, broker.host.as_str()), (1, "127.0.0.1"));
            assert_eq!((broker.port, found.brokers.len()), (server.kafka.port().into(), 1));
        }
    }
    for (endpoint_type, code) in [(2, ErrorCode::MismatchedEndpointType), (3, ErrorCode::UnsupportedEndpointType)] {
        let request = DescribeClusterRequest { endpoint_type, ..DescribeClusterRequest::default() };
        let found = call!(client, DescribeCluster, 1, request);
        assert_refused((found.error_code, &found.error_message), code, "clients connect to brokers");
    }
    assert_eq!(ids.len(), 1, "{ids:?}");
    // Metadata says the same.
    created(&mut client, "t", 1).await;
    for (is_asked, of_topics, of_brokers) in [(false, i32::MIN, i32::MIN), (true, TOPIC_OPERATIONS, BROKER_OPERATIONS)]
    {
        let request = MetadataRequest {
            include_cluster_authorized_operations: is_asked,
            include_topic_authorized_operations: is_asked,
            ..MetadataRequest::default()
        };
        let found = call!(client, Metadata, 9, request);
        assert_eq!(found.topics[0].topic_authorized_operations, of_topics);
        assert_eq!(found.cluster_authorized_operations, of_brokers);
        assert_eq!(ids.iter().next(), found.cluster_id.as_ref());
    }
    // Nothing moves between brokers.
    let found = call!(client, ListPartitionReassignments, 0, ListPartitionReassignmentsRequest::default());
    assert_eq!((found.error_code, found.topics.len()), (0, 0));
}

/// Clients that see two clusters tell them apart, and know one again after a restart.
#[tokio::test]
async fn each_storage_has_its_own_cluster_id() {
    let id = async |server: &Served| {
        let mut client = Client::connect(server).await;
        call!(client, DescribeCluster, 2, DescribeClusterRequest::default()).cluster_id
    };
    let (other, _dir) = served().await;
    let dir = tempfile::tempdir().unwrap();
    let mut seen = BTreeSet::from([id(&other).await]);
    for _ in 0..2 {
        let server = served_in(dir.path()).await;
        seen.insert(id(&server).await);
        server.stop().await;
    }
    assert_eq!(seen.len(), 2, "{seen:?}");
}

/// A page: names with errors and numbers of partitions, and where the next page begins.
type Page = (Vec<(String, i16, Vec<i32>)>, Option<(String, i32)>);

async fn page(client: &mut Client, names: &[&str], limit: i32, from: Option<(String, i32)>) -> Page {
    let topic = |name: &&str| DescribeTopicPartitionsTopic { name: (*name).to_owned() };
    let cursor = |(topic_name, partition_index)| TopicPartitionsCursor { topic_name, partition_index };
    let request = DescribeTopicPartitionsRequest {
        topics: names.iter().map(topic).collect(),
        response_partition_limit: limit,
        cursor: from.map(cursor),
    };
    let found = call!(client, DescribeTopicPartitions, 0, request);
    let described = |topic: DescribeTopicPartitionsResponseTopic| {
        let operations = if topic.error_code == 0 { TOPIC_OPERATIONS } else { i32::MIN };
        assert_eq!(topic.topic_authorized_operations, operations);
        for partition in &topic.partitions {
            assert_eq!((partition.error_code, partition.leader_id, partition.leader_epoch), (0, 1, 0));
            assert_eq!((&partition.replica_nodes[..], &partition.isr_nodes[..]), (&[1][..], &[1][..]));
            assert_eq!(partition.eligible_leader_replicas, Some(Vec::new()));
        }
        let numbers = topic.partitions.iter().map(|partition| partition.partition_index).collect();
        (topic.name.unwrap(), topic.error_code, numbers)
    };
    let next = found.next_cursor.map(|cursor| (cursor.topic_name, cursor.partition_index));
    (found.topics.into_iter().map(described).collect(), next)
}

#[tokio::test]
async fn partitions_are_described_a_page_at_a_time() {
    let (server, _dir) = served().await;
    let mut client = Client::connect(&server).await;
    for (name, partitions) in [("a", 3), ("b", 1), ("d", 1024), ("e", 1024)] {
        created(&mut client, name, partitions).await;
    }
    let unknown = i16::from(ErrorCode::UnknownTopicOrPartition);
    let topic = |name: &str, numbers: std::ops::Range<i32>| (name.to_owned(), 0, numbers.collect::<Vec<_>>());
    let at = |name: &str, number| Some((name.to_owned(), number));
    let missing = ("c".to_owned(), unknown, Vec::new());
    // By name, whatever the order is.
    let names = ["c", "b", "a"];
    let first = page(&mut client, &names, 2, None).await;
    assert_eq!(first, (vec![topic("a", 0..2)], at("a", 2)));
    let second = page(&mut client, &names, 1, first.1).await;
    assert_eq!(second, (vec![topic("a", 2..3)], at("b", 0)));
    let third = page(&mut client, &names, 2, second.1).await;
    assert_eq!(third, (vec![topic("b", 0..1), missing], None));
    // No names: all topics. No page is empty or has more than 2000.
    let all = page(&mut client, &[], i32::MAX, None).await;
    assert_eq!(all.0, [topic("a", 0..3), topic("b", 0..1), topic("d", 0..1024), topic("e", 0..972)]);
    assert_eq!(all.1, at("e", 972));
    assert_eq!(page(&mut client, &[], -1, None).await, (vec![topic("a", 0..1)], at("a", 1)));
    assert_eq!(page(&mut client, &["b"], 10, at("b", -5)).await, (vec![topic("b", 0..1)], None));
    assert_eq!(page(&mut client, &["b"], 10, at("b", 9)).await, (vec![topic("b", 0..0)], None));
}

#[tokio::test]
async fn epochs_end_where_partitions_do() {
    let (server, _dir) = served().await;
    let mut client = Client::connect(&server).await;
    created(&mut client, "t", 1).await;
    produce(&mut client, "t", 7).await;
    let asked = |partition, current_leader_epoch, leader_epoch| OffsetForLeaderPartition {
        partition,
        current_leader_epoch,
        leader_epoch,
    };
    for version in 2..=4 {
        let partitions = vec![asked(0, -1, 0), asked(0, 0, 0), asked(0, 0, 3), asked(0, 1, 0), asked(1, 0, 0)];
        let topics = vec![OffsetForLeaderTopic { topic: "t".to_owned(), partitions }];
        let request = OffsetForLeaderEpochRequest { replica_id: -1, topics };
        let found = call!(client, OffsetForLeaderEpoch, version, request).topics.remove(0).partitions;
        let found: Vec<_> = found.iter().map(|end| (end.error_code, end.leader_epoch, end.end_offset)).collect();
        let newer = (ErrorCode::UnknownLeaderEpoch.into(), -1, -1);
        let missing = (ErrorCode::UnknownTopicOrPartition.into(), -1, -1);
        assert_eq!(found, [(0, 0, 7), (0, 0, 7), (0, -1, -1), newer, missing]);
    }
}

#[tokio::test]
async fn sizes_of_partitions_are_known() {
    let (server, _dir) = served().await;
    let mut client = Client::connect(&server).await;
    created(&mut client, "t", 2).await;
    created(&mut client, "u", 1).await;
    produce(&mut client, "t", 100).await;
    let wanted = |name: &str, partitions: &[i32]| DescribableLogDirTopic {
        topic: name.to_owned(),
        partitions: partitions.to_vec(),
    };
    for version in 1..=4 {
        for (topics, expected) in [
            (None, vec![("t", 0), ("t", 1), ("u", 0)]),
            (Some(vec![wanted("t", &[1, 0, 5]), wanted("none", &[0])]), vec![("t", 0), ("t", 1)]),
            (Some(vec![wanted("u", &[0]), wanted("u", &[0])]), vec![("u", 0)]),
        ] {
            let found = call!(client, DescribeLogDirs, version, DescribeLogDirsRequest { topics });
            assert_eq!((found.error_code, found.results.len()), (0, 1));
            let dir = &found.results[0];
            assert_eq!((dir.error_code, dir.total_bytes, dir.usable_bytes), (0, -1, -1));
            let of_topic = |topic: &DescribeLogDirsTopic| -> Vec<_> {
                let numbers = topic.partitions.iter().map(|partition| partition.partition_index);
                numbers.map(|number| (topic.name.clone(), number)).collect()
            };
            let all: Vec<_> = dir.topics.iter().flat_map(of_topic).collect();
            assert!(all.iter().map(|(name, number)| (name.as_str(), *number)).eq(expected), "{all:?}");
            for partition in dir.topics.iter().filter(|topic| topic.name == "t").flat_map(|topic| &topic.partitions) {
                assert_eq!(partition.partition_size > 2000, partition.partition_index == 0, "{partition:?}");
            }
        }
    }
}

#[tokio::test]
async fn clients_learn_which_requests_are_served() {
    let (server, _dir) = served().await;
    let mut client = Client::connect(&server).await;
    let found = call!(client, ApiVersions, 3, ApiVersionsRequest::default()).api_keys;
    for (api, min, max) in [
        (Api::CreateTopics, 2, 7),
        (Api::DeleteTopics, 1, 6),
        (Api::CreatePartitions, 0, 3),
        (Api::DeleteRecords, 0, 2),
        (Api::DescribeConfigs, 1, 4),
        (Api::AlterConfigs, 0, 2),
        (Api::IncrementalAlterConfigs, 0, 1),
        (Api::DescribeCluster, 0, 2),
        (Api::DescribeTopicPartitions, 0, 0),
        (Api::OffsetForLeaderEpoch, 2, 4),
        (Api::DescribeLogDirs, 1, 4),
        (Api::ListPartitionReassignments, 0, 0),
    ] {
        let found = found.iter().find(|found| found.api_key == api.key()).unwrap();
        assert_eq!((found.min_version, found.max_version), (min, max), "{api:?}");
    }
}
