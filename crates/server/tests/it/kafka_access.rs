//! Grants over Kafka's protocol: forbidden requests are refused as Kafka refuses them, and hidden names are omitted.
//! Quotas mute connections.

#![allow(clippy::disallowed_methods)] // Tests start tasks where they like.

use crate::kafka_transactions::{FIRST_WITH_TRANSACTIONS, produce as produce_as, transactional};
use crate::support::http;
use crate::support::kafka::{Client, Fetched, batch, fetch_body, produce_body, produced};
use crate::support::kafka_requests::{Body, Names, of};
use rawline_batch::record_batch::{RecordCodec, RecordProducer};
use rawline_broker::store::disk::{self, Durability};
use rawline_kafka::messages::{
    ApiVersionsRequest, ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest, ConsumerSubscription,
    CreatableTopic, CreateTopicsRequest, DescribeGroupsRequest, EndTxnRequest, FindCoordinatorRequest,
    InitProducerIdRequest, JoinGroupRequest, JoinGroupRequestProtocol, ListGroupsRequest, MetadataRequest,
    MetadataRequestTopic, SaslAuthenticateRequest, SaslHandshakeRequest, TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};
use rawline_kafka::{Api, ErrorCode, Response};
use rawline_server::access::{Access, Audit, Grants, KeyEntry, KeyFile, Patterns, QuotaLimits};
use rawline_server::http::HttpConfig;
use rawline_testkit::served::Served;
use std::num::NonZeroU64;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const TOPIC: i16 = ErrorCode::TopicAuthorizationFailed as i16;
const GROUP: i16 = ErrorCode::GroupAuthorizationFailed as i16;
const CLUSTER: i16 = ErrorCode::ClusterAuthorizationFailed as i16;
const NO_ACLS: i16 = ErrorCode::SecurityDisabled as i16;
const TRANSACTION: i16 = ErrorCode::TransactionalIdAuthorizationFailed as i16;

fn patterns(texts: &[&str]) -> Patterns {
    Patterns::parse(texts.iter().copied()).unwrap()
}

/// A broker with a key that grants everything, and one with these grants.
async fn served(grants: Grants, quota: QuotaLimits) -> (Served, String, tempfile::TempDir) {
    let (key, entry) = KeyEntry::generate("some", grants, quota).unwrap();
    let access = Access::new(vec!["all".into()], Some(KeyFile { keys: vec![entry] }), Audit::default());
    let config = HttpConfig { access, ..HttpConfig::default() };
    // Kafka's batches need a journal.
    let folder = tempfile::tempdir().unwrap();
    let store = disk::open(folder.path(), Durability::PageCache).unwrap();
    (Served::on(store, config, 64 << 20).await, key, folder)
}

async fn log_in(server: &Served, key: &str) -> Client {
    let mut client = Client::connect(server).await;
    client.call(1, SaslHandshakeRequest { mechanism: "PLAIN".to_owned() }).await;
    let request = SaslAuthenticateRequest { auth_bytes: format!("\0me\0{key}").into_bytes().into() };
    let Response::SaslAuthenticate(response) = client.call(2, request).await else { panic!() };
    assert_eq!(response.error_code, 0, "{response:?}");
    client
}

async fn produce(client: &mut Client, topic: &str) -> (i16, i64) {
    let body = produce_body(topic, -1, &batch(RecordCodec::None, 3, None));
    let response = client.exchange(Api::Produce, 3, &body).await;
    produced(&response, topic)
}

fn topics(names: &[&str]) -> MetadataRequest {
    let topic =
        |name: &&str| MetadataRequestTopic { name: Some((*name).to_owned()), ..MetadataRequestTopic::default() };
    let topics = Some(names.iter().map(topic).collect());
    MetadataRequest { topics, allow_auto_topic_creation: true, ..MetadataRequest::default() }
}

async fn metadata(client: &mut Client, request: MetadataRequest) -> Vec<(String, i16)> {
    let Response::Metadata(found) = client.call(12, request).await else { panic!() };
    found.topics.into_iter().map(|topic| (topic.name.unwrap(), topic.error_code)).collect()
}

