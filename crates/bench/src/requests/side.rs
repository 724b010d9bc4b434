//! The servers that are compared: a Rawline broker, Redis, NATS; each with its topic or stream for one run.

use super::connection::Script;
use super::listener;
use super::nats::{self, Nats};
use super::redis::{self, Redis};
use super::reply::Protocol;
use crate::data::{Workload, check_value};
use crate::error::BenchError;
use crate::read_back::{Sent, read_back};
use crate::runs::{Elapsed, Stopwatch};
use crate::tasks::blocking;
use crate::topics;
use crate::usage::Meter;
use rawline_batch::{Limits, seal};
use rawline_client::{Client, ClientConfig};
use rawline_contract::{MediaType, path};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};

/// A server to compare with, by its address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    scheme: &'static str,
    authority: String,
}

/// The schemes of peers, with their protocols.
const SCHEMES: [(&str, Protocol); 3] = [("http", Protocol::Http), ("redis", Protocol::Redis), ("nats", Protocol::Nats)];

impl Peer {
    /// Parses an address such as `redis://127.0.0.1:6379`.
    pub fn parse(text: &str) -> Result<Peer, String> {
        let known = SCHEMES.iter().find_map(|(scheme, _)| {
            let authority = text.strip_prefix(scheme)?.strip_prefix("://")?.trim_end_matches('/');
            Some(Peer { scheme, authority: authority.to_owned() })
        });
        let has_port =
            |peer: &Peer| peer.authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        known.filter(has_port).ok_or_else(|| {
            format!("{text:?} is not a peer; give redis://HOST:PORT, nats://HOST:PORT, or http://HOST:PORT of a broker")
        })
    }

    /// The protocol that its scheme names.
    pub fn protocol(&self) -> Protocol {
        let known = SCHEMES.into_iter().find(|(scheme, _)| *scheme == self.scheme);
        known.map_or(Protocol::Http, |(_, protocol)| protocol)
    }

    fn port(&self) -> &str {
        self.authority.rsplit_once(':').map_or("", |(_, port)| port)
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.authority)
    }
}

impl Serialize for Peer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A server that is ready to be measured.
pub struct Side {
    /// Its name in the figures.
    pub name: String,
    /// Version and settings, as far as the server reports them.
    pub about: String,
    /// Where it listens.
    pub address: SocketAddr,
    /// How it is spoken with.
    pub protocol: Protocol,
    authority: String,
    /// For everything but the load, if it is a broker.
    client: Option<Client>,
    meter: Option<Meter>,
}

impl Side {
    /// The broker that the flags of every benchmark name.
    pub fn broker(name: &str, client: &Client, about: String) -> Result<Side, BenchError> {
        let url = &client.config().broker;
        let authority = url.strip_prefix("http://").map(|rest| rest.trim_end_matches('/'));
        let authority = authority.filter(|rest| !rest.contains('/')).ok_or_else(|| {
            BenchError::Usage(format!("{url} can't be measured; give a broker's address as http://HOST:PORT"))
        })?;
        let authority = if authority.contains(':') { authority.to_owned() } else { format!("{authority}:80") };
        let address = resolve(&authority)?;
        let (client, meter) = (Some(client.clone()), listener::meter(address));
        Ok(Side { name: name.to_owned(), about, address, protocol: Protocol::Http, authority, client, meter })
    }

    /// A server that was started by hand.
    pub async fn peer(peer: &Peer) -> Result<Side, BenchError> {
        let name = format!("{}:{}", peer.scheme, peer.port());
        let protocol = peer.protocol();
        if protocol == Protocol::Http {
            let client = Client::new(ClientConfig::new(peer.to_string()));
            let client = client.map_err(|error| BenchError::Usage(error.to_string()))?;
            return Side::broker(&format!("rawline:{}", peer.port()), &client, "a Rawline broker".to_owned());
        }
        let address = resolve(&peer.authority)?;
        let about = on(&name, move || match protocol {
            Protocol::Redis => Redis::connect(address)?.about(),
            _ => Ok(Nats::connect(address)?.about()),
        });
        let (about, meter) = (about.await?, listener::meter(address));
        Ok(Side { name, about, address, protocol, authority: peer.authority.clone(), client: None, meter })
    }

