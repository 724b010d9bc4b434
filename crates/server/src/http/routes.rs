//! The routes of the API: the only table for methods, labels of metrics, the overview at `/` and 405 responses.

use crate::access::{Caller, Operation};
use crate::http::error::ApiError;
use crate::http::query::Query;
use crate::metrics::Verb;
use http::{Method, Request};
use rawline_contract::path;

/// A method on a path.
#[derive(Debug)]
pub(crate) struct Route {
    pub method: Method,
    pub path: &'static str,
    /// A query of required parameters, for the overview.
    pub example_query: &'static str,
    pub endpoint: Endpoint,
    /// What it counts as in metrics.
    pub verb: Verb,
    /// The necessary grant of the caller's key.
    pub need: Need,
}

/// The grant that a route needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// No key: it reveals nothing about topics.
    Nothing,
    /// A key. The handler limits its result to the key's grants.
    Key,
    /// Any operation on the topic that the query names.
    SeesTopic,
    /// This operation on it.
    Topic(Operation),
    /// The group that the query names. The handler compares the topics in the body with the key's.
    Group,
    /// The group that the query names, and to read the topic if it names one.
    GroupAndTopic,
    /// The producer that the query names.
    Producer,
    Monitor,
    /// Another broker on the storage, on its own behalf: no client's key grants this.
    Broker,
}

impl Need {
    /// Fails if the caller lacks the grant. A query without the name is refused by the handler.
    pub fn check<B>(self, caller: &Caller, request: &Request<B>) -> Result<(), ApiError> {
        let (query, grants) = (Query::of(request), caller.grants());
        match self {
            // The sender of the request was checked for these.
            Need::Nothing | Need::Key | Need::Broker => {}
            Need::SeesTopic => query.topic().map_or(Ok(()), |topic| grants.describe(&topic))?,
            Need::Topic(operation) => query.topic().map_or(Ok(()), |topic| grants.topic(operation, &topic))?,
            Need::Group => query.group().map_or(Ok(()), |group| grants.group(&group))?,
            Need::GroupAndTopic => {
                query.group().map_or(Ok(()), |group| grants.group(&group))?;
                query.topic().map_or(Ok(()), |topic| grants.topic(Operation::Read, &topic))?;
            }
            Need::Producer => query.producer_name().map_or(Ok(()), |name| grants.producer(&name))?,
            Need::Monitor => grants.monitor()?,
        }
        // Each subscription waits for its own quota.
        match self {
            Need::Topic(Operation::Write) => ApiError::within_quota(caller.append_wait()),
            Need::Topic(Operation::Read) => ApiError::within_quota(caller.read_wait()),
            _ => Ok(()),
        }
    }
}

/// The handler of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Endpoint {
    Append,
    Read,
    ReadOne,
    Topic,
    SetTopic,
    CreateTopic,
    DeleteTopic,
    Trim,
    OpenProducer,
    Groups,
    Group,
    CommitOffsets,
    DeleteOffsets,
    Join,
    Heartbeat,
    Leave,
    Topics,
    Offset,
    Search,
    Zeek,
    Subscribe,
    CreateTicket,
    Stats,
    Measurements,
    MeasurementMetrics,
    MeasurementTags,
    MeasurementQuery,
    Brokers,
    BrokerHello,
    BrokerProof,
    BrokerChanges,
    Metrics,
    Health,
    OpenApi,
    Console,
    Welcome,
}

impl Endpoint {
    /// Whether it begins a subscription, for which a ticket can replace a key.
    pub fn is_subscription(self) -> bool {
        matches!(self, Endpoint::Subscribe | Endpoint::Zeek)
    }

    /// Whether the owner of its journal handles it, if that is another broker: changes, and requests that only the
    /// coordinator of a group knows.
    pub fn is_the_owners(self) -> bool {
        self == Endpoint::Append || self.changes_topics() || self.is_of_groups()
    }

