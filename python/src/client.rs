//! The native part of `rawline.Client` and `rawline.AsyncClient`. Each method waits, or returns an asyncio future.

use crate::arguments::{seconds, whole, whole_option};
use crate::batch::Batch;
use crate::batches::Batches;
use crate::buffer::Held;
use crate::consumer::{ConsumerCore, Plan};
use crate::error::{client_error, config_error, nothing};
use crate::group::{Membership, group_of, member_of, offsets_of, summary_of};
use crate::kafka::KafkaBatch;
use crate::producer::{Fields, ProducerCore, PyFields};
use crate::received::stored_batches;
use crate::records::Source;
use crate::runtime::{First, Process, finish, runtime};
use crate::source::BufferPool;
use crate::subscription::SubscriptionCore;
use bytes::Bytes;
use pyo3::prelude::*;
use rawline_batch::{Builder, BuilderFull, Codec, Limits};
use rawline_client::{
    Appended, CleanupPolicy, Client, ClientConfig, ClientError, ConsumerConfig, GroupConfig, Hours, Partitions,
    Payload, Producer, ProducerConfig, ReadOptions, RecordBatchBuilder, RetryPolicy, Settings, Slow, Start,
    SubscriptionConfig, TlsConfig, TopicInfo, Trimmed,
};
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

/// Sends requests to one broker. See `lib/rawline/client.py`.
#[pyclass(frozen, module = "rawline._rawline")]
pub struct ClientCore {
    client: Client,
    pool: Arc<BufferPool>,
    process: Process,
}

type Place = (u64, u64);

fn place(py: Python<'_>, appended: Result<Appended, ClientError>) -> PyResult<Py<PyAny>> {
    let appended = appended.map_err(client_error)?;
    let place: Place = (appended.first_offset, appended.next_offset);
    Ok(place.into_pyobject(py)?.into_any().unbind())
}

/// Name, first offset, next offset, bytes, objects, latest commit in nanoseconds since 1970, payload, limits in hours
/// and in bytes, number of partitions, each one's first and next offset, cleanup policy.
type Topic = (String, u64, u64, u64, u64, Option<i128>, String, Option<f64>, Option<u64>, u32, Vec<Place>, String);

fn topic_of(info: TopicInfo) -> Topic {
    let committed_ns = info.latest_commit_at.map(|at| at.as_nanosecond());
    let payload = info.payload.to_string();
    let hours = info.retain_hours.map(Hours::get);
    let partitions = info.partitions.get();
    // A list of topics has only the offsets of partition 0.
    let extents = if info.offsets.is_empty() && partitions > 1 { Vec::new() } else { info.extents() };
    let offsets = extents.iter().map(|extent| (extent.first_offset, extent.next_offset)).collect();
    (
        info.name,
        info.first_offset,
        info.next_offset,
        info.bytes,
        info.objects,
        committed_ns,
        payload,
        hours,
        info.retain_bytes,
        partitions,
        offsets,
        info.cleanup_policy.to_string(),
    )
}

fn cleanup_policy_of(name: &str) -> PyResult<CleanupPolicy> {
    name.parse().map_err(|reason: String| config_error(format!("cleanup_policy: {reason}")))
}

fn partitions_of(partitions: &Bound<'_, PyAny>) -> PyResult<Partitions> {
    let number: u64 = whole("partitions", partitions)?;
    number.to_string().parse().map_err(|reason: String| config_error(format!("partitions: {reason}")))
}

/// The offsets of partitions.
fn by_partition(name: &str, offsets: Vec<(Bound<'_, PyAny>, Bound<'_, PyAny>)>) -> PyResult<BTreeMap<u32, u64>> {
    offsets.iter().map(|(partition, offset)| Ok((whole(name, partition)?, whole(name, offset)?))).collect()
}