    /// CPU time of the server's process, if that runs on this machine.
    pub fn meter(&self) -> Option<&Meter> {
        self.meter.as_ref()
    }

    /// Runs a load, and returns what it returns, with its CPU seconds and those of the server.
    pub async fn measured<T: Send + 'static>(
        &self,
        load: impl FnOnce() -> T + Send + 'static,
    ) -> Result<(T, f64, Option<f64>), BenchError> {
        let stopwatch = Stopwatch::start(self.meter(), None);
        let outcome = blocking(move || Ok(load())).await?;
        let Elapsed { client_cpu_seconds, broker_cpu_seconds, .. } = stopwatch.stop();
        Ok((outcome, client_cpu_seconds, broker_cpu_seconds))
    }

    /// Creates the topics or streams of the requests.
    pub async fn create(&self, topics: &[String]) -> Result<(), BenchError> {
        if let Some(client) = &self.client {
            return topics::create(client, topics).await;
        }
        let (protocol, address, topics) = (self.protocol, self.address, topics.to_vec());
        on(&self.name, move || match protocol {
            Protocol::Nats => topics.iter().try_for_each(|topic| Nats::connect(address)?.create(topic)),
            // A stream of Redis begins with its first entry.
            _ => Ok(()),
        })
        .await
    }

    /// What connection number `connection` sends to each of the topics in turns: the records of the workload's first
    /// batch in one request.
    pub fn script(&self, topics: &[&String], workload: &Workload, connection: u32) -> Result<Script, BenchError> {
        let data = workload.data(0);
        let records = || data.chunks_exact(workload.sizes().first().map_or(1, |&size| size as usize));
        let replies = workload.sizes().len() as u32;
        let plain =
            Script { protocol: self.protocol, greeting: Vec::new(), welcome: b"", requests: Vec::new(), replies };
        Ok(match self.protocol {
            Protocol::Http | Protocol::Kafka => {
                let requests = topics.iter().map(|topic| self.post(topic, workload)).collect::<Result<_, _>>()?;
                Script { requests, replies: 1, ..plain }
            }
            Protocol::Redis => {
                let requests = topics.iter().map(|topic| redis::appends(topic, records())).collect();
                Script { requests, ..plain }
            }
            Protocol::Nats => {
                let inbox = nats::inbox(connection);
                let requests = topics.iter().map(|topic| nats::appends(topic, &inbox, records())).collect();
                Script { greeting: nats::greeting(&inbox), welcome: nats::WELCOME, requests, ..plain }
            }
        })
    }

    /// The bytes of an append over HTTP, as our clients send it.
    fn post(&self, topic: &str, workload: &Workload) -> Result<Vec<u8>, BenchError> {
        Ok(self.post_batch(topic, &batch(workload)?))
    }

    /// The bytes of an append of this batch over HTTP.
    pub fn post_batch(&self, topic: &str, batch: &[u8]) -> Vec<u8> {
        let (path, headers, kind, bytes) = (path::RECORDS, self.headers(), MediaType::Batch.name(), batch.len());
        let head = format!(
            "POST {path}?topic-name={topic} HTTP/1.1\r\n{headers}content-type: {kind}\r\n\
             content-length: {bytes}\r\n\r\n"
        );
        [head.as_bytes(), batch].concat()
    }

    /// The headers of every request over HTTP.
    pub fn headers(&self) -> String {
        let key = self.client.as_ref().and_then(|client| client.config().api_key.as_deref());
        let key = key.map_or(String::new(), |key| format!("authorization: Bearer {key}\r\n"));
        format!("host: {}\r\n{key}", self.authority)
    }

    /// Checks that the server has the acknowledged records of each topic: of a broker every byte, of a peer the number
    /// of records.
    pub async fn check(&self, workload: &Workload, requests: &BTreeMap<&String, u64>) -> Result<(), BenchError> {
        if let Some(client) = &self.client {
            let sent = requests.iter().map(|(topic, &batches)| {
                let check = (0..batches).fold(0u64, |sum, request| {
                    sum.wrapping_add(check_value(request * workload.records_per_batch(), workload.data_crc(0)))
                });
                Sent { topic: topic.to_string(), batches, check }
            });
            return read_back(client, sent.collect(), workload.records_per_batch()).await.map(drop);
        }
        for (topic, requests) in requests {
            let (protocol, address, name) = (self.protocol, self.address, topic.to_string());
            let found = on(&self.name, move || match protocol {
                Protocol::Redis => Redis::connect(address)?.length(&name),
                _ => Nats::connect(address)?.length(&name),
            });
            let (found, records) = (found.await?, requests * workload.records_per_batch());
            if found != records {
                let name = &self.name;
                let reason = format!("{name} has acknowledged {records} records and holds {found} in {topic}");
                return Err(BenchError::Failed(reason));
            }
        }
        Ok(())
    }

    /// Deletes the topics or streams, so that the next run finds the same disk.
    pub async fn remove(&self, topics: &[String]) -> Result<(), BenchError> {
        if let Some(client) = &self.client {
            return topics::delete(client, topics).await;
        }
        let (protocol, address, topics) = (self.protocol, self.address, topics.to_vec());
        on(&self.name, move || match protocol {
            Protocol::Redis => {
                topics.iter().try_for_each(|topic| Redis::connect(address)?.call(&["DEL", topic]).map(drop))
            }
            _ => topics.iter().try_for_each(|topic| Nats::connect(address)?.delete(topic)),
        })
        .await
    }
}

