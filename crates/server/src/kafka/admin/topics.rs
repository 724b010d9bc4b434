//! CreateTopics and DeleteTopics.

use super::many::{Subjects, each, outcome};
use super::{partitions, settings};
use crate::kafka::client::Client;
use crate::kafka::error::{ConnectionError, Refusal};
use crate::kafka::lookup::{NO_ID, id_of, no_such_id, topic_with_id};
use rawline_broker::{Settings, TopicError, TopicId, check_new_name};
use rawline_kafka::messages::{
    CreatableTopic, CreatableTopicConfigs, CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse,
    DeletableTopicResult, DeleteTopicState, DeleteTopicsRequest, DeleteTopicsResponse, Uuid,
};
use rawline_kafka::{Api, ErrorCode};

/// Stands for the broker's default in place of a number.
const DEFAULT: i32 = -1;

/// How many copies of a partition there are. The storage keeps them safe.
const REPLICAS: i16 = 1;

/// The created topic, or the result of a dry run.
struct Created {
    topic_id: Uuid,
    partitions: u32,
    configs: Vec<CreatableTopicConfigs>,
}

pub(super) async fn create(
    client: &Client,
    request: CreateTopicsRequest,
) -> Result<CreateTopicsResponse, ConnectionError> {
    let CreateTopicsRequest { topics, validate_only, .. } = request;
    let subjects = Subjects::of(topics.iter().map(|topic| topic.name.clone()))?;
    let topics = each(topics, |topic| create_one(client, topic, &subjects, validate_only)).await;
    Ok(CreateTopicsResponse { topics, ..CreateTopicsResponse::default() })
}

async fn create_one(
    client: &Client,
    topic: CreatableTopic,
    subjects: &Subjects<String>,
    validate_only: bool,
) -> CreatableTopicResult {
    let created = try_create(client, &topic, subjects, validate_only).await;
    match if validate_only { created } else { client.audited("topic.create", &topic.name, created) } {
        Ok(Created { topic_id, partitions, configs }) => CreatableTopicResult {
            name: topic.name,
            topic_id,
            num_partitions: partitions as i32,
            replication_factor: REPLICAS,
            configs: Some(configs),
            ..CreatableTopicResult::default()
        },
        Err(refusal) => {
            let (error_code, error_message) = outcome(Err(refusal));
            CreatableTopicResult {
                name: topic.name,
                error_code,
                error_message,
                configs: Some(Vec::new()),
                ..CreatableTopicResult::default()
            }
        }
    }
}

async fn try_create(
    client: &Client,
    topic: &CreatableTopic,
    subjects: &Subjects<String>,
    validate_only: bool,
) -> Result<Created, Refusal> {
    let (name, config) = (&topic.name, &client.kafka.config);
    subjects.check(name)?;
    client.may_use_topic(Api::CreateTopics, name)?;
    check_new_name(name)?;
    let partitions = partitions_of(client, topic)?;
    let values = topic.configs.iter().map(|wanted| (wanted.name.as_str(), wanted.value.as_deref()));
    let changes = settings::changes(config, values)?;
    let settings = Settings::default().changed(name, changes.clone());
    let broker = &client.kafka.broker;
    let topic_id = if validate_only {
        match broker.topic(name).await {
            Ok(_) => return Err(TopicError::Exists { name: name.clone() }.into()),
            Err(TopicError::NotFound { .. }) => NO_ID,
            Err(error) => return Err(error.into()),
        }
    } else {
        let mut changes = changes;
        changes.insert(settings::PARTITIONS.to_owned(), partitions.into());
        id_of(broker.create_listed(name, changes).await?.topic_id())
    };
    let configs = settings::of_topic(config, &settings).into_iter().map(described).collect();
    Ok(Created { topic_id, partitions, configs })
}

fn described(setting: settings::Described) -> CreatableTopicConfigs {
    CreatableTopicConfigs {
        name: setting.name.to_owned(),
        value: Some(setting.value),
        read_only: setting.is_read_only,
        config_source: setting.source as i8,
        is_sensitive: false,
    }
}