/// Settings with both limits; `None` is no limit.
fn retention(retain_hours: Option<f64>, retain_bytes: Option<&Bound<'_, PyAny>>) -> PyResult<Settings> {
    let wrong = |limit: &str| config_error(format!("{limit} must be greater than 0; use None for no limit"));
    let limit = |hours| Hours::new(hours).ok_or_else(|| wrong("retain_hours"));
    let retain_hours = Some(retain_hours.map(limit).transpose()?);
    let limit = |bytes| NonZeroU64::new(bytes).ok_or_else(|| wrong("retain_bytes"));
    let retain_bytes = Some(whole_option("retain_bytes", retain_bytes)?.map(limit).transpose()?);
    Ok(Settings { retain_hours, retain_bytes, ..Settings::default() })
}

fn retries(give_up_after: f64) -> PyResult<RetryPolicy> {
    Ok(match seconds("retry_for", give_up_after)? {
        Duration::ZERO => RetryPolicy::NONE,
        give_up_after => RetryPolicy::lasting(give_up_after),
    })
}

fn codec_of(name: &str) -> PyResult<Codec> {
    name.parse().map_err(config_error)
}

/// A Python object's bytes, as a piece of a request.
fn bytes_of(object: &Bound<'_, PyAny>) -> PyResult<Bytes> {
    Held::new(object).map(Bytes::from_owner)
}

/// A Kafka batch: records with the same key, headers and time. The time is `created_us` if they have none.
fn record_batch<'a>(
    records: impl Iterator<Item = &'a [u8]>,
    fields: &Fields,
    codec: Codec,
    created_us: u64,
    limits: Limits,
) -> Result<Result<Bytes, BuilderFull>, ClientError> {
    let timestamp_ms = fields.timestamp_ms.unwrap_or((created_us / 1000) as i64);
    if timestamp_ms < 0 {
        let reason = format!("a timestamp of {timestamp_ms}; give milliseconds since 1970");
        return Err(ClientError::Config { reason });
    }
    let headers = fields.headers();
    let mut builder = RecordBatchBuilder::new(codec.into(), limits);
    for record in records {
        let headers = headers.iter().map(|(name, value)| (name.as_bytes(), *value));
        if let Err(full) = builder.push(timestamp_ms, fields.key(), Some(record), headers) {
            return Ok(Err(full));
        }
    }
    Ok(Ok(Bytes::copy_from_slice(builder.finish(None)?)))
}

#[pymethods]
impl ClientCore {
    #[new]
    #[allow(clippy::too_many_arguments)] // Settings by name, in Python.
    fn new(
        broker: String,
        api_key: Option<String>,
        zone: Option<String>,
        ca_file: Option<PathBuf>,
        certificate_file: Option<PathBuf>,
        key_file: Option<PathBuf>,
        connect_timeout: f64,
        request_timeout: f64,
        retry_for: f64,
    ) -> PyResult<ClientCore> {
        let config = ClientConfig {
            api_key,
            zone,
            tls: TlsConfig { ca_file, certificate_file, key_file },
            connect_timeout: seconds("connect_timeout", connect_timeout)?,
            request_timeout: seconds("request_timeout", request_timeout)?,
            retries: retries(retry_for)?,
            ..ClientConfig::new(broker)
        };
        let client = Client::new(config).map_err(client_error)?;
        Ok(ClientCore { client, pool: Arc::default(), process: Process::current() })
    }

    #[getter]
    fn broker(&self) -> &str {
        &self.client.config().broker
    }

    fn health(&self, py: Python<'_>, asynchronous: bool) -> PyResult<Py<PyAny>> {
        let client = self.client()?;
        finish(py, asynchronous, First::Spawn, async move { client.health().await }, |py, well| {
            well.map(|()| py.None()).map_err(client_error)
        })
    }

    fn topic(&self, py: Python<'_>, asynchronous: bool, topic: String) -> PyResult<Py<PyAny>> {
        let client = self.client()?;
        finish(py, asynchronous, First::Spawn, async move { client.topic(&topic).await }, |py, info| {
            Ok(topic_of(info.map_err(client_error)?).into_pyobject(py)?.into_any().unbind())
        })
    }

    fn topics(&self, py: Python<'_>, asynchronous: bool) -> PyResult<Py<PyAny>> {
        let client = self.client()?;
        finish(py, asynchronous, First::Spawn, async move { client.topics().await }, |py, topics| {
            let topics: Vec<Topic> = topics.map_err(client_error)?.into_iter().map(topic_of).collect();
            Ok(topics.into_pyobject(py)?.into_any().unbind())
        })
    }

