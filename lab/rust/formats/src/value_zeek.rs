//! Zeek's event as Zeek means it: addresses, ports with their protocol, a time, and the protocol as an enum.

use anyhow::{Context, Result, bail};
use rawline_value::{Address, ListBuilder, Name, Port, Protocol, Step, TableBuilder, TimestampNs};
use serde::{Deserialize, Serialize};

use crate::cases::Sum;
use crate::cases::plain::Zeek;
use crate::value_parts::{As, Part, Valued, each_field, record};

/// Zeek's event with the types that Zeek has for it.
#[allow(missing_docs, reason = "the fields are documented by the case's own file")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ZeekTyped {
    pub ts: TimestampNs,
    pub uid: String,
    pub orig_h: Address,
    pub orig_p: Port,
    pub resp_h: Address,
    pub resp_p: Port,
    pub proto: Name,
    pub trans_id: i32,
    #[serde(default)]
    pub rtt: Option<f64>,
    pub query: String,
    pub qclass: i32,
    pub qclass_name: String,
    pub qtype: i32,
    pub qtype_name: String,
    pub rcode: i32,
    pub rcode_name: String,
    pub aa: bool,
    pub tc: bool,
    pub rd: bool,
    pub ra: bool,
    pub z: i32,
    pub answers: Vec<String>,
    pub ttls: Vec<f64>,
    pub rejected: bool,
}

record!(
    ZeekTyped,
    [
        ts: TimestampNs,
        uid: String,
        orig_h: Address,
        orig_p: Port,
        resp_h: Address,
        resp_p: Port,
        proto: Name,
        trans_id: i32,
        rtt: Option<f64>,
        query: String,
        qclass: i32,
        qclass_name: String,
        qtype: i32,
        qtype_name: String,
        rcode: i32,
        rcode_name: String,
        aa: bool,
        tc: bool,
        rd: bool,
        ra: bool,
        z: i32,
        answers: Vec<String>,
        ttls: Vec<f64>,
        rejected: bool,
    ]
);

impl Valued for Zeek {
    type Typed = ZeekTyped;
    const WAY_TABLE: &'static [Step<'static>] = &[Step::Key("query")];
    const WAY_LIST: &'static [Step<'static>] = &[Step::Index(9)];

    fn typed(&self) -> Result<ZeekTyped> {
        let Zeek { ts, uid, orig_h, orig_p, resp_h, resp_p, proto, trans_id, rtt, query, .. } = self.clone();
        let Zeek { qclass, qclass_name, qtype, qtype_name, rcode, rcode_name, aa, tc, rd, ra, z, .. } = self.clone();
        let Zeek { answers, ttls, rejected, .. } = self.clone();
        let protocol = Protocol::of_name(&proto).unwrap_or_default();
        Ok(ZeekTyped {
            ts: TimestampNs(ts),
            uid,
            orig_h: orig_h.parse()?,
            orig_p: Port::new(orig_p.try_into()?, protocol),
            resp_h: resp_h.parse()?,
            resp_p: Port::new(resp_p.try_into()?, protocol),
            proto: Name(proto),
            trans_id,
            rtt,
            query,
            qclass,
            qclass_name,
            qtype,
            qtype_name,
            rcode,
            rcode_name,
            aa,
            tc,
            rd,
            ra,
            z,
            answers,
            ttls,
            rejected,
        })
    }

    fn untyped(typed: ZeekTyped) -> Result<Zeek> {
        let ZeekTyped { ts, uid, orig_h, orig_p, resp_h, resp_p, proto, trans_id, rtt, query, .. } = typed.clone();
        let ZeekTyped { qclass, qclass_name, qtype, qtype_name, rcode, rcode_name, .. } = typed.clone();
        let ZeekTyped { aa, tc, rd, ra, z, answers, ttls, rejected, .. } = typed;
        let protocol = proto.0.as_str();
        if [orig_p, resp_p].iter().any(|port| port.protocol.name() != protocol) {
            bail!("the ports {orig_p} and {resp_p} are not those of {protocol}");
        }
        Ok(Zeek {
            ts: ts.0,
            uid,
            orig_h: orig_h.to_string(),
            orig_p: orig_p.number.into(),
            resp_h: resp_h.to_string(),
            resp_p: resp_p.number.into(),
            proto: proto.0,
            trans_id,
            rtt,
            query,
            qclass,
            qclass_name,
            qtype,
            qtype_name,
            rcode,
            rcode_name,
            aa,
            tc,
            rd,
            ra,
            z,
            answers,
            ttls,
            rejected,
        })
    }
}