    /// Whether a broker sends it to another one for a client: what owners handle, and the list of groups, of which each
    /// knows its own.
    pub fn is_forwarded(self) -> bool {
        self.is_the_owners() || self == Endpoint::Groups
    }

    /// Whether it is about one group, whose members only its coordinator knows.
    pub fn is_of_groups(self) -> bool {
        let of_groups = [
            Endpoint::Group,
            Endpoint::CommitOffsets,
            Endpoint::DeleteOffsets,
            Endpoint::Join,
            Endpoint::Heartbeat,
            Endpoint::Leave,
        ];
        of_groups.contains(&self)
    }

    /// Whether it changes topics or producers.
    pub fn changes_topics(self) -> bool {
        let changes =
            [Endpoint::SetTopic, Endpoint::CreateTopic, Endpoint::DeleteTopic, Endpoint::Trim, Endpoint::OpenProducer];
        changes.contains(&self)
    }

    /// Whether its response has records or measurements, which count for the caller's quota.
    pub fn returns_records(self) -> bool {
        matches!(self, Endpoint::Read | Endpoint::ReadOne | Endpoint::MeasurementQuery)
    }

    /// Whether a broker of the client's zone can serve it from its own cache.
    pub fn has_nearer(self) -> bool {
        matches!(self, Endpoint::Read | Endpoint::ReadOne | Endpoint::Subscribe)
    }

    /// Its name in the audit log, if it is an administrative change.
    pub fn change(self) -> Option<&'static str> {
        match self {
            Endpoint::SetTopic => Some("topic.alter"),
            Endpoint::CreateTopic => Some("topic.create"),
            Endpoint::DeleteTopic => Some("topic.delete"),
            Endpoint::Trim => Some("topic.truncate"),
            Endpoint::DeleteOffsets => Some("group.delete"),
            Endpoint::Append
            | Endpoint::Read
            | Endpoint::ReadOne
            | Endpoint::Topic
            | Endpoint::OpenProducer
            | Endpoint::Groups
            | Endpoint::Group
            | Endpoint::CommitOffsets
            | Endpoint::Join
            | Endpoint::Heartbeat
            | Endpoint::Leave
            | Endpoint::Topics
            | Endpoint::Offset
            | Endpoint::Search
            | Endpoint::Zeek
            | Endpoint::Subscribe
            | Endpoint::CreateTicket
            | Endpoint::Stats
            | Endpoint::Measurements
            | Endpoint::MeasurementMetrics
            | Endpoint::MeasurementTags
            | Endpoint::MeasurementQuery
            | Endpoint::Brokers
            | Endpoint::BrokerHello
            | Endpoint::BrokerProof
            | Endpoint::BrokerChanges
            | Endpoint::Metrics
            | Endpoint::Health
            | Endpoint::OpenApi
            | Endpoint::Console
            | Endpoint::Welcome => None,
        }
    }
}

const fn route(
    method: Method,
    path: &'static str,
    example_query: &'static str,
    endpoint: Endpoint,
    verb: Verb,
    need: Need,
) -> Route {
    Route { method, path, example_query, endpoint, verb, need }
}

/// A route that needs no key: it reveals nothing about topics.
const fn open(path: &'static str, endpoint: Endpoint) -> Route {
    route(Method::GET, path, "", endpoint, Verb::Other, Need::Nothing)
}