    fn set_payload(&self, py: Python<'_>, asynchronous: bool, topic: String, payload: &str) -> PyResult<Py<PyAny>> {
        let client = self.client()?;
        let payload: Payload = payload.parse().map_err(config_error)?;
        finish(py, asynchronous, First::Spawn, async move { client.set_payload(&topic, payload).await }, |py, info| {
            Ok(topic_of(info.map_err(client_error)?).into_pyobject(py)?.into_any().unbind())
        })
    }

    #[expect(clippy::too_many_arguments, reason = "a topic's settings")]
    fn create_topic(
        &self,
        py: Python<'_>,
        asynchronous: bool,
        topic: String,
        payload: &str,
        retain_hours: Option<f64>,
        retain_bytes: Option<&Bound<'_, PyAny>>,
        partitions: &Bound<'_, PyAny>,
        cleanup_policy: &str,
    ) -> PyResult<Py<PyAny>> {
        let client = self.client()?;
        let payload: Payload = payload.parse().map_err(config_error)?;
        // A broker of an older version doesn't know these settings; without them, it does the same.
        let partitions = Some(partitions_of(partitions)?).filter(|partitions| partitions.get() > 1);
        let policy = Some(cleanup_policy_of(cleanup_policy)?).filter(|policy| *policy != CleanupPolicy::default());
        let settings = Settings {
            payload: Some(Some(payload)),
            partitions,
            cleanup_policy: policy.map(Some),
            ..retention(retain_hours, retain_bytes)?
        };
        let create = async move { client.create_topic(&topic, &settings).await };
        finish(py, asynchronous, First::Spawn, create, |py, info| {
            Ok(topic_of(info.map_err(client_error)?).into_pyobject(py)?.into_any().unbind())
        })
    }

    fn delete_topic(&self, py: Python<'_>, asynchronous: bool, topic: String) -> PyResult<Py<PyAny>> {
        let client = self.client()?;
        finish(py, asynchronous, First::Spawn, async move { client.delete_topic(&topic).await }, nothing)
    }

    fn groups(&self, py: Python<'_>, asynchronous: bool) -> PyResult<Py<PyAny>> {
        let client = self.client()?;
        finish(py, asynchronous, First::Spawn, async move { client.groups().await }, |py, groups| {
            let groups: Vec<_> = groups.map_err(client_error)?.into_iter().map(summary_of).collect();
            Ok(groups.into_pyobject(py)?.into_any().unbind())
        })
    }

    fn group(&self, py: Python<'_>, asynchronous: bool, group: String) -> PyResult<Py<PyAny>> {
        let client = self.client()?;
        finish(py, asynchronous, First::Spawn, async move { client.group(&group).await }, |py, group| {
            Ok(group_of(group.map_err(client_error)?).into_pyobject(py)?.into_any().unbind())
        })
    }

    fn set_group_offsets(
        &self,
        py: Python<'_>,
        asynchronous: bool,
        group: String,
        topic: &str,
        offsets: Vec<(Bound<'_, PyAny>, Bound<'_, PyAny>)>,
    ) -> PyResult<Py<PyAny>> {
        let client = self.client()?;
        let offsets = offsets_of(topic, offsets)?;
        let set = async move { client.set_group_offsets(&group, offsets).await };
        finish(py, asynchronous, First::Spawn, set, nothing)
    }

    fn delete_group(&self, py: Python<'_>, asynchronous: bool, group: String) -> PyResult<Py<PyAny>> {
        let client = self.client()?;
        finish(py, asynchronous, First::Spawn, async move { client.delete_group(&group).await }, nothing)
    }

    /// Sets both limits; `None` is no limit.
    fn set_retention(
        &self,
        py: Python<'_>,
        asynchronous: bool,
        topic: String,
        retain_hours: Option<f64>,
        retain_bytes: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let client = self.client()?;
        let settings = retention(retain_hours, retain_bytes)?;
        finish(py, asynchronous, First::Spawn, async move { client.set_topic(&topic, &settings).await }, |py, info| {
            Ok(topic_of(info.map_err(client_error)?).into_pyobject(py)?.into_any().unbind())
        })
    }