/// How many partitions the topic is to have.
fn partitions_of(client: &Client, topic: &CreatableTopic) -> Result<u32, Refusal> {
    if !topic.assignments.is_empty() {
        return assigned(client, topic);
    }
    if ![DEFAULT as i16, REPLICAS].contains(&topic.replication_factor) {
        let message = format!(
            "this broker is the only one, and the storage keeps its data safe: a replication factor of {} isn't \
             possible; use 1, or -1 for the default",
            topic.replication_factor
        );
        return Err(Refusal::new(ErrorCode::InvalidReplicationFactor, message));
    }
    partitions::checked(if topic.num_partitions == DEFAULT { 1 } else { topic.num_partitions })
}

/// The number of partitions that the request assigns to brokers.
fn assigned(client: &Client, topic: &CreatableTopic) -> Result<u32, Refusal> {
    if (topic.num_partitions, topic.replication_factor) != (DEFAULT, DEFAULT as i16) {
        let message = "where brokers are assigned, the number of partitions and the replication factor have to be -1";
        return Err(Refusal::new(ErrorCode::InvalidRequest, message));
    }
    let mut numbers: Vec<i32> = topic.assignments.iter().map(|assignment| assignment.partition_index).collect();
    numbers.sort_unstable();
    if numbers.iter().zip(0..).any(|(number, expected)| *number != expected) {
        let message = format!("assign brokers to the partitions from 0 to {}, each once", numbers.len() - 1);
        return Err(Refusal::new(ErrorCode::InvalidReplicaAssignment, message));
    }
    for assignment in &topic.assignments {
        partitions::check_assigned(client, &assignment.broker_ids)?;
    }
    partitions::checked(i32::try_from(numbers.len()).unwrap_or(i32::MAX))
}

pub(super) async fn delete(
    client: &Client,
    request: DeleteTopicsRequest,
) -> Result<DeleteTopicsResponse, ConnectionError> {
    // Older versions have a list of names.
    let named = |name| DeleteTopicState { name: Some(name), ..DeleteTopicState::default() };
    let topics: Vec<_> = request.topics.into_iter().chain(request.topic_names.into_iter().map(named)).collect();
    let subjects = Subjects::of(topics.iter().map(|topic| (topic.name.clone(), topic.topic_id.0)))?;
    let responses = each(topics, |topic| delete_one(client, topic, &subjects)).await;
    Ok(DeleteTopicsResponse { responses, ..DeleteTopicsResponse::default() })
}

async fn delete_one(
    client: &Client,
    topic: DeleteTopicState,
    subjects: &Subjects<(Option<String>, [u8; 16])>,
) -> DeletableTopicResult {
    let deleted = match subjects.check(&(topic.name.clone(), topic.topic_id.0)) {
        Ok(()) => try_delete(client, &topic).await,
        Err(refusal) => Err(refusal),
    };
    let deleted = match deleted {
        Ok((name, id)) => client.audited("topic.delete", &name.clone(), Ok((name, id))),
        Err(refusal) => client.audited("topic.delete", topic.name.as_deref().unwrap_or_default(), Err(refusal)),
    };
    let (name, topic_id, deleted) = match deleted {
        Ok((name, id)) => (Some(name), id, Ok(())),
        Err(refusal) => (topic.name, topic.topic_id, Err(refusal)),
    };
    let (error_code, error_message) = outcome(deleted);
    DeletableTopicResult { name, topic_id, error_code, error_message }
}

/// Deletes a topic, and returns its name and id.
async fn try_delete(client: &Client, topic: &DeleteTopicState) -> Result<(String, Uuid), Refusal> {
    let broker = &client.kafka.broker;
    let Some(name) = &topic.name else {
        let id = TopicId::from_bytes(topic.topic_id.0);
        topic_with_id(client, Api::DeleteTopics, topic.topic_id).await?;
        let name = broker.delete_topic_with_id(id).await?.ok_or_else(no_such_id)?;
        return Ok((name, topic.topic_id));
    };
    client.may_use_topic(Api::DeleteTopics, name)?;
    // A topic that can't be opened can be deleted.
    let id = broker.topic(name).await.map_or(NO_ID, |topic| id_of(topic.topic_id()));
    broker.delete_topic(name).await?;
    Ok((name.clone(), id))
}