/// The busiest first.
pub(crate) static ROUTES: [Route; 32] = [
    route(Method::POST, path::RECORDS, "topic-name=T", Endpoint::Append, Verb::Append, Need::Topic(Operation::Write)),
    route(
        Method::GET,
        path::RECORDS,
        "topic-name=T&offset=0",
        Endpoint::Read,
        Verb::Read,
        Need::Topic(Operation::Read),
    ),
    route(
        Method::GET,
        path::RECORD,
        "topic-name=T&offset=0",
        Endpoint::ReadOne,
        Verb::ReadOne,
        Need::Topic(Operation::Read),
    ),
    route(Method::GET, path::TOPIC, "topic-name=T", Endpoint::Topic, Verb::Topics, Need::SeesTopic),
    route(Method::PUT, path::TOPIC, "topic-name=T", Endpoint::SetTopic, Verb::Topics, Need::Topic(Operation::Admin)),
    route(
        Method::POST,
        path::TOPIC,
        "topic-name=T",
        Endpoint::CreateTopic,
        Verb::Topics,
        Need::Topic(Operation::Admin),
    ),
    route(
        Method::DELETE,
        path::TOPIC,
        "topic-name=T",
        Endpoint::DeleteTopic,
        Verb::Topics,
        Need::Topic(Operation::Admin),
    ),
    route(
        Method::POST,
        path::TRIM,
        "topic-name=T&before=0",
        Endpoint::Trim,
        Verb::Topics,
        Need::Topic(Operation::Admin),
    ),
    route(Method::POST, path::PRODUCER, "producer-name=P", Endpoint::OpenProducer, Verb::Topics, Need::Producer),
    route(
        Method::PUT,
        path::MEMBER,
        "group-name=G&member=M&generation=1",
        Endpoint::Heartbeat,
        Verb::Groups,
        Need::Group,
    ),
    route(Method::POST, path::MEMBER, "group-name=G", Endpoint::Join, Verb::Groups, Need::Group),
    route(Method::DELETE, path::MEMBER, "group-name=G&member=M", Endpoint::Leave, Verb::Groups, Need::Group),
    route(Method::PUT, path::GROUP, "group-name=G", Endpoint::CommitOffsets, Verb::Groups, Need::Group),
    route(Method::GET, path::GROUP, "group-name=G", Endpoint::Group, Verb::Groups, Need::Group),
    route(Method::DELETE, path::GROUP, "group-name=G", Endpoint::DeleteOffsets, Verb::Groups, Need::GroupAndTopic),
    route(Method::GET, path::GROUPS, "", Endpoint::Groups, Verb::Groups, Need::Key),
    route(Method::GET, path::TOPICS, "", Endpoint::Topics, Verb::Topics, Need::Key),
    route(
        Method::GET,
        path::OFFSET,
        "topic-name=T&time=2026-01-01T00:00:00Z",
        Endpoint::Offset,
        Verb::Topics,
        Need::Topic(Operation::Read),
    ),
    route(
        Method::GET,
        path::SEARCH,
        "topic-name=T&text=TEXT",
        Endpoint::Search,
        Verb::Other,
        Need::Topic(Operation::Read),
    ),
    route(Method::GET, path::SUBSCRIBE, "topic-name=T", Endpoint::Subscribe, Verb::Subscribe, Need::Key),
    route(Method::GET, path::ZEEK, "", Endpoint::Zeek, Verb::Subscribe, Need::Key),
    route(Method::POST, path::TICKET, "", Endpoint::CreateTicket, Verb::Subscribe, Need::Key),
    route(Method::GET, path::STATS, "", Endpoint::Stats, Verb::Other, Need::Monitor),
    route(Method::GET, path::MEASUREMENTS, "", Endpoint::Measurements, Verb::Other, Need::Key),
    route(
        Method::GET,
        path::MEASUREMENT_METRICS,
        "topic-name=T",
        Endpoint::MeasurementMetrics,
        Verb::Other,
        Need::Topic(Operation::Read),
    ),
    route(
        Method::GET,
        path::MEASUREMENT_TAGS,
        "topic-name=T&selector=METRIC",
        Endpoint::MeasurementTags,
        Verb::Other,
        Need::Topic(Operation::Read),
    ),
    route(
        Method::GET,
        path::MEASUREMENT_QUERY,
        "topic-name=T&selector=METRIC",
        Endpoint::MeasurementQuery,
        Verb::Other,
        Need::Topic(Operation::Read),
    ),
    route(Method::GET, path::BROKERS, "", Endpoint::Brokers, Verb::Other, Need::Key),
    route(Method::GET, path::METRICS, "", Endpoint::Metrics, Verb::Other, Need::Monitor),
    open(path::HEALTH, Endpoint::Health),
    open(path::OPENAPI, Endpoint::OpenApi),
    open(path::WELCOME, Endpoint::Welcome),
];

