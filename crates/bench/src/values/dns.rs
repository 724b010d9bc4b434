//! A stream of Zeek's DNS events: generated from a seed, or read from a log that Zeek wrote as JSON.

use crate::BenchError;
use rawline_value::{Address, EnumName, ListBuilder, Port, Protocol, TableBuilder, TimespanNs, TimestampNs, zeek};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

/// The fields of Zeek's `DNS::Info`, as in a line of `dns.log`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names are Zeek's")]
pub struct Dns {
    #[serde(rename = "_path", default)]
    pub path: String,
    #[serde(rename = "_write_ts")]
    pub write_ts: TimestampNs,
    pub ts: TimestampNs,
    pub uid: String,
    #[serde(rename = "id.orig_h")]
    pub orig_h: Address,
    #[serde(rename = "id.orig_p")]
    pub orig_p: u16,
    #[serde(rename = "id.resp_h")]
    pub resp_h: Address,
    #[serde(rename = "id.resp_p")]
    pub resp_p: u16,
    pub proto: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trans_id: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qclass: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qclass_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qtype: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qtype_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rcode: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rcode_name: Option<String>,
    #[serde(rename = "AA")]
    pub aa: bool,
    #[serde(rename = "TC")]
    pub tc: bool,
    #[serde(rename = "RD")]
    pub rd: bool,
    #[serde(rename = "RA")]
    pub ra: bool,
    #[serde(rename = "Z")]
    pub z: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Vec<String>>,
    #[serde(rename = "TTLs", default, skip_serializing_if = "Option::is_none")]
    pub ttls: Option<Vec<f64>>,
    pub rejected: bool,
}

impl Dns {
    /// The event as Zeek sends it: an event whose argument is a record, its fields in the record's order.
    pub fn put_record(&self, out: &mut Vec<u8>) {
        zeek::put_event(out, &self.path, Some(self.write_ts), |arguments| {
            let mut record = arguments.list();
            record.add(self.ts).add(self.uid.as_str());
            let (orig_p, resp_p) = (self.port(self.orig_p), self.port(self.resp_p));
            record.list().add(self.orig_h).add(orig_p).add(self.resp_h).add(resp_p);
            record.add(EnumName(&self.proto)).add(Maybe(self.trans_id)).add(Maybe(self.rtt.map(seconds)));
            record.add(Maybe(self.query.as_deref())).add(Maybe(self.qclass)).add(Maybe(self.qclass_name.as_deref()));
            record.add(Maybe(self.qtype)).add(Maybe(self.qtype_name.as_deref()));
            record.add(Maybe(self.rcode)).add(Maybe(self.rcode_name.as_deref()));
            record.add(self.aa).add(self.tc).add(self.rd).add(self.ra).add(self.z);
            match &self.answers {
                Some(answers) => put_all(record.list(), answers.iter().map(String::as_str)),
                None => {
                    record.add(());
                }
            }
            match &self.ttls {
                Some(ttls) => put_all(record.list(), ttls.iter().copied().map(seconds)),
                None => {
                    record.add(());
                }
            }
            record.add(self.rejected);
        });
    }

    /// The event with the names of its fields: a table with ascending keys.
    pub fn put_table(&self, out: &mut Vec<u8>) {
        zeek::put_event(out, &self.path, Some(self.write_ts), |arguments| {
            let mut table = arguments.table();
            table.add("AA", self.aa).add("RA", self.ra).add("RD", self.rd).add("TC", self.tc);
            if let Some(ttls) = &self.ttls {
                put_all(table.list("TTLs"), ttls.iter().copied().map(seconds));
            }
            table.add("Z", self.z);
            if let Some(answers) = &self.answers {
                put_all(table.list("answers"), answers.iter().map(String::as_str));
            }
            table.add("id.orig_h", self.orig_h).add("id.orig_p", self.port(self.orig_p));
            table.add("id.resp_h", self.resp_h).add("id.resp_p", self.port(self.resp_p));
            table.add("proto", EnumName(&self.proto));
            put_some(&mut table, "qclass", self.qclass);
            put_some(&mut table, "qclass_name", self.qclass_name.as_deref());
            put_some(&mut table, "qtype", self.qtype);
            put_some(&mut table, "qtype_name", self.qtype_name.as_deref());
            put_some(&mut table, "query", self.query.as_deref());
            put_some(&mut table, "rcode", self.rcode);
            put_some(&mut table, "rcode_name", self.rcode_name.as_deref());
            table.add("rejected", self.rejected);
            put_some(&mut table, "rtt", self.rtt.map(seconds));
            put_some(&mut table, "trans_id", self.trans_id);
            table.add("ts", self.ts).add("uid", self.uid.as_str());
        });
    }

    fn port(&self, number: u16) -> Port {
        Port::new(number, Protocol::of_name(&self.proto).unwrap_or_default())
    }
}

/// `None` becomes a none value.
struct Maybe<T>(Option<T>);

