//! AlterConfigs, which replaces all settings of a topic, and IncrementalAlterConfigs, which changes some.

use super::configs::Resource;
use super::many::{Subjects, each, outcome};
use super::settings::{self, Change, Edit};
use crate::kafka::client::Client;
use crate::kafka::config::KafkaConfig;
use crate::kafka::error::{ConnectionError, Refusal};
use rawline_broker::Settings;
use rawline_kafka::messages::{
    AlterConfigsRequest, AlterConfigsResource, AlterConfigsResourceResponse, AlterConfigsResponse, AlterableConfig,
    IncrementalAlterConfigsRequest, IncrementalAlterConfigsResource, IncrementalAlterConfigsResponse,
    IncrementalAlterableConfig,
};
use rawline_kafka::{Api, ErrorCode};
use serde_json::{Map, Value};

/// Kafka's numbers of operations on a setting.
const SET: i8 = 0;
const DELETE: i8 = 1;
const APPEND: i8 = 2;
const SUBTRACT: i8 = 3;

/// Changes of a topic or broker.
struct Alteration {
    resource_type: i8,
    resource_name: String,
    wanted: Wanted,
}

/// The new settings of a topic.
enum Wanted {
    /// These replace all of them.
    All(Vec<AlterableConfig>),
    /// These change some.
    Some(Vec<IncrementalAlterableConfig>),
}

pub(super) async fn replace(
    client: &Client,
    request: AlterConfigsRequest,
) -> Result<AlterConfigsResponse, ConnectionError> {
    let wanted = |resource: AlterConfigsResource| Alteration {
        resource_type: resource.resource_type,
        resource_name: resource.resource_name,
        wanted: Wanted::All(resource.configs),
    };
    let all = request.resources.into_iter().map(wanted).collect();
    let responses = alter(client, Api::AlterConfigs, all, request.validate_only).await?;
    Ok(AlterConfigsResponse { responses, ..AlterConfigsResponse::default() })
}

/// Other settings get their defaults.
fn replacing(config: &KafkaConfig, configs: &[AlterableConfig]) -> Result<Map<String, Value>, Refusal> {
    let values = configs.iter().map(|wanted| (wanted.name.as_str(), wanted.value.as_deref()));
    let mut changes = settings::defaults();
    changes.extend(settings::changes(config, values)?);
    Ok(changes)
}

pub(super) async fn change(
    client: &Client,
    request: IncrementalAlterConfigsRequest,
) -> Result<IncrementalAlterConfigsResponse, ConnectionError> {
    let wanted = |resource: IncrementalAlterConfigsResource| Alteration {
        resource_type: resource.resource_type,
        resource_name: resource.resource_name,
        wanted: Wanted::Some(resource.configs),
    };
    let all = request.resources.into_iter().map(wanted).collect();
    let responses = alter(client, Api::IncrementalAlterConfigs, all, request.validate_only).await?;
    Ok(IncrementalAlterConfigsResponse { responses, ..IncrementalAlterConfigsResponse::default() })
}

/// The effect of one change on a topic with these settings.
fn changing(config: &KafkaConfig, settings: &Settings, wanted: &IncrementalAlterableConfig) -> Result<Change, Refusal> {
    let IncrementalAlterableConfig { name, config_operation, value } = wanted;
    match *config_operation {
        SET => settings::set(config, name, value.as_deref()),
        DELETE => settings::unset(name),
        APPEND => settings::edit(config, settings, name, Edit::Add, value.as_deref()),
        SUBTRACT => settings::edit(config, settings, name, Edit::Remove, value.as_deref()),
        unknown => {
            let message = format!("{unknown} isn't an operation on a setting; use {SET} (set) or {DELETE} (delete)");
            Err(Refusal::new(ErrorCode::InvalidRequest, message))
        }
    }
}

async fn alter(
    client: &Client,
    api: Api,
    all: Vec<Alteration>,
    validate_only: bool,
) -> Result<Vec<AlterConfigsResourceResponse>, ConnectionError> {
    let subjects = Subjects::of(all.iter().map(|one| (one.resource_type, one.resource_name.clone())))?;
    Ok(each(all, |one| alter_one(client, api, one, &subjects, validate_only)).await)
}

async fn alter_one(
    client: &Client,
    api: Api,
    wanted: Alteration,
    subjects: &Subjects<(i8, String)>,
    validate_only: bool,
) -> AlterConfigsResourceResponse {
    let Alteration { resource_type, resource_name, wanted } = wanted;
    let resource = (resource_type, resource_name);
    let changed = match subjects.check(&resource) {
        Ok(()) => try_alter(client, api, &resource, &wanted, validate_only).await,
        Err(refusal) => Err(refusal),
    };
    let changed = if validate_only { changed } else { client.audited("topic.alter", &resource.1, changed) };
    let (error_code, error_message) = outcome(changed);
    let (resource_type, resource_name) = resource;
    AlterConfigsResourceResponse { error_code, error_message, resource_type, resource_name }
}

async fn try_alter(
    client: &Client,
    api: Api,
    (kind, name): &(i8, String),
    wanted: &Wanted,
    validate_only: bool,
) -> Result<(), Refusal> {
    let Resource::Topic(topic) = Resource::find(client, api, *kind, name).await? else {
        let message = "a broker's settings can't be changed while it runs; start it with others";
        return Err(Refusal::new(ErrorCode::InvalidRequest, message));
    };
    let config = &client.kafka.config;
    let change = |settings: &Settings| match wanted {
        Wanted::All(configs) => replacing(config, configs),
        Wanted::Some(configs) => {
            settings::merged(configs.iter().map(|one| (one.name.as_str(), changing(config, settings, one))))
        }
    };
    if validate_only {
        return change(&topic.settings()).map(drop);
    }
    topic.change_settings_by(change).await
}