#[tokio::test]
async fn a_key_reads_and_writes_what_it_grants_and_sees_nothing_else() {
    let grants = Grants { read: patterns(&["r.*"]), write: patterns(&["w.*"]), ..Grants::default() };
    let (server, key, _folder) = served(grants, QuotaLimits::default()).await;
    let mut admin = log_in(&server, "all").await;
    for topic in ["r.1", "w.1", "other"] {
        admin.create(topic).await;
        assert_eq!(produce(&mut admin, topic).await.0, 0);
    }
    let mut client = log_in(&server, &key).await;
    assert_eq!(produce(&mut client, "w.1").await, (0, 3));
    for topic in ["r.1", "other", "none"] {
        assert_eq!(produce(&mut client, topic).await, (TOPIC, -1), "{topic}");
    }
    // Without a response, the connection is closed.
    let mut silent = log_in(&server, &key).await;
    let body = produce_body("other", 0, &batch(RecordCodec::None, 3, None));
    let request = silent.request(Api::Produce.key(), 3, &body);
    silent.stream.write_all(&request).await.unwrap();
    assert_eq!(silent.stream.read_to_end(&mut Vec::new()).await.unwrap(), 0);
    assert_eq!(client.fetch("r.1", 0, 1 << 20).await.error, 0);
    for topic in ["w.1", "other", "none"] {
        let fetched = client.fetch(topic, 0, 1 << 20).await;
        assert_eq!((fetched.error, fetched.records.len()), (TOPIC, 0), "{topic}");
    }
    let named = |name: &str, error| (name.to_owned(), error);
    let all = metadata(&mut client, MetadataRequest { topics: None, ..MetadataRequest::default() }).await;
    assert_eq!(all, [named("r.1", 0), named("w.1", 0)]);
    // Only what may be written is created.
    let found = metadata(&mut client, topics(&["r.1", "other", "none", "w.2", "r.2"])).await;
    let expected = [named("r.1", 0), named("other", TOPIC), named("none", TOPIC), named("w.2", 0), named("r.2", TOPIC)];
    assert_eq!(found, expected);
    let all = metadata(&mut admin, MetadataRequest { topics: None, ..MetadataRequest::default() }).await;
    assert_eq!(all.len(), 4, "{all:?}");

    let topic = CreatableTopic { name: "w.3".into(), num_partitions: 1, replication_factor: 1, ..Default::default() };
    let create = CreateTopicsRequest { topics: vec![topic], ..CreateTopicsRequest::default() };
    let Response::CreateTopics(created) = client.call(7, create.clone()).await else { panic!() };
    let message = created.topics[0].error_message.as_deref().unwrap();
    assert!(created.topics[0].error_code == TOPIC && message.contains("to administer topic w.3: add"), "{message}");
    let Response::CreateTopics(created) = admin.call(7, create).await else { panic!() };
    assert_eq!(created.topics[0].error_code, 0);
}

#[tokio::test]
async fn groups_and_transactional_ids_need_their_grants() {
    let grants = Grants { groups: patterns(&["g"]), producers: patterns(&["p"]), ..Grants::default() };
    let (server, key, _folder) = served(grants, QuotaLimits::default()).await;
    let mut client = log_in(&server, &key).await;
    for (kind, name, error) in [(0, "g", 0), (0, "h", GROUP), (1, "p", 0), (1, "q", TRANSACTION)] {
        let keys = vec![name.to_owned()];
        let new = FindCoordinatorRequest { key_type: kind, coordinator_keys: keys, ..Default::default() };
        let Response::FindCoordinator(found) = client.call(4, new).await else { panic!() };
        assert_eq!(found.coordinators[0].error_code, error, "{name}");
        let old = FindCoordinatorRequest { key_type: kind, key: name.to_owned(), ..Default::default() };
        let Response::FindCoordinator(found) = client.call(3, old).await else { panic!() };
        assert_eq!(found.error_code, error, "{name}");
    }
    let Response::ListGroups(found) = client.call(4, ListGroupsRequest::default()).await else { panic!() };
    assert_eq!((found.error_code, found.groups.len()), (0, 0));
}