impl<T: rawline_value::Put> rawline_value::Put for Maybe<T> {
    fn put(&self, out: &mut Vec<u8>) {
        match &self.0 {
            Some(value) => value.put(out),
            None => ().put(out),
        }
    }
}

fn put_all<T: rawline_value::Put>(mut list: ListBuilder<'_>, values: impl Iterator<Item = T>) {
    for value in values {
        list.add(value);
    }
}

fn put_some(table: &mut TableBuilder<'_>, name: &str, value: Option<impl rawline_value::Put>) {
    if let Some(value) = value {
        table.add(name, value);
    }
}

fn seconds(seconds: f64) -> TimespanNs {
    TimespanNs((seconds * 1e9).round() as i64)
}

/// Reads the first `count` lines of a `dns.log` that Zeek wrote as JSON; each with its line.
pub fn read(path: &Path, count: usize) -> Result<(Vec<Dns>, Vec<Vec<u8>>), BenchError> {
    let text =
        std::fs::read(path).map_err(|error| BenchError::Failed(format!("can't read {}: {error}", path.display())))?;
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).take(count);
    let (mut events, mut jsons) = (Vec::new(), Vec::new());
    for (index, line) in lines.enumerate() {
        events.push(serde_json::from_slice(line).map_err(|error| {
            let path = path.display();
            let number = index + 1;
            BenchError::Failed(format!("{path}, line {number}: {error}; give --events a dns.log of Zeek as JSON"))
        })?);
        jsons.push(line.to_vec());
    }
    if events.is_empty() {
        let path = path.display();
        return Err(BenchError::Failed(format!("{path} has no lines; give --events a dns.log of Zeek as JSON")));
    }
    Ok((events, jsons))
}

/// `count` events of the shape and the distributions of a real `dns.log`, each with its line of JSON.
pub fn generate(seed: u64, count: usize) -> (Vec<Dns>, Vec<Vec<u8>>) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut time_ns = 1_521_911_720_865_716_000;
    let events: Vec<Dns> = (0..count)
        .map(|_| {
            time_ns += random.i64(1_000..40_000_000) / 1000 * 1000;
            event(&mut random, time_ns)
        })
        .collect();
    let lines = events.iter().map(|event| serde_json::to_vec(event).unwrap_or_default()).collect();
    (events, lines)
}

fn event(random: &mut fastrand::Rng, time_ns: i64) -> Dns {
    const NAMES: [&str; 8] = ["ise", "www", "ntp", "_ldap._tcp.dc._msdcs", "mail", "api", "cdn-edge", "wpad"];
    const DOMAINS: [&str; 6] = ["wrccdc.org", "ubuntu.com", "in-addr.arpa", "example.net", "microsoft.com", "cpp.edu"];
    const TYPES: [(u64, &str); 5] = [(1, "A"), (28, "AAAA"), (12, "PTR"), (33, "SRV"), (6, "SOA")];
    let address = |random: &mut fastrand::Rng| {
        let ip = match random.u32(0..10) {
            0 => IpAddr::V6(Ipv6Addr::from(0xfe80 << 112 | u128::from(random.u64(..)))),
            _ => IpAddr::V4(Ipv4Addr::new(10, random.u8(40..50), random.u8(..), random.u8(..))),
        };
        Address::from(ip)
    };
    let query = format!(
        "{}{}.{}",
        NAMES.get(random.usize(..NAMES.len())).unwrap_or(&"www"),
        random.u32(0..1000),
        DOMAINS.get(random.usize(..DOMAINS.len())).unwrap_or(&"example.net")
    );
    let (qtype, qtype_name) = *TYPES.get(random.usize(..TYPES.len())).unwrap_or(&(1, "A"));
    let answered = random.u32(0..10) < 6;
    let answers = random.usize(1..4);
    Dns {
        path: "dns".to_owned(),
        write_ts: TimestampNs(time_ns + 870_000),
        ts: TimestampNs(time_ns),
        uid: format!("C{}", std::iter::repeat_with(|| random.alphanumeric()).take(17).collect::<String>()),
        orig_h: address(random),
        orig_p: random.u16(1024..),
        resp_h: address(random),
        resp_p: if random.u32(0..20) == 0 { 5353 } else { 53 },
        proto: if random.u32(0..20) == 0 { "tcp" } else { "udp" }.to_owned(),
        trans_id: Some(random.u64(0..65536)),
        rtt: answered.then(|| f64::from(random.u32(100..90_000)) * 1e-6),
        query: Some(query.clone()),
        qclass: Some(1),
        qclass_name: Some("C_INTERNET".to_owned()),
        qtype: Some(qtype),
        qtype_name: Some(qtype_name.to_owned()),
        rcode: answered.then_some(0),
        rcode_name: answered.then(|| "NOERROR".to_owned()),
        aa: random.bool(),
        tc: false,
        rd: true,
        ra: answered,
        z: 0,
        answers: answered.then(|| (0..answers).map(|i| format!("{i}.{query}")).collect()),
        ttls: answered.then(|| (0..answers).map(|_| f64::from(random.u32(1..86_400))).collect()),
        rejected: false,
    }
}
