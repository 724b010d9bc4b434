//! The query parameters of each endpoint. An unknown parameter, or a duplicate one where one value is expected, is
//! refused: a misspelled parameter must not be ignored.

use crate::http::error::ApiError;
use crate::http::routes::{Endpoint, Route};
use rawline_contract::code;
use std::collections::BTreeSet;

/// The parameters of an endpoint.
const fn of(endpoint: Endpoint) -> &'static [&'static str] {
    match endpoint {
        Endpoint::Append => &["topic-name", "partition", "producer-epoch"],
        Endpoint::Read => &["topic-name", "partition", "offset", "max-records", "max-bytes", "timeout"],
        Endpoint::ReadOne => &["topic-name", "partition", "offset"],
        Endpoint::Topic => &["topic-name", "partition"],
        Endpoint::SetTopic | Endpoint::CreateTopic | Endpoint::DeleteTopic => &["topic-name"],
        Endpoint::Trim => &["topic-name", "partition", "before"],
        Endpoint::OpenProducer => &["producer-name"],
        Endpoint::Group | Endpoint::CommitOffsets | Endpoint::Join => &["group-name"],
        Endpoint::DeleteOffsets => &["group-name", "topic-name", "partition"],
        Endpoint::Heartbeat => &["group-name", "member", "generation", "divided", "instance"],
        Endpoint::Leave => &["group-name", "member", "instance"],
        Endpoint::Topics => &["prefix", "after", "limit", "totals"],
        Endpoint::Offset => &["topic-name", "partition", "time"],
        Endpoint::Search => &[
            "topic-name",
            "partition",
            "text",
            "regex",
            "where",
            "key",
            "from",
            "to",
            "newest-first",
            "max-records",
            "max-bytes",
            "timeout",
            "resume",
        ],
        Endpoint::Zeek => &["ticket"],
        Endpoint::Subscribe => {
            &["topic-name", "topic-prefix", "partition", "from", "resume", "where", "slow", "max-lag", "ticket"]
        }
        Endpoint::MeasurementMetrics => &["topic-name", "search"],
        Endpoint::MeasurementTags => &["topic-name", "selector"],
        Endpoint::MeasurementQuery => &["topic-name", "selector", "from", "to", "step", "agg", "by"],
        Endpoint::BrokerChanges => &["after"],
        Endpoint::Groups => &["totals"],
        Endpoint::CreateTicket
        | Endpoint::Stats
        | Endpoint::Measurements
        | Endpoint::Brokers
        | Endpoint::BrokerHello
        | Endpoint::BrokerProof
        | Endpoint::Metrics
        | Endpoint::Health
        | Endpoint::OpenApi
        | Endpoint::Console
        | Endpoint::Welcome => &[],
    }
}

/// Whether all values of a parameter count.
fn is_list(endpoint: Endpoint, name: &str) -> bool {
    match endpoint {
        Endpoint::Subscribe => name == "topic-name" || name == "topic-prefix",
        Endpoint::MeasurementQuery => name == "by",
        _ => false,
    }
}

/// Whether a query's parameters change nothing: load balancers and browsers add some to these.
fn is_free(endpoint: Endpoint) -> bool {
    matches!(endpoint, Endpoint::Health | Endpoint::OpenApi | Endpoint::Console | Endpoint::Welcome)
}

/// Fails if the query has a parameter that the route doesn't know, or a second value where one counts.
pub(super) fn check(route: &Route, query: &str) -> Result<(), ApiError> {
    if is_free(route.endpoint) {
        return Ok(());
    }
    let known = of(route.endpoint);
    let mut seen = BTreeSet::new();
    for (name, _) in form_urlencoded::parse(query.as_bytes()) {
        let Some(&name) = known.iter().find(|known| **known == name) else {
            let (method, path, name) = (&route.method, route.path, crate::access::shown(&name));
            let what = match known {
                [] => "no parameters".to_owned(),
                known => known.join(", "),
            };
            let message = format!("{method} {path} has no parameter {name:?}; it takes {what}");
            return Err(ApiError::new(code::QUERY_INVALID, message));
        };
        if !seen.insert(name) && !is_list(route.endpoint, name) {
            let message = format!("the query has {name} more than once; send one value");
            return Err(ApiError::new(code::QUERY_INVALID, message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::routes::ROUTES;
    use serde_json::Value;

    /// Follows a reference to a shared parameter.
    fn parameter<'a>(document: &'a Value, parameter: &'a Value) -> &'a Value {
        let Some(reference) = parameter["$ref"].as_str() else { return parameter };
        document.pointer(reference.trim_start_matches('#')).unwrap()
    }

    #[test]
    fn the_openapi_document_has_these_parameters_and_no_others() {
        let document: Value = serde_json::from_str(include_str!("openapi.json")).unwrap();
        for route in &ROUTES {
            let path = &document["paths"][route.path];
            let lists = [&path["parameters"], &path[route.method.as_str().to_lowercase()]["parameters"]];
            let all = lists.into_iter().filter_map(Value::as_array).flatten();
            let all = all.map(|found| parameter(&document, found)).filter(|found| found["in"] == "query");
            let mut described: Vec<&str> = all.map(|found| found["name"].as_str().unwrap()).collect();
            let mut known = of(route.endpoint).to_vec();
            described.sort_unstable();
            known.sort_unstable();
            assert_eq!(known, described, "{} {}", route.method, route.path);
        }
    }

    #[test]
    fn unknown_and_repeated_parameters_are_refused_by_name_on_every_route() {
        for route in &ROUTES {
            let refused = |query: &str| check(route, query).err().map(|error| error.to_string());
            let error = refused("topik-name=t");
            assert_eq!(error.is_none(), is_free(route.endpoint), "{} {}", route.method, route.path);
            assert!(error.is_none_or(|error| error.contains("topik-name")));
            for name in of(route.endpoint) {
                assert_eq!(refused(&format!("{name}=1")), None);
                let error = refused(&format!("{name}=1&{name}=2"));
                assert_eq!(error.is_none(), is_list(route.endpoint, name), "{name} of {}", route.path);
            }
        }
        let subscribe = ROUTES.iter().find(|route| route.endpoint == Endpoint::Subscribe).unwrap();
        let error = check(subscribe, "topic-name=t&offset=0").unwrap_err().to_string();
        assert!(error.contains("\"offset\"") && error.contains("from, resume"), "{error}");
    }
}