/// Only the transactional id that a producer's id belongs to can use it.
#[tokio::test]
async fn a_producers_id_is_refused_with_another_transactional_id() {
    let grants = Grants { write: patterns(&["w"]), read: patterns(&["w"]), groups: patterns(&["g"]), ..Grants::all() };
    let grants = Grants { producers: patterns(&["mine"]), ..grants };
    let (server, key, _folder) = served(grants, QuotaLimits::default()).await;
    let (mut owner, mut client) = (log_in(&server, "all").await, log_in(&server, &key).await);
    owner.create("w").await;
    let open = async |client: &mut Client, name: Option<&str>| {
        let (transactional_id, transaction_timeout_ms) = (name.map(str::to_owned), 60_000);
        let request = InitProducerIdRequest { transactional_id, transaction_timeout_ms, ..Default::default() };
        let Response::InitProducerId(opened) = client.call(5, request).await else { panic!() };
        (opened.error_code, (opened.producer_id, opened.producer_epoch))
    };
    let (_, theirs) = open(&mut owner, Some("theirs")).await;
    let (_, own) = open(&mut client, Some("mine")).await;
    let (named, mapping) = (1i64 << 52..1 << 53, ErrorCode::InvalidProducerIdMapping as i16);
    assert!(named.contains(&theirs.0) && named.contains(&own.0) && theirs.0.abs_diff(own.0) > 1_000);
    let (_, unnamed) = open(&mut client, None).await;
    assert!(!named.contains(&unnamed.0));
    let plain = |(id, epoch): (i64, i16), base_sequence| {
        let producer = RecordProducer { id: id as u64, epoch: epoch as u16, base_sequence };
        batch(RecordCodec::None, 2, Some(producer))
    };
    for version in [9, FIRST_WITH_TRANSACTIONS] {
        let forged = produce_as(&mut client, version, None, "w", &plain(theirs, 0)).await;
        assert_eq!(forged.0, TRANSACTION, "version {version}");
    }
    // Whichever rights a client has, one transactional id has one producer.
    for (is_owner, name, instance, error) in [
        (false, "mine", theirs, mapping),
        (false, "mine", unnamed, mapping),
        (false, "theirs", theirs, TRANSACTION),
        (true, "other", theirs, mapping),
    ] {
        let client = if is_owner { &mut owner } else { &mut client };
        let records = transactional(instance, 0, 2);
        let produced = produce_as(client, FIRST_WITH_TRANSACTIONS, Some(name), "w", &records).await;
        assert_eq!(produced.0, error, "{name} with {instance:?}");
        let partition = TxnOffsetCommitRequestPartition { committed_offset: 5, ..Default::default() };
        let topics = vec![TxnOffsetCommitRequestTopic { name: "w".to_owned(), partitions: vec![partition] }];
        let (producer_id, producer_epoch) = instance;
        let (transactional_id, group_id) = (name.to_owned(), "g".to_owned());
        let commit = TxnOffsetCommitRequest {
            transactional_id: transactional_id.clone(),
            group_id,
            producer_id,
            producer_epoch,
            topics,
            ..Default::default()
        };
        let Response::TxnOffsetCommit(committed) = client.call(5, commit).await else { panic!() };
        assert_eq!(committed.topics[0].partitions[0].error_code, error, "{name} with {instance:?}");
        let end = EndTxnRequest { transactional_id, producer_id, producer_epoch, committed: true };
        let Response::EndTxn(ended) = client.call(5, end).await else { panic!() };
        assert_eq!(ended.error_code, error, "{name} with {instance:?}");
    }
    let own = produce_as(&mut client, FIRST_WITH_TRANSACTIONS, Some("mine"), "w", &transactional(own, 0, 2)).await;
    assert_eq!(own, (0, 0));
    let theirs =
        produce_as(&mut owner, FIRST_WITH_TRANSACTIONS, Some("theirs"), "w", &transactional(theirs, 0, 2)).await;
    assert_eq!(theirs, (0, 2));
}

