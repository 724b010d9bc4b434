//! DescribeConfigs, and the resources that have settings.

use super::many::{Subjects, outcome};
use super::settings::{self, Described, Source};
use crate::kafka::building::Building;
use crate::kafka::client::Client;
use crate::kafka::error::{ConnectionError, Refusal};
use rawline_broker::Topic;
use rawline_kafka::messages::{
    ConfigResource, DescribeConfigsRequest, DescribeConfigsResource, DescribeConfigsResourceResult,
    DescribeConfigsResponse, DescribeConfigsResult, DescribeConfigsSynonym, ListConfigResourcesRequest,
    ListConfigResourcesResponse,
};
use rawline_kafka::{Api, ErrorCode};
use std::sync::Arc;

/// Kafka's numbers of resource types.
const TOPIC: i8 = 2;
const BROKER: i8 = 4;
const BROKER_LOGGER: i8 = 8;
const CLIENT_METRICS: i8 = 16;
const GROUP: i8 = 32;

/// From this version on, ListConfigResources requests other kinds than [`CLIENT_METRICS`].
const KINDS_FROM: i16 = 1;

/// Roughly how many settings a topic or a broker has.
const SETTINGS: usize = 50;

/// A resource with settings.
pub(super) enum Resource {
    Topic(Arc<Topic>),
    /// This broker.
    Broker,
    /// All brokers. Their common settings can't be changed.
    AllBrokers,
}

impl Resource {
    pub async fn find(client: &Client, api: Api, kind: i8, name: &str) -> Result<Resource, Refusal> {
        match kind {
            TOPIC => client.may_use_topic(api, name)?,
            _ => client.may_monitor(api)?,
        }
        match kind {
            TOPIC => Ok(Resource::Topic(client.kafka.broker.topic(name).await?)),
            BROKER if name.is_empty() => Ok(Resource::AllBrokers),
            BROKER if name.parse::<i32>() == Ok(client.node()) => Ok(Resource::Broker),
            BROKER => {
                let message = format!("there is no broker {name:?}; ask for broker \"{}\"", client.node());
                Err(Refusal::new(ErrorCode::InvalidRequest, message))
            }
            _ => {
                let message = format!(
                    "resources of type {kind} have no settings here; ask for topics ({TOPIC}) or for the broker \
                     ({BROKER})"
                );
                Err(Refusal::new(ErrorCode::InvalidRequest, message))
            }
        }
    }
}

pub(super) async fn describe(
    client: &Client,
    request: DescribeConfigsRequest,
    building: &mut Building<'_>,
) -> Result<DescribeConfigsResponse, ConnectionError> {
    let DescribeConfigsRequest { resources, include_synonyms, .. } = request;
    let name = |resource: &DescribeConfigsResource| (resource.resource_type, resource.resource_name.clone());
    let subjects = Subjects::of(resources.iter().map(name))?;
    building.begin(resources.len() * SETTINGS).await;
    let mut results = Vec::with_capacity(resources.len());
    for resource in resources {
        let found = match subjects.check(&name(&resource)) {
            Ok(()) => settings_of(client, &resource).await,
            Err(refusal) => Err(refusal),
        };
        let DescribeConfigsResource { resource_type, resource_name, .. } = resource;
        let (configs, found) = match found {
            Ok(found) => (found, Ok(())),
            Err(refusal) => (Vec::new(), Err(refusal)),
        };
        let configs = configs.into_iter().map(|setting| described(setting, include_synonyms)).collect();
        let (error_code, error_message) = outcome(found);
        results.push(DescribeConfigsResult { error_code, error_message, resource_type, resource_name, configs });
    }
    Ok(DescribeConfigsResponse { results, ..DescribeConfigsResponse::default() })
}

/// Lists the resources with settings: topics and brokers. Kafka's other kinds have no settings here.
pub(super) async fn list(
    client: &Client,
    version: i16,
    request: ListConfigResourcesRequest,
    building: &mut Building<'_>,
) -> ListConfigResourcesResponse {
    let refused = |code: ErrorCode| ListConfigResourcesResponse { error_code: code.into(), ..Default::default() };
    if let Err(Refusal { code, .. }) = client.may_monitor(Api::ListConfigResources) {
        return refused(code);
    }
    let wanted = request.resource_types;
    let is_known = |kind: &i8| [TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP].contains(kind);
    if !wanted.iter().all(is_known) {
        return refused(ErrorCode::UnsupportedVersion);
    }
    let is_wanted = |kind| version >= KINDS_FROM && (wanted.is_empty() || wanted.contains(&kind));
    let named = |resource_type, resource_name| ConfigResource { resource_name, resource_type };
    let mut config_resources = Vec::new();
    if is_wanted(TOPIC) {
        let topics = client.kafka.broker.topics();
        building.begin(topics.len()).await;
        let caller = client.caller();
        let seen = topics.iter().map(|topic| topic.topic_name()).filter(|name| caller.grants().sees(name));
        config_resources.extend(seen.map(|name| named(TOPIC, name.to_owned())));
    }
    if is_wanted(BROKER) {
        config_resources.extend(client.nodes().into_iter().map(|node| named(BROKER, node.id.to_string())));
    }
    ListConfigResourcesResponse { config_resources, ..Default::default() }
}

/// The requested settings.
async fn settings_of(client: &Client, resource: &DescribeConfigsResource) -> Result<Vec<Described>, Refusal> {
    let mut found =
        match Resource::find(client, Api::DescribeConfigs, resource.resource_type, &resource.resource_name).await? {
            Resource::Topic(topic) => settings::of_topic(&client.kafka.config, &topic.settings()),
            Resource::Broker => settings::of_broker(client),
            Resource::AllBrokers => Vec::new(),
        };
    // As in Kafka, no names means all.
    let wanted = resource.configuration_keys.as_deref().unwrap_or_default();
    found.retain(|setting| wanted.is_empty() || wanted.iter().any(|name| name == setting.name));
    Ok(found)
}

fn described(setting: Described, with_synonyms: bool) -> DescribeConfigsResourceResult {
    let synonyms = if with_synonyms { synonyms(&setting) } else { Vec::new() };
    DescribeConfigsResourceResult {
        name: setting.name.to_owned(),
        value: Some(setting.value),
        read_only: setting.is_read_only,
        config_source: setting.source as i8,
        is_sensitive: false,
        synonyms,
        config_type: setting.kind as i8,
        documentation: None,
    }
}

/// The possible sources of the value, the actual one first.
fn synonyms(setting: &Described) -> Vec<DescribeConfigsSynonym> {
    let synonym = |name: &str, value: &str, source: Source| DescribeConfigsSynonym {
        name: name.to_owned(),
        value: Some(value.to_owned()),
        source: source as i8,
    };
    let own = (setting.source != Source::Default || setting.default.is_none())
        .then(|| synonym(setting.name, &setting.value, setting.source));
    let default = setting.default.as_ref().map(|(name, value)| synonym(name, value, Source::Default));
    own.into_iter().chain(default).collect()
}
