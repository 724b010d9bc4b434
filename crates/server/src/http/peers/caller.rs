//! The client of a forwarded request: its address, the name of its key, and a code that shows that both brokers have
//! the same key. No key is sent, and no value from which it could be guessed.

use super::handshake::ConnectionKey;
use crate::access::{Access, Caller, Identity};
use std::net::IpAddr;
use std::sync::Arc;

const ANYONE: &str = "anyone";
const FIXED: &str = "api-key";
const NAMED: &str = "key";

/// The text for a client at this address.
pub(super) fn text(caller: &Caller, address: IpAddr, key: &ConnectionKey) -> String {
    let code = || key.code_of_key(caller.key_digest().unwrap_or_default());
    match caller.identity() {
        Identity::Anyone | Identity::Unknown => format!("{address} {ANYONE}"),
        Identity::Fixed => format!("{address} {FIXED} {}", code()),
        Identity::Named(name) => format!("{address} {NAMED} {} {name}", code()),
    }
}

/// A client that another broker has named.
#[derive(Debug)]
pub(crate) struct Named {
    pub address: IpAddr,
    /// `None` if this broker doesn't know its key.
    pub caller: Option<Arc<Caller>>,
}

/// The client in a text, as this broker knows it; `None` if the text is wrong.
pub(super) fn read(text: &str, access: &Access, key: &ConnectionKey) -> Option<Named> {
    let parts: Vec<&str> = text.split(' ').collect();
    let (address, identity, code) = match parts[..] {
        [address, ANYONE] => (address, Identity::Anyone, ""),
        [address, FIXED, code] => (address, Identity::Fixed, code),
        [address, NAMED, code, name] => (address, Identity::Named(name.into()), code),
        _ => return None,
    };
    let caller = access.caller_at_other(&identity, |digest| key.is_code_of_key(digest, code));
    Some(Named { address: address.parse().ok()?, caller })
}