/// A group shows no topic that a key doesn't see: not to its members, and not in descriptions.
#[tokio::test]
async fn groups_show_only_topics_that_a_key_sees() {
    let grants = Grants { read: patterns(&["a-*"]), groups: patterns(&["g*"]), ..Grants::default() };
    let (server, key, _folder) = served(grants, QuotaLimits::default()).await;
    let (mut admin, mut client) = (log_in(&server, "all").await, log_in(&server, &key).await);
    for topic in ["a-1", "a-2", "b-secret"] {
        admin.create(topic).await;
    }
    let beat = async |client: &mut Client, member: &str, group: &str| {
        let request = ConsumerGroupHeartbeatRequest {
            group_id: group.to_owned(),
            member_id: member.to_owned(),
            rebalance_timeout_ms: 60_000,
            subscribed_topic_regex: Some(".*".to_owned()),
            topic_partitions: Some(Vec::new()),
            ..ConsumerGroupHeartbeatRequest::default()
        };
        let Response::ConsumerGroupHeartbeat(kept) = client.call(1, request).await else { panic!() };
        assert_eq!((kept.error_code, kept.error_message), (0, None));
        kept.assignment.unwrap().topic_partitions.len()
    };
    let describe = async |client: &mut Client, group: &str| {
        let request = ConsumerGroupDescribeRequest { group_ids: vec![group.to_owned()], ..Default::default() };
        let Response::ConsumerGroupDescribe(mut found) = client.call(0, request).await else { panic!() };
        found.groups.remove(0)
    };
    assert_eq!(beat(&mut client, "m", "g1").await, 2);
    assert_eq!(beat(&mut admin, "m", "g2").await, 3);
    let seen = describe(&mut client, "g1").await;
    let names: Vec<_> = seen.members[0].assignment.topic_partitions.iter().map(|of| &of.topic_name).collect();
    assert_eq!((seen.error_code, names.len()), (0, 2));
    assert!(names.iter().all(|name| name.starts_with("a-")), "{names:?}");
    let hidden = describe(&mut client, "g2").await;
    assert_eq!((hidden.error_code, hidden.members.len()), (TOPIC, 0));
    assert_eq!(describe(&mut admin, "g2").await.error_code, 0);
    // The same of a group whose members divide the partitions.
    for (group, topic) in [("g3", "a-1"), ("g4", "b-secret")] {
        let metadata = ConsumerSubscription { topics: vec![topic.to_owned()], user_data: None }.to_bytes();
        let protocols = vec![JoinGroupRequestProtocol { name: "range".to_owned(), metadata }];
        let join = JoinGroupRequest {
            group_id: group.to_owned(),
            session_timeout_ms: 45_000,
            rebalance_timeout_ms: 60_000,
            protocol_type: "consumer".to_owned(),
            protocols,
            ..JoinGroupRequest::default()
        };
        let Response::JoinGroup(joined) = admin.call(3, join).await else { panic!() };
        assert_eq!(joined.error_code, 0);
        let request = DescribeGroupsRequest { groups: vec![group.to_owned()], ..Default::default() };
        for (client, error) in [(&mut client, if topic == "a-1" { 0 } else { TOPIC }), (&mut admin, 0)] {
            let Response::DescribeGroups(found) = client.call(5, request.clone()).await else { panic!() };
            let found = &found.groups[0];
            assert_eq!((found.error_code, found.members.is_empty()), (error, error != 0), "{group}");
        }
    }
}