/// The files of the console. Not part of the API: only the console's page requests them.
static CONSOLE: Route = open(path::CONSOLE, Endpoint::Console);

/// Between brokers, and not part of the API: authentication, and requests for changes.
static BETWEEN_BROKERS: [Route; 3] = [
    route(Method::POST, path::BROKER_HELLO, "", Endpoint::BrokerHello, Verb::Other, Need::Nothing),
    route(Method::POST, path::BROKER_PROOF, "", Endpoint::BrokerProof, Verb::Other, Need::Nothing),
    route(Method::POST, path::BROKER_CHANGES, "", Endpoint::BrokerChanges, Verb::Other, Need::Broker),
];

/// The route of a request. `HEAD` has a route wherever `GET` has one.
pub(crate) fn find(method: &Method, path: &str) -> Option<&'static Route> {
    let method = if method == Method::HEAD { &Method::GET } else { method };
    if path.starts_with(path::CONSOLE) && *method == CONSOLE.method {
        return Some(&CONSOLE);
    }
    ROUTES.iter().chain(&BETWEEN_BROKERS).find(|route| route.path == path && route.method == *method)
}

/// The error of a request that has no route.
pub(crate) fn refusal(path: &str) -> ApiError {
    let mut allowed: Vec<&str> = Vec::new();
    for route in ROUTES.iter().filter(|route| route.path == path) {
        allowed.push(route.method.as_str());
        if route.method == Method::GET {
            allowed.push(Method::HEAD.as_str());
        }
    }
    if allowed.is_empty() {
        return ApiError::path(path);
    }
    allowed.sort_unstable();
    ApiError::method(&allowed.join(", "))
}