/// The workload's first batch.
pub fn batch(workload: &Workload) -> Result<Vec<u8>, BenchError> {
    let data = workload.data(0);
    let now_us = rawline_broker::Clock::now_us(&rawline_broker::SystemClock);
    let sealed = seal(workload.sizes(), &data, now_us, &Limits::default());
    let sealed = sealed.map_err(|error| BenchError::Usage(format!("such a batch can't be made: {error}")))?;
    Ok([&sealed.front, &data[..], sealed.padding].concat())
}

/// Talks to a peer on a thread for blocking work.
async fn on<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, BenchError> {
    let name = name.to_owned();
    blocking(move || work().map_err(|error| BenchError::Failed(format!("{name}: {error}")))).await
}

/// The first address of `HOST:PORT`.
pub fn resolve(authority: &str) -> Result<SocketAddr, BenchError> {
    let found = authority.to_socket_addrs().map(|mut addresses| addresses.next());
    match found {
        Ok(Some(address)) => Ok(address),
        Ok(None) => Err(BenchError::Usage(format!("{authority} has no address"))),
        Err(error) => Err(BenchError::Usage(format!("{authority}: {error}; give HOST:PORT"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_named_by_scheme_host_and_port() {
        for (text, protocol, port) in [
            ("redis://127.0.0.1:6379", Protocol::Redis, "6379"),
            ("nats://[::1]:4222/", Protocol::Nats, "4222"),
            ("http://localhost:51313", Protocol::Http, "51313"),
        ] {
            let peer = Peer::parse(text).unwrap();
            assert_eq!((peer.protocol(), peer.port()), (protocol, port));
            assert_eq!(peer.to_string(), text.trim_end_matches('/'));
        }
        for wrong in ["redis://localhost", "localhost:6379", "kafka://localhost:9092", "redis://localhost:port", ""] {
            assert!(Peer::parse(wrong).unwrap_err().contains("redis://HOST:PORT"), "{wrong}");
        }
    }
}