/// A Fetch that waits gets no record that comes after its key is removed.
#[tokio::test]
async fn a_fetch_that_waits_does_not_outlive_its_key() {
    let (key, entry) = KeyEntry::generate("some", Grants::all(), QuotaLimits::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.toml");
    std::fs::write(&path, KeyFile::add("", &entry).unwrap()).unwrap();
    let access = Access::new(vec!["all".into()], Some(KeyFile { keys: vec![entry] }), Audit::default());
    let config = HttpConfig { access: access.clone(), ..HttpConfig::default() };
    let store = disk::open(folder.path(), Durability::PageCache).unwrap();
    let server = Served::on(store, config, 64 << 20).await;
    let file = path.clone();
    let following = tokio::spawn(async move { access.follow(Some(file)).await });
    let mut admin = log_in(&server, "all").await;
    admin.create("t").await;
    let mut client = log_in(&server, &key).await;
    let waiting = client.request(Api::Fetch.key(), 4, &fetch_body("t", 0, 1 << 20, 300_000));
    client.stream.write_all(&waiting).await.unwrap();
    std::fs::write(&path, "").unwrap();
    let request = || SaslAuthenticateRequest { auth_bytes: format!("\0me\0{key}").into_bytes().into() };
    loop {
        let mut other = Client::connect(&server).await;
        other.call(1, SaslHandshakeRequest { mechanism: "PLAIN".to_owned() }).await;
        let Response::SaslAuthenticate(response) = other.call(2, request()).await else { panic!() };
        if response.error_code != 0 {
            break;
        }
    }
    assert_eq!(produce(&mut admin, "t").await, (0, 0));
    let fetched = Fetched::read(&client.response(false).await.1);
    assert_eq!((fetched.error, fetched.records.len()), (TOPIC, 0));
    following.abort();
}

/// As in Kafka: an append that isn't an exact duplicate is out of order, and clients don't consider it stored.
#[tokio::test]
async fn a_batch_that_is_stored_in_part_or_with_other_records_is_out_of_order() {
    let (server, _key, _folder) = served(Grants::default(), QuotaLimits::default()).await;
    let mut client = log_in(&server, "all").await;
    client.create("w").await;
    let records =
        |base_sequence, count| batch(RecordCodec::None, count, Some(RecordProducer { id: 7, epoch: 0, base_sequence }));
    let mut produce = async |records: &[u8]| produce_as(&mut client, 9, None, "w", records).await;
    for (base_sequence, offset) in [(0, 0), (3, 3), (6, 6)] {
        assert_eq!(produce(&records(base_sequence, 3)).await, (0, offset));
    }
    let order = (ErrorCode::OutOfOrderSequenceNumber as i16, -1);
    for (base_sequence, count) in [(6, 2), (6, 4), (7, 3), (5, 3), (0, 9), (2, 1)] {
        assert_eq!(produce(&records(base_sequence, count)).await, order, "{count} from {base_sequence} on");
    }
    let changed = |mut batch: Vec<u8>, at: &[usize]| {
        at.iter().for_each(|at| batch[*at..at + 8].copy_from_slice(&1i64.to_be_bytes()));
        let crc = rawline_batch::crc32c(&batch[21..]);
        batch[17..21].copy_from_slice(&crc.to_be_bytes());
        batch
    };
    assert_eq!(produce(&changed(records(3, 3), &[27])).await, order, "other times of records");
    assert_eq!(produce(&records(3, 3)).await, (0, 3), "a duplicate");
    // Some clients stamp records whenever they encode them, also for another try.
    assert_eq!(produce(&records(9, 1)).await, (0, 9));
    assert_eq!(produce(&changed(records(9, 1), &[27, 35])).await, (0, 9), "a duplicate with a time of its own");
    for base_sequence in [10, 13, 16, 19] {
        assert_eq!(produce(&records(base_sequence, 3)).await.0, 0);
    }
    assert_eq!(produce(&records(0, 3)).await, order, "too long ago to compare");
}

/// Finds APIs whose handlers don't check grants: a key without any gets an error, or nothing.
#[tokio::test]
async fn every_api_refuses_a_key_without_grants() {
    let (server, key, _folder) = served(Grants::default(), QuotaLimits::default()).await;
    let mut admin = log_in(&server, "all").await;
    admin.create("secret").await;
    produce(&mut admin, "secret").await;
    let Response::ApiVersions(versions) = admin.call(3, ApiVersionsRequest::default()).await else { panic!() };
    let open = [Api::ApiVersions, Api::SaslHandshake, Api::SaslAuthenticate, Api::DescribeCluster];
    let lists = [Api::ListGroups, Api::ListTransactions];
    let mut refused = 0;
    for api in versions.api_keys.iter().filter_map(|found| Api::from_key(found.api_key)) {
        if open.contains(&api) || lists.contains(&api) {
            continue;
        }
        let mut client = log_in(&server, &key).await;
        match of(api, &Names { topic: "secret", group: "g", producer: "p" }) {
            Body::Bytes(version, body) if api == Api::Produce => {
                let response = client.exchange(api, version, &body).await;
                assert_eq!(produced(&response, "secret"), (TOPIC, -1));
            }
            Body::Bytes(..) => assert_eq!(client.fetch("secret", 0, 1 << 20).await.error, TOPIC),
            Body::Request(request) => {
                let response = format!("{:?}", client.call(*api.versions().end(), request).await);
                let codes = [TOPIC, GROUP, CLUSTER, TRANSACTION, NO_ACLS].map(|code| format!("error_code: {code}"));
                assert!(codes.iter().any(|code| response.contains(code)), "{}: {response}", api.name());
            }
        }
        refused += 1;
    }
    assert!(refused > 25, "{refused} APIs");
}

#[tokio::test]
async fn a_client_that_exceeds_its_quota_is_muted_and_gets_the_time() {
    let quota = QuotaLimits { bytes_in_per_second: NonZeroU64::new(400), ..QuotaLimits::default() };
    let (server, key, _folder) = served(Grants::all(), quota).await;
    let mut client = log_in(&server, &key).await;
    client.create("t").await;
    let body = produce_body("t", -1, &batch(RecordCodec::None, 20, None));
    assert!(body.len() > 800, "{}", body.len());
    let response = client.exchange(Api::Produce, 3, &body).await;
    assert_eq!(produced(&response, "t"), (0, 0), "what exceeds it is stored");
    let throttle_ms = i32::from_be_bytes(response[response.len() - 4..].try_into().unwrap());
    assert!((1..=20_000).contains(&throttle_ms), "{throttle_ms}");
    // Muted, and served after that.
    client.call(3, ApiVersionsRequest::default()).await;
    // Keys without a quota are not throttled.
    let mut admin = log_in(&server, "all").await;
    let response = admin.exchange(Api::Produce, 3, &body).await;
    assert_eq!(response[response.len() - 4..], [0; 4]);
}

#[tokio::test]
async fn a_key_has_its_connections_over_both_protocols_together() {
    let quota = QuotaLimits { connections: Some(2), ..QuotaLimits::default() };
    let (server, key, _folder) = served(Grants::all(), quota).await;
    let first = log_in(&server, &key).await;
    let _second = log_in(&server, &key).await;
    let mut third = Client::connect(&server).await;
    third.call(1, SaslHandshakeRequest { mechanism: "PLAIN".to_owned() }).await;
    let request = SaslAuthenticateRequest { auth_bytes: format!("\0me\0{key}").into_bytes().into() };
    let Response::SaslAuthenticate(response) = third.call(2, request).await else { panic!() };
    let message = response.error_message.unwrap();
    assert!(response.error_code != 0 && message.contains("maximum number of connections, 2"), "{message}");
    let header = format!("authorization: Bearer {key}");
    let (status, head, body) = http(&server, "GET", "/topics", &header, b"").await;
    assert_eq!(status, 429, "{}", String::from_utf8_lossy(&body));
    assert!(head.contains("retry-after: 1"), "{head}");
    drop(first);
    wait_until_free(&server, &header).await;
}

async fn wait_until_free(server: &Served, header: &str) {
    while http(server, "GET", "/topics", header, b"").await.0 != 200 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}