    fn set_cleanup_policy(
        &self,
        py: Python<'_>,
        asynchronous: bool,
        topic: String,
        policy: &str,
    ) -> PyResult<Py<PyAny>> {
        let client = self.client()?;
        let settings = Settings { cleanup_policy: Some(Some(cleanup_policy_of(policy)?)), ..Settings::default() };
        finish(py, asynchronous, First::Spawn, async move { client.set_topic(&topic, &settings).await }, |py, info| {
            Ok(topic_of(info.map_err(client_error)?).into_pyobject(py)?.into_any().unbind())
        })
    }

    fn set_partitions(
        &self,
        py: Python<'_>,
        asynchronous: bool,
        topic: String,
        partitions: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        let client = self.client()?;
        let settings = Settings { partitions: Some(partitions_of(partitions)?), ..Settings::default() };
        finish(py, asynchronous, First::Spawn, async move { client.set_topic(&topic, &settings).await }, |py, info| {
            Ok(topic_of(info.map_err(client_error)?).into_pyobject(py)?.into_any().unbind())
        })
    }

    fn trim(
        &self,
        py: Python<'_>,
        asynchronous: bool,
        topic: String,
        before: &Bound<'_, PyAny>,
        partition: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        let client = self.client()?;
        let before = whole("before", before)?;
        let partition = whole("partition", partition)?;
        let trim = async move { client.trim((topic.as_str(), partition), before).await };
        finish(py, asynchronous, First::Spawn, trim, |py, trimmed| {
            let Trimmed { first_offset, next_offset } = trimmed.map_err(client_error)?;
            let extent: Place = (first_offset, next_offset);
            Ok(extent.into_pyobject(py)?.into_any().unbind())
        })
    }

    /// The time is in microseconds since 1970.
    fn offset_at(
        &self,
        py: Python<'_>,
        asynchronous: bool,
        topic: String,
        time_us: u64,
        partition: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        let client = self.client()?;
        let time = UNIX_EPOCH + Duration::from_micros(time_us);
        let partition = whole("partition", partition)?;
        let find = async move { client.offset_at((topic.as_str(), partition), time).await };
        finish(py, asynchronous, First::Spawn, find, |py, offset| {
            Ok(offset.map_err(client_error)?.into_pyobject(py)?.into_any().unbind())
        })
    }

    /// Appends records as one batch.
    #[expect(clippy::too_many_arguments, reason = "a batch's settings, and Python's arguments")]
    fn append(
        &self,
        py: Python<'_>,
        asynchronous: bool,
        topic: String,
        records: &Bound<'_, PyAny>,
        codec: &str,
        created_us: u64,
        partition: &Bound<'_, PyAny>,
        fields: Option<PyFields<'_>>,
    ) -> PyResult<Py<PyAny>> {
        let client = self.client()?;
        let partition = whole("partition", partition)?;
        let codec = codec_of(codec)?;
        let fields = fields.map(Fields::new).transpose()?;
        let mut source = Source::new(records)?;
        let mut chunks = Vec::new();
        while let Some(chunk) = source.next(py)? {
            chunks.push(chunk);
        }
        let future = async move {
            let limits = client.config().limits;
            let too_much = |_: BuilderFull| ClientError::Config {
                reason: format!(
                    "more than one batch holds ({} bytes, {} records); append in parts or use a Producer",
                    limits.batch_bytes_max, limits.records_max
                ),
            };
            let records = chunks.iter().flat_map(|chunk| (0..chunk.len()).map(|record| chunk.record(record)));
            if let Some(fields) = fields {
                let batch = record_batch(records, &fields, codec, created_us, limits)?.map_err(too_much)?;
                return client.append_record_batches((topic.as_str(), partition), vec![batch]).await;
            }
            let mut builder = Builder::new(codec, limits);
            for record in records {
                builder.push(record).map_err(too_much)?;
            }
            let mut batch = Vec::new();
            builder.finish_into(created_us, 0, 0, &mut batch)?;
            drop(chunks);
            client.append((topic.as_str(), partition), vec![Bytes::from(batch)]).await
        };
        finish(py, asynchronous, First::Spawn, future, place)
    }

