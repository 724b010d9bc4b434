//! A walk over both route tables, HTTP's and Kafka's, with keys that grant little: a broker that isn't the owner
//! refuses what the owner refuses, in the same words, and no response has a name that the key can't see.

use super::http_requests::{Route, of, routes, send};
use super::{ALL, Two, ask, key, patterns};
use crate::support::kafka::Client;
use crate::support::kafka_requests::{self, Body, Names};
use rawline_kafka::messages::{ApiVersionsRequest, SaslAuthenticateRequest, SaslHandshakeRequest};
use rawline_kafka::{Api, ErrorCode, Response};
use rawline_server::access::{Grants, KeyEntry, Patterns};
use rawline_testkit::seeds::seeds_or;
use rawline_testkit::served::Served;
use serde_json::json;
use std::time::Duration;
use tokio::time::timeout;

/// Everything in the brokers' world is one of these, by the kind.
const TOPICS: [&str; 3] = ["a-topic", "b-topic", "c-topic"];
const GROUPS: [&str; 3] = ["a-group", "b-group", "c-group"];
const PRODUCERS: [&str; 3] = ["a-producer", "b-producer", "c-producer"];

/// The committed offset of a topic's partition has this metadata, and its first record these bytes.
fn marker(topic: &str) -> String {
    format!("hidden-{}", topic.bytes().map(|byte| format!("{byte:02x}")).collect::<String>())
}

/// A key, and the names that it may see.
struct Holder {
    name: String,
    key: String,
    grants: Grants,
}

impl Holder {
    fn new(name: &str, grants: Grants) -> (Holder, KeyEntry) {
        let (key, entry) = key(name, grants.clone());
        (Holder { name: name.to_owned(), key, grants }, entry)
    }

    /// One that monitors the broker sees the names of all topics.
    fn sees_topic(&self, topic: &str) -> bool {
        let Grants { read, write, admin, monitor, .. } = &self.grants;
        *monitor || [read, write, admin].iter().any(|granted| granted.matches(topic))
    }