/// A short overview of the API.
pub(crate) fn welcome() -> String {
    let mut text = format!("rawline {}\n\n", env!("CARGO_PKG_VERSION"));
    for Route { method, path, example_query, .. } in ROUTES.iter().filter(|route| route.path != path::WELCOME) {
        let separator = if example_query.is_empty() { "" } else { "?" };
        text.push_str(&format!("{:6} {path}{separator}{example_query}\n", method.as_str()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    type Operations = BTreeSet<(String, String)>;

    fn operations() -> Operations {
        ROUTES.iter().map(|route| (route.path.to_owned(), route.method.to_string())).collect()
    }

    #[test]
    fn the_openapi_document_has_these_operations_and_no_others() {
        let document: serde_json::Value = serde_json::from_str(include_str!("openapi.json")).unwrap();
        let mut described = Operations::new();
        for (path, operations) in document["paths"].as_object().unwrap() {
            let methods = operations.as_object().unwrap().keys().filter(|key| *key != "parameters");
            described.extend(methods.map(|method| (path.clone(), method.to_uppercase())));
        }
        assert_eq!(described, operations());
    }

    #[test]
    fn the_page_of_the_api_has_these_operations_and_no_others() {
        let page = include_str!("../../../../docs/http.md");
        let (table, _) = page.split_once("## Keys").unwrap();
        let described: Operations = table
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.split('`').next()?.split_once(' '))
            .map(|(method, target)| (target.split('?').next().unwrap().to_owned(), method.to_owned()))
            .collect();
        assert_eq!(described, operations());
    }

    #[test]
    fn the_page_about_keys_says_what_each_operation_needs() {
        let page = include_str!("../../../../docs/security.md");
        let (_, table) = page.split_once("| HTTP | needs |").unwrap();
        let (table, _) = table.split_once("\n\n").unwrap();
        let cells = table.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
        let described: Operations = cells
            .flat_map(|cell| cell.split('`'))
            .filter_map(|text| text.split_once(" /"))
            .map(|(method, path)| (format!("/{path}"), method.to_owned()))
            .filter(|(path, _)| !path.starts_with(path::CONSOLE))
            .collect();
        assert_eq!(described, operations());
    }

    #[test]
    fn the_page_about_metrics_has_all_labels() {
        let page = include_str!("../../../../docs/operating.md");
        let row = page.lines().find(|line| line.starts_with("| `rawline_http_requests_total`")).unwrap();
        let (_, list) = row.split_once("`verb` is ").unwrap();
        let (list, _) = list.split_once(", `status`").unwrap();
        let described: BTreeSet<&str> = list.split('`').skip(1).step_by(2).collect();
        assert_eq!(described, Verb::ALL.map(Verb::name).into());
    }

    #[test]
    fn only_what_reveals_nothing_needs_no_key() {
        let open: Vec<&str> =
            ROUTES.iter().filter(|route| route.need == Need::Nothing).map(|route| route.path).collect();
        assert_eq!(open, [path::HEALTH, path::OPENAPI, path::WELCOME]);
    }

    /// The names of things that a route's parameters name, by the description of the API.
    fn named(document: &serde_json::Value, route: &Route) -> BTreeSet<String> {
        let path = &document["paths"][route.path];
        let operation = &path[route.method.as_str().to_lowercase()];
        let parameters = [&path["parameters"], &operation["parameters"]].into_iter().filter_map(|all| all.as_array());
        let name = |parameter: &serde_json::Value| {
            let found = match parameter["$ref"].as_str() {
                Some(at) => &document.pointer(at.trim_start_matches('#')).unwrap()["name"],
                None => &parameter["name"],
            };
            found.as_str().unwrap().to_owned()
        };
        parameters.flatten().map(name).collect()
    }

    /// Whatever a request names in its query, it needs a grant for: for each thing, also the second one.
    #[test]
    fn what_a_query_names_needs_a_grant_for_each_thing() {
        use crate::access::{Access, Audit, Grants, KeyEntry, KeyFile, Patterns, QuotaLimits};
        let document: serde_json::Value = serde_json::from_str(include_str!("openapi.json")).unwrap();
        let (all, none) = (Grants::all(), Patterns::default());
        let without = [
            ("topic-name", Grants { read: none.clone(), write: none.clone(), admin: none.clone(), ..all.clone() }),
            ("group-name", Grants { groups: none.clone(), ..all.clone() }),
            ("producer-name", Grants { producers: none, ..all }),
        ];
        let mut checked = BTreeSet::new();
        // Handlers of subscriptions compare all their topics and prefixes with the key's.
        for route in ROUTES.iter().filter(|route| !route.endpoint.is_subscription()) {
            let named = named(&document, route);
            for (name, grants) in without.iter().filter(|(name, _)| named.contains(*name)) {
                let (key, entry) = KeyEntry::generate("some", grants.clone(), QuotaLimits::default()).unwrap();
                let access = Access::new(Vec::new(), Some(KeyFile { keys: vec![entry] }), Audit::default());
                let caller = access.identify(key.as_bytes()).unwrap();
                let query = "topic-name=t&group-name=g&producer-name=p";
                let request = Request::builder().uri(format!("{}?{query}", route.path)).body(()).unwrap();
                let refused = route.need.check(&caller, &request).is_err();
                assert!(refused, "{} {} without a grant for {name}", route.method, route.path);
                checked.insert((route.path, route.method.as_str(), *name));
            }
        }
        assert!(checked.contains(&(path::GROUP, "DELETE", "topic-name")) && checked.len() >= 20, "{checked:?}");
    }

    #[test]
    fn head_is_routed_as_get() {
        assert_eq!(find(&Method::HEAD, "/records").unwrap().endpoint, Endpoint::Read);
        assert_eq!(find(&Method::HEAD, "/console/index.html").unwrap().endpoint, Endpoint::Console);
        assert!(find(&Method::POST, "/console/index.html").is_none() && find(&Method::GET, "/console").is_none());
        assert!(find(&Method::DELETE, "/records").is_none() && find(&Method::GET, "/records/").is_none());
    }
}