    /// Appends concatenated records as one batch, without copying them.
    fn append_records(
        &self,
        py: Python<'_>,
        asynchronous: bool,
        topic: String,
        sizes: &Bound<'_, PyAny>,
        data: &Bound<'_, PyAny>,
        partition: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        let client = self.client()?;
        let partition = whole("partition", partition)?;
        let sizes = Held::new(sizes)?;
        let (sizes, rest) = sizes.as_ref().as_chunks();
        if !rest.is_empty() {
            return Err(config_error("sizes are 4 bytes each; give array.array('I', sizes) or numpy's uint32"));
        }
        let sizes: Vec<u32> = sizes.iter().map(|size| u32::from_ne_bytes(*size)).collect();
        let data = bytes_of(data)?;
        let future = async move { client.append_records((topic.as_str(), partition), &sizes, data).await };
        finish(py, asynchronous, First::Spawn, future, place)
    }

    /// Appends batches unchanged.
    fn append_batches(
        &self,
        py: Python<'_>,
        asynchronous: bool,
        topic: String,
        batches: &Bound<'_, PyAny>,
        partition: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        let client = self.client()?;
        let partition = whole("partition", partition)?;
        let batches = bytes_of(batches)?;
        let append = async move {
            let to = (topic.as_str(), partition);
            if KafkaBatch::is_kafkas(&batches) {
                client.append_record_batches(to, vec![batches]).await
            } else {
                client.append(to, vec![batches]).await
            }
        };
        finish(py, asynchronous, First::Spawn, append, place)
    }

    #[expect(clippy::too_many_arguments, reason = "a read's four numbers, and Python's arguments")]
    fn read(
        &self,
        py: Python<'_>,
        asynchronous: bool,
        topic: String,
        offset: &Bound<'_, PyAny>,
        records_max: &Bound<'_, PyAny>,
        bytes_max: &Bound<'_, PyAny>,
        wait: f64,
        partition: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        let client = self.client()?;
        let partition = whole("partition", partition)?;
        let offset = whole("offset", offset)?;
        let options = ReadOptions {
            offset,
            records_max: whole("records_max", records_max)?,
            bytes_max: whole("bytes_max", bytes_max)?,
            wait: seconds("wait", wait)?,
            values_only: false,
        };
        let pool = self.pool.clone();
        let name: Arc<str> = topic.as_str().into();
        let future = async move {
            let fetched = client.read((topic.as_str(), partition), &options, pool.take()).await?;
            // The next read reports a damaged batch that follows intact ones.
            Ok(stored_batches(fetched, pool)?.0)
        };
        finish(py, asynchronous, First::Spawn, future, move |py, batches: Result<_, ClientError>| {
            let batches = batches.map_err(client_error)?;
            let wanted = batches
                .into_iter()
                .map(|placed| Batch::new(partition, placed).of_topic(name.clone()).within(offset, u64::MAX));
            let wanted = wanted.filter(|batch| batch.records() > 0);
            Ok(Py::new(py, Batches::new(py, wanted)?)?.into_any())
        })
    }

    #[expect(clippy::too_many_arguments, reason = "a producer's settings")]
    fn producer(
        &self,
        topic: String,
        batch_bytes: &Bound<'_, PyAny>,
        batch_records_max: &Bound<'_, PyAny>,
        linger: Option<f64>,
        buffer_bytes: &Bound<'_, PyAny>,
        request_bytes_max: &Bound<'_, PyAny>,
        in_flight_max: &Bound<'_, PyAny>,
        codec: &str,
        retry_for: f64,
        exactly_once: bool,
        name: Option<String>,
    ) -> PyResult<ProducerCore> {
        let config = ProducerConfig {
            batch_bytes: whole("batch_bytes", batch_bytes)?,
            batch_records_max: whole("batch_records_max", batch_records_max)?,
            linger: linger.map(|wait| seconds("linger", wait)).transpose()?,
            buffer_bytes: whole("buffer_bytes", buffer_bytes)?,
            request_bytes_max: whole("request_bytes_max", request_bytes_max)?,
            in_flight_max: whole("in_flight_max", in_flight_max)?,
            codec: codec_of(codec)?,
            retries: retries(retry_for)?,
            exactly_once,
            name,
        };
        let client = self.client()?;
        let _context = runtime()?.enter();
        let producer = Producer::new(client, topic.clone(), config).map_err(client_error)?;
        Ok(ProducerCore::new(producer, topic))
    }

