//! The sender of a connection's requests: the key of the last header, with its caller, or the broker that has opened
//! the connection.

use crate::access::{Access, Caller, ConnectionsTooMany, Identity, Place};
use crate::http::api::Api;
use crate::http::error::ApiError;
use crate::http::peers::Introduced;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use subtle::ConstantTimeEq;

/// The scheme before a key; case-insensitive (RFC 9110).
const SCHEME: &[u8] = b"Bearer ";

/// The newest key of a connection, with its caller, so that it is hashed once.
#[derive(Default)]
pub(crate) struct Session {
    memory: Mutex<Memory>,
    /// The broker that has opened the connection, if any.
    introduced: Mutex<Option<Introduced>>,
}

#[derive(Default)]
struct Memory {
    verified: Option<Verified>,
    /// Of the newest ticket's caller.
    ticket: Option<(Arc<Caller>, Place)>,
}

struct Verified {
    /// The value of the header. A proxy may send those of several clients on one connection.
    authorization: Box<[u8]>,
    /// That of the keys when it was verified.
    generation: u64,
    caller: Arc<Caller>,
    /// Counts the connection.
    place: Place,
}

impl Session {
    /// The caller whose key is in the value of an `Authorization` header.
    pub fn caller(&self, access: &Access, authorization: Option<&[u8]>) -> Result<Arc<Caller>, ApiError> {
        let authorization = authorization.unwrap_or_default();
        // Before the keys are looked at: if they are replaced meanwhile, this is too old.
        let generation = access.generation();
        let mut memory = self.memory();
        if let Some(verified) = &memory.verified
            && verified.generation == generation
            && bool::from(verified.authorization.ct_eq(authorization))
        {
            return Ok(verified.caller.clone());
        }
        let caller = access.identify(key_in(authorization)).ok_or_else(ApiError::unauthorized)?;
        // A connection is counted once, also if the keys of others were replaced.
        let before = memory.verified.take().filter(|verified| Arc::ptr_eq(&verified.caller, &caller));
        let place = match before {
            Some(Verified { place, .. }) => place,
            None => caller.connect()?,
        };
        let verified = Verified { authorization: authorization.into(), generation, caller: caller.clone(), place };
        memory.verified = Some(verified);
        Ok(caller)
    }

    /// The caller that requested a ticket.
    pub fn of_ticket(&self, access: &Access, identity: &Identity) -> Result<Arc<Caller>, ApiError> {
        let caller = match identity {
            Identity::Anyone | Identity::Fixed => access.full().clone(),
            Identity::Named(name) => access.caller_named(name).ok_or_else(ApiError::ticket_invalid)?,
            Identity::Unknown => return Err(ApiError::ticket_invalid()),
        };
        let mut memory = self.memory();
        if memory.ticket.as_ref().is_none_or(|(before, _)| !Arc::ptr_eq(before, &caller)) {
            memory.ticket = Some((caller.clone(), caller.connect()?));
        }
        Ok(caller)
    }

    /// The broker that has opened the connection.
    pub fn introduced(&self) -> MutexGuard<'_, Option<Introduced>> {
        self.introduced.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The caller as its key is now, of a request that has waited since it was admitted. What the request needs is to be
/// checked again, too.
pub(crate) fn renewed(api: &Api, caller: &Arc<Caller>) -> Result<Arc<Caller>, ApiError> {
    api.config.access.renewed(caller).ok_or_else(ApiError::unauthorized)
}

impl From<ConnectionsTooMany> for ApiError {
    fn from(error: ConnectionsTooMany) -> Self {
        ApiError::new(rawline_contract::code::QUOTA_EXCEEDED, error.to_string())
    }
}

/// The key in the value of an `Authorization` header; nothing if it carries none.
fn key_in(authorization: &[u8]) -> &[u8] {
    match authorization.split_at_checked(SCHEME.len()) {
        Some((scheme, key)) if scheme.eq_ignore_ascii_case(SCHEME) => key,
        _ => b"",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{Audit, Grants, KeyEntry, KeyFile, QuotaLimits};

    #[test]
    fn keys_are_needed_once_set() {
        let access = Access::of_keys(vec!["one".into(), "two".into()]);
        let check = |value: &'static str| Session::default().caller(&access, Some(value.as_bytes())).is_ok();
        assert!(check("Bearer one") && check("bearer two"));
        for wrong in ["Bearer three", "Bearer on", "Bearer onetwo", "one", "Basic one", "Bearer "] {
            assert!(!check(wrong), "{wrong}");
        }
        assert!(Session::default().caller(&access, None).is_err());
    }

    #[test]
    fn a_connection_remembers_one_key_and_forgets_it_when_keys_are_replaced() {
        let quota = QuotaLimits { connections: Some(1), ..QuotaLimits::default() };
        let [(one, first), (two, second)] =
            ["one", "two"].map(|name| KeyEntry::generate(name, Grants::all(), quota).unwrap());
        let file = |keys: &[&KeyEntry]| KeyFile { keys: keys.iter().map(|&key| key.clone()).collect() };
        let access = Access::new(Vec::new(), Some(file(&[&first, &second])), Audit::default());
        let session = Session::default();
        let header = |key: &str| format!("Bearer {key}").into_bytes();
        let name = |session: &Session, key: &str| {
            session.caller(&access, Some(&header(key))).ok().and_then(|caller| caller.name().map(str::to_owned))
        };
        for (key, expected) in [(&one, "one"), (&one, "one"), (&two, "two"), (&one, "one")] {
            assert_eq!(name(&session, key).as_deref(), Some(expected));
        }
        assert_eq!(name(&Session::default(), &one), None, "its one connection is open");
        assert_eq!(name(&Session::default(), &two).as_deref(), Some("two"), "the connection has another key now");
        access.replace(file(&[&first]));
        assert_eq!(name(&session, &one).as_deref(), Some("one"), "it keeps its place");
        access.replace(file(&[&second]));
        assert_eq!(name(&session, &one), None);
    }
}