    /// Fails if a response has a name that the key can't see, except the requested names.
    fn check_leaks(&self, asked: &str, names: &Names<'_>, response: &str) {
        let hidden = |all: &[&'static str], sees: &dyn Fn(&str) -> bool, named: &str| -> Vec<&'static str> {
            all.iter().copied().filter(|name| !sees(name) && *name != named).collect()
        };
        let topics = hidden(&TOPICS, &|name| self.sees_topic(name), names.topic);
        let groups = hidden(&GROUPS, &|name| self.grants.groups.matches(name), names.group);
        let producers = hidden(&PRODUCERS, &|name| self.grants.producers.matches(name), names.producer);
        for name in topics.iter().chain(&groups).chain(&producers) {
            assert!(!response.contains(name), "{asked} with {} shows {name}: {response}", self.name);
        }
        let Grants { read, write, admin, .. } = &self.grants;
        let is_hidden = |topic: &&&str| ![read, write, admin].iter().any(|granted| granted.matches(topic));
        for topic in TOPICS.iter().filter(is_hidden) {
            assert!(
                !response.contains(&marker(topic)),
                "{asked} with {} shows what {topic} has: {response}",
                self.name
            );
        }
    }
}

/// Topics with a record, groups with offsets in all of them, and named producers.
async fn furnish(server: &Served) {
    for topic in TOPICS {
        let target = format!("/records?topic-name={topic}");
        let (status, _, body) =
            ask(server, ALL, "POST", &target, "application/octet-stream", marker(topic).as_bytes()).await;
        assert_eq!(status, 201, "{}", String::from_utf8_lossy(&body));
    }
    let offset = |topic| json!({"topic": topic, "partition": 0, "offset": 1, "metadata": marker(topic)});
    let commit = json!({"offsets": TOPICS.map(offset)}).to_string();
    for group in GROUPS {
        let target = format!("/group?group-name={group}");
        // A group that has members by now keeps its offsets.
        ask(server, ALL, "PUT", &target, "application/json", commit.as_bytes()).await;
    }
    for producer in PRODUCERS {
        ask(server, ALL, "POST", &format!("/producer?producer-name={producer}"), "", b"").await;
    }
}

fn is_refusal(status: u16) -> bool {
    matches!(status, 401 | 403)
}

/// Sends a request of a route to the owner and to the other broker, and compares. Returns whether it is refused.
async fn compare(two: &Two, holder: &Holder, names: &Names<'_>, route: &Route, number: u64) -> bool {
    // Each creates and joins what no request before it has.
    let numbers = [2 * number, 2 * number + 1].map(|number| format!("n{number}"));
    let requests = numbers.each_ref().map(|fresh| of(route, names, fresh));
    let asked = format!("{} ({names:?})", requests[0]);
    let mut responses = Vec::new();
    for ((server, request), fresh) in [&two.owner, &two.other].into_iter().zip(&requests).zip(&numbers) {
        let (status, body) = send(server, &holder.key, request).await;
        holder.check_leaks(&asked, names, &body);
        responses.push((status, body.replace(fresh, "N")));
    }
    let is_refused = responses.iter().any(|(status, _)| is_refusal(*status));
    if is_refused {
        assert_eq!(responses[0], responses[1], "{asked} with {}: the owner's response, and the other's", holder.name);
    }
    is_refused
}

/// Keys that grant nothing, what begins with `a-`, and everything.
fn three() -> [(Holder, KeyEntry); 3] {
    let some = || patterns(&["a-*"]);
    let limited =
        Grants { read: some(), write: some(), admin: some(), groups: some(), producers: some(), ..Grants::default() };
    [("none", Grants::default()), ("limited", limited), ("everything", Grants::all())]
        .map(|(name, grants)| Holder::new(name, grants))
}

/// All combinations of something of the key's own and something foreign.
fn combinations() -> impl Iterator<Item = Names<'static>> {
    (0..8).map(|bits: usize| Names {
        topic: TOPICS[bits & 1],
        group: GROUPS[bits >> 1 & 1],
        producer: PRODUCERS[bits >> 2 & 1],
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_refuses_at_another_broker_what_it_refuses_at_the_owner() {
    let (holders, entries): (Vec<_>, Vec<_>) = three().into_iter().unzip();
    let two = Two::with_keys(&entries).await;
    let routes = routes(&two.owner).await;
    assert!(routes.len() > 30, "{routes:?}");
    let unknown = Holder { key: "wrong".to_owned(), ..Holder::new("unknown", Grants::default()).0 };
    let anonymous = Holder { key: String::new(), ..Holder::new("anonymous", Grants::default()).0 };
    let (mut refused, mut number) = (0, 0);
    for holder in [&anonymous, &unknown].into_iter().chain(&holders) {
        for names in combinations() {
            furnish(&two.owner).await;
            for route in &routes {
                number += 1;
                refused += u64::from(compare(&two, holder, &names, route, number).await);
            }
        }
    }
    assert!(refused > 500, "{refused} refusals");
}

/// The patterns that a random key may have.
fn random_patterns(random: &mut fastrand::Rng, names: &[&str]) -> Patterns {
    let pool: Vec<String> = names
        .iter()
        .flat_map(|name| [(*name).to_owned(), format!("{}*", &name[..1])])
        .chain(["*".to_owned()])
        .collect();
    let count = [0, 0, 1, 1, 2][random.usize(..5)];
    let chosen: Vec<&str> = (0..count).map(|_| pool[random.usize(..pool.len())].as_str()).collect();
    patterns(&chosen)
}

fn random_holder(random: &mut fastrand::Rng, number: u64) -> (Holder, KeyEntry) {
    let grants = Grants {
        read: random_patterns(random, &TOPICS),
        write: random_patterns(random, &TOPICS),
        admin: random_patterns(random, &TOPICS),
        groups: random_patterns(random, &GROUPS),
        producers: random_patterns(random, &PRODUCERS),
        monitor: random.u32(..4) == 0,
    };
    Holder::new(&format!("random-{number}"), grants)
}

/// The walk over grants: random keys send random requests.
async fn walk(seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let (holders, entries): (Vec<_>, Vec<_>) = (0..8).map(|number| random_holder(&mut random, number)).unzip();
    let two = Two::with_keys(&entries).await;
    let routes = routes(&two.owner).await;
    let apis = apis(&two.owner).await;
    for step in 0..200 {
        if step % 50 == 0 {
            furnish(&two.owner).await;
        }
        let names = Names {
            topic: TOPICS[random.usize(..3)],
            group: GROUPS[random.usize(..3)],
            producer: PRODUCERS[random.usize(..3)],
        };
        let holder = &holders[random.usize(..holders.len())];
        if random.bool() {
            let route = &routes[random.usize(..routes.len())];
            compare(&two, holder, &names, route, step).await;
        } else {
            compare_kafka(&two, holder, &names, apis[random.usize(..apis.len())]).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn random_grants_are_the_same_at_every_broker() {
    for seed in seeds_or(0..2) {
        println!("seed {seed}");
        walk(seed).await;
    }
}

/// The APIs of Kafka's that a broker serves, but for those by which a connection begins.
async fn apis(server: &Served) -> Vec<Api> {
    let mut client = log_in(server, ALL).await;
    let Response::ApiVersions(versions) = client.call(3, ApiVersionsRequest::default()).await else { panic!() };
    let begin = [Api::ApiVersions, Api::SaslHandshake, Api::SaslAuthenticate];
    let all = versions.api_keys.iter().filter_map(|found| Api::from_key(found.api_key));
    all.filter(|api| !begin.contains(api)).collect()
}

async fn log_in(server: &Served, key: &str) -> Client {
    let mut client = Client::connect(server).await;
    client.call(1, SaslHandshakeRequest { mechanism: "PLAIN".to_owned() }).await;
    let request = SaslAuthenticateRequest { auth_bytes: format!("\0me\0{key}").into_bytes().into() };
    let Response::SaslAuthenticate(response) = client.call(2, request).await else { panic!() };
    assert_eq!(response.error_code, 0, "{response:?}");
    client
}

/// The response of a broker as text, and which refusals it has.
async fn call(server: &Served, key: &str, api: Api, names: &Names<'_>) -> (Vec<i16>, String) {
    use ErrorCode::{
        ClusterAuthorizationFailed, GroupAuthorizationFailed, TopicAuthorizationFailed,
        TransactionalIdAuthorizationFailed,
    };
    let mut client = log_in(server, key).await;
    let (code, text) = match kafka_requests::of(api, names) {
        Body::Bytes(version, body) => {
            let response = client.exchange(api, version, &body).await;
            // Both begin with the topic's name, its partition's number and its error, Fetch's with the throttle time.
            let start = if api == Api::Fetch { 4 } else { 0 };
            let error = start + 4 + 2 + names.topic.len() + 4 + 4;
            let code = i16::from_be_bytes(response[error..error + 2].try_into().unwrap());
            (Some(code), String::from_utf8_lossy(&response).into_owned())
        }
        Body::Request(request) => {
            let calling = client.call(*api.versions().end(), request);
            let response = timeout(Duration::from_secs(60), calling).await;
            (None, format!("{:?}", response.unwrap_or_else(|_| panic!("{api:?} has no response"))))
        }
    };
    let refusals = [
        ClusterAuthorizationFailed,
        GroupAuthorizationFailed,
        TopicAuthorizationFailed,
        TransactionalIdAuthorizationFailed,
    ];
    let has = |refusal: &i16| code == Some(*refusal) || text.contains(&format!("error_code: {refusal},"));
    (refusals.map(|refusal| refusal as i16).into_iter().filter(has).collect(), text)
}

async fn compare_kafka(two: &Two, holder: &Holder, names: &Names<'_>, api: Api) -> bool {
    let asked = format!("{api:?} ({names:?})");
    let (refusals, text) = call(&two.owner, &holder.key, api, names).await;
    let (other_refusals, other_text) = call(&two.other, &holder.key, api, names).await;
    for response in [&text, &other_text] {
        holder.check_leaks(&asked, names, response);
    }
    if [Api::DescribeGroups, Api::ConsumerGroupDescribe].contains(&api) {
        // Only the coordinator knows the topics of a group's members, which the key may not see.
        other_refusals.iter().for_each(|refusal| assert!(refusals.contains(refusal), "{asked}: {text}, {other_text}"));
    } else {
        assert_eq!(refusals, other_refusals, "{asked} with {}: {text}, and at the other {other_text}", holder.name);
    }
    !refusals.is_empty()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_api_of_kafkas_refuses_at_another_broker_what_it_refuses_at_the_owner() {
    let (holders, entries): (Vec<_>, Vec<_>) = three().into_iter().unzip();
    let two = Two::with_keys(&entries).await;
    let apis = apis(&two.owner).await;
    assert!(apis.len() > 30, "{apis:?}");
    let mut refused = 0;
    for holder in &holders {
        for names in combinations() {
            furnish(&two.owner).await;
            for api in &apis {
                refused += u64::from(compare_kafka(&two, holder, &names, *api).await);
            }
        }
    }
    assert!(refused > 200, "{refused} refusals");
}