    /// `start` is as for a consumer.
    #[expect(clippy::too_many_arguments, reason = "a subscription's settings")]
    fn subscribe(
        &self,
        topics: Vec<String>,
        prefixes: Vec<String>,
        start: &str,
        start_number: &Bound<'_, PyAny>,
        partition: Option<&Bound<'_, PyAny>>,
        cursor: Option<String>,
        r#where: Option<String>,
        slow: &str,
        lag_max: Option<&Bound<'_, PyAny>>,
        retry_for: f64,
    ) -> PyResult<SubscriptionCore> {
        let config = SubscriptionConfig {
            topics,
            prefixes,
            partition: whole_option("partition", partition)?,
            start: start_of(start, start_number)?,
            cursor,
            filter: r#where,
            slow: match slow {
                "disconnect" => Slow::Disconnect,
                "skip" => Slow::Skip,
                _ => return Err(config_error(format!("slow={slow:?}; give \"disconnect\" or \"skip\""))),
            },
            lag_max: whole_option("max_lag", lag_max)?,
            retries: retries(retry_for)?,
        };
        Ok(SubscriptionCore::new(self.client()?, config, self.pool.clone()))
    }

    /// `start` is `earliest`, `latest`, `offset` or `time`; the number is the offset, or microseconds since 1970. No
    /// partitions are all. `starts` and `ends` have the offsets of partitions that start or end elsewhere.
    #[expect(clippy::too_many_arguments, reason = "a consumer's settings")]
    fn consumer(
        &self,
        topic: String,
        start: &str,
        start_number: &Bound<'_, PyAny>,
        end_offset: Option<&Bound<'_, PyAny>>,
        bytes_max: &Bound<'_, PyAny>,
        wait: f64,
        retry_for: f64,
        wait_for_topic: bool,
        partitions: Vec<Bound<'_, PyAny>>,
        starts: Vec<(Bound<'_, PyAny>, Bound<'_, PyAny>)>,
        ends: Vec<(Bound<'_, PyAny>, Bound<'_, PyAny>)>,
        membership: Option<Membership>,
    ) -> PyResult<ConsumerCore> {
        let partitions = partitions.iter().map(|number| whole("partitions", number)).collect::<PyResult<_>>()?;
        let start = start_of(start, start_number)?;
        let config = ConsumerConfig {
            partitions,
            start,
            end_offset: whole_option("end", end_offset)?,
            bytes_max: whole("bytes_max", bytes_max)?,
            wait: seconds("wait", wait)?,
            retries: retries(retry_for)?,
            values_only: false,
        };
        let group = match membership {
            Some(membership) => {
                let (group, member) = member_of(membership)?;
                let ConsumerConfig { start, bytes_max, wait, retries, .. } = config;
                Some((group, GroupConfig { start, bytes_max, wait, retries, ..member }))
            }
            None => None,
        };
        let plan = Plan {
            config,
            starts: by_partition("start", starts)?,
            ends: by_partition("end", ends)?,
            wait_for_topic,
            group,
        };
        Ok(ConsumerCore::new(self.client()?, topic, plan, self.pool.clone()))
    }
}

impl ClientCore {
    fn client(&self) -> PyResult<Client> {
        self.process.check()?;
        Ok(self.client.clone())
    }
}

/// Where to start: `earliest`, `latest`, `offset` or `time` with a number.
fn start_of(start: &str, number: &Bound<'_, PyAny>) -> PyResult<Start> {
    match start {
        "earliest" => Ok(Start::Earliest),
        "latest" => Ok(Start::Latest),
        "offset" => Ok(Start::Offset(whole("start", number)?)),
        "time" => Ok(Start::Time(UNIX_EPOCH + Duration::from_micros(whole("start", number)?))),
        other => Err(config_error(format!("start={other:?}; give \"earliest\", \"latest\", an offset or a datetime"))),
    }
}
