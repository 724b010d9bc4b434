//! The keys of a broker, and callers authenticated by them.
//!
//! The keys of a file are replaced as a whole. A client whose key is unchanged remains the same caller, with its
//! connections and quotas; all other callers of the old keys end.

use super::audit::Audit;
use super::caller::{Caller, Identity};
use super::hashes::name_in;
use super::key_file::{KeyEntry, KeyFile};
use super::scram::{Credential, Hash, ITERATIONS, SALT_BYTES};
use ring::{digest, hmac};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use subtle::ConstantTimeEq;

/// The keys, which all connections share, and the audit log.
#[derive(Clone)]
pub struct Access(Arc<Shared>);

struct Shared {
    /// Keys of `--api-key`, which grant everything, and their callers.
    fixed: Vec<(String, Arc<Caller>)>,
    /// The caller with the first of these, or without a key if none is required.
    full: Arc<Caller>,
    needs_key: bool,
    named: RwLock<Arc<Named>>,
    /// Grows when keys are replaced.
    generation: AtomicU64,
    /// For salts of names that no key has.
    decoy: hmac::Key,
    audit: Audit,
}

/// The keys of a file, by name.
type Named = HashMap<Arc<str>, Known>;

#[derive(Clone)]
struct Known {
    entry: KeyEntry,
    caller: Arc<Caller>,
}

/// The callers as which a client can authenticate by SCRAM: each with its credential, all with the same salt and
/// iterations.
pub(crate) struct Candidates {
    /// The salt that the client gets.
    pub salt: Vec<u8>,
    /// The iterations that the client gets.
    pub iterations: std::num::NonZeroU32,
    pub all: Vec<(Arc<Caller>, Arc<Credential>)>,
}

impl Default for Access {
    /// No client needs a key.
    fn default() -> Self {
        Access::new(Vec::new(), None, Audit::default())
    }
}

impl Access {
    /// Keys that grant everything, and those of a file. Without both, clients need no key.
    pub fn new(fixed: Vec<String>, file: Option<KeyFile>, audit: Audit) -> Access {
        let needs_key = !fixed.is_empty() || file.is_some();
        let named = file.unwrap_or_default().keys.into_iter().map(|entry| (entry.name.clone(), Known::new(entry)));
        let fixed: Vec<_> =
            fixed.into_iter().map(|key| (Caller::fixed(&key), key)).map(|(one, key)| (key, one)).collect();
        let full = match fixed.first() {
            Some((_, first)) => first.clone(),
            None if needs_key => Caller::unknown(),
            None => Caller::anyone(),
        };
        Access(Arc::new(Shared {
            full,
            fixed,
            needs_key,
            named: RwLock::new(Arc::new(named.collect())),
            generation: AtomicU64::new(0),
            decoy: hmac::Key::new(hmac::HMAC_SHA256, &secret()),
            audit,
        }))
    }

    /// Keys that grant everything. Without any, clients need no key.
    pub fn of_keys(keys: Vec<String>) -> Access {
        Access::new(keys, None, Audit::default())
    }

    /// Whether clients need no key.
    pub fn is_open(&self) -> bool {
        !self.0.needs_key
    }

    /// The audit log for refusals and changes.
    pub fn audit(&self) -> &Audit {
        &self.0.audit
    }

    /// The caller of all requests to a broker without keys.
    pub(crate) fn anyone(&self) -> Arc<Caller> {
        assert!(self.is_open(), "a broker with keys serves no client without one");
        self.0.full.clone()
    }

    /// A caller with a key of `--api-key`, or without a key if none is required.
    pub(crate) fn full(&self) -> &Arc<Caller> {
        &self.0.full
    }

    /// Grows when keys are replaced: a caller that was found before may have ended.
    pub(crate) fn generation(&self) -> u64 {
        self.0.generation.load(Ordering::Acquire)
    }

    /// The caller with this key. Takes the same time for all wrong keys of the same name and length.
    pub(crate) fn identify(&self, given: &[u8]) -> Option<Arc<Caller>> {
        // All are compared, so that the time doesn't say which ones are similar.
        let found =
            self.0.fixed.iter().fold(
                None,
                |found, (key, caller)| {
                    if bool::from(key.as_bytes().ct_eq(given)) { Some(caller) } else { found }
                },
            );
        if let Some(caller) = found {
            return Some(caller.clone());
        }
        let named = self.named();
        let known = named.get(name_in(given)?)?;
        known.entry.hashes.sha_256.is_of(given).then(|| known.caller.clone())
    }

    /// The caller whose key has this name.
    pub(crate) fn caller_named(&self, name: &str) -> Option<Arc<Caller>> {
        self.named().get(name).map(|known| known.caller.clone())
    }

    /// The caller that another broker names, if this broker has the same key: `is_of` decides that by a key's
    /// digest. A broker without keys serves every client.
    pub(crate) fn caller_at_other(&self, identity: &Identity, is_of: impl Fn(&[u8]) -> bool) -> Option<Arc<Caller>> {
        let has_key = |caller: &Arc<Caller>| caller.key_digest().is_some_and(&is_of);
        match identity {
            _ if self.is_open() => Some(self.anyone()),
            Identity::Anyone | Identity::Unknown => None,
            Identity::Fixed => self.0.fixed.iter().map(|(_, caller)| caller).find(|caller| has_key(caller)).cloned(),
            Identity::Named(name) => self.caller_named(name).filter(has_key),
        }
    }

    /// The current caller with the same key as an earlier one; its grants may have changed.
    pub(crate) fn renewed(&self, before: &Arc<Caller>) -> Option<Arc<Caller>> {
        if !before.has_ended() {
            return Some(before.clone());
        }
        let named = self.named();
        let known = named.get(before.name()?)?;
        before.has_key(&known.entry).then(|| known.caller.clone())
    }

    /// The callers as which a client with this name can authenticate: the one whose key in the file has this name, and
    /// those of the keys that the broker was started with, which accept any name.
    pub(crate) fn candidates(&self, hash: Hash, name: &str, fixed: &Candidates) -> Candidates {
        let named = self.named();
        let credential = named.get(name).and_then(|known| Some((known, known.entry.hashes.scram(hash)?)));
        if let Some((known, credential)) = credential {
            let Credential { salt, iterations, .. } = &**credential;
            let all = vec![(known.caller.clone(), credential.clone())];
            return Candidates { salt: salt.clone(), iterations: *iterations, all };
        }
        if fixed.all.is_empty() {
            // Deterministic, like the salt of a key.
            let salt = hmac::sign(&self.0.decoy, name.as_bytes());
            let salt = salt.as_ref().split_at(SALT_BYTES).0.to_vec();
            return Candidates { salt, iterations: ITERATIONS, all: Vec::new() };
        }
        Candidates { salt: fixed.salt.clone(), iterations: fixed.iterations, all: fixed.all.clone() }
    }

    /// The credentials of the keys that the broker was started with, which share a salt.
    pub(crate) fn fixed_candidates(&self, hash: Hash) -> Candidates {
        let salt = digest::digest(&digest::SHA256, &secret()).as_ref().split_at(SALT_BYTES).0.to_vec();
        let credential = |key: &String| Arc::new(Credential::derive(hash, key, &salt, ITERATIONS));
        let all = self.0.fixed.iter().map(|(key, caller)| (caller.clone(), credential(key))).collect();
        Candidates { salt, iterations: ITERATIONS, all }
    }

    /// Replaces the keys of the file. Returns whether anything is different.
    pub(crate) fn replace(&self, file: KeyFile) -> bool {
        let before = self.named();
        let kept = |entry: KeyEntry| match before.get(&entry.name) {
            Some(known) if known.entry == entry => known.clone(),
            _ => Known::new(entry),
        };
        let now: Named = file.keys.into_iter().map(|entry| (entry.name.clone(), kept(entry))).collect();
        let is_same = |(name, known): (&Arc<str>, &Known)| {
            now.get(name).is_some_and(|other| Arc::ptr_eq(&known.caller, &other.caller))
        };
        if now.len() == before.len() && before.iter().all(is_same) {
            return false;
        }
        let ended: Vec<_> = before.iter().filter(|known| !is_same(*known)).map(|(_, known)| known.clone()).collect();
        *self.0.named.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(now);
        self.0.generation.fetch_add(1, Ordering::AcqRel);
        ended.iter().for_each(|known| known.caller.end());
        true
    }

    fn named(&self) -> Arc<Named> {
        self.0.named.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Known {
    fn new(entry: KeyEntry) -> Known {
        Known { caller: Caller::named(&entry), entry }
    }
}

impl std::fmt::Debug for Access {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} keys", self.0.fixed.len() + self.named().len())
    }
}

#[expect(clippy::disallowed_methods, reason = "unpredictable salts of the process")]
fn secret() -> [u8; 32] {
    rand::random()
}

/// Why a broker must not listen on an address: it has no keys, and other machines can reach the address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a broker without API keys listens on loopback only, and other machines can reach {address}")]
pub struct ListenRefused {
    /// The address.
    pub address: SocketAddr,
}

/// Refuses an address that other machines can reach, unless there are keys or `insecure` allows it.
pub fn check_listen(address: &SocketAddr, access: &Access, insecure: bool) -> Result<(), ListenRefused> {
    if access.is_open() && !insecure && !address.ip().is_loopback() {
        return Err(ListenRefused { address: *address });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{Grants, QuotaLimits};

    fn entry(name: &str) -> (String, KeyEntry) {
        KeyEntry::generate(name, Grants::default(), QuotaLimits { connections: Some(1), ..QuotaLimits::default() })
            .unwrap()
    }

    fn file(keys: &[&KeyEntry]) -> KeyFile {
        KeyFile { keys: keys.iter().map(|&key| key.clone()).collect() }
    }

    #[test]
    fn without_keys_only_loopback_is_listened_on() {
        let keys = Access::of_keys(vec!["key".into()]);
        let open = "0.0.0.0:51313".parse().unwrap();
        assert!(check_listen(&open, &Access::default(), false).is_err());
        assert!(check_listen(&open, &Access::default(), true).is_ok());
        assert!(check_listen(&open, &keys, false).is_ok());
        let empty = Access::new(Vec::new(), Some(KeyFile::default()), Audit::default());
        assert!(check_listen(&open, &empty, false).is_ok(), "no client gets in");
        for loopback in ["127.0.0.1:1", "[::1]:1"] {
            assert!(check_listen(&loopback.parse().unwrap(), &Access::default(), false).is_ok());
        }
    }

    #[test]
    fn a_caller_is_known_by_its_whole_key() {
        let ((one, one_entry), (_, two_entry)) = (entry("one"), entry("two"));
        let access = Access::new(vec!["fixed".into()], Some(file(&[&one_entry, &two_entry])), Audit::default());
        let identity = |key: &str| access.identify(key.as_bytes()).map(|caller| caller.name().unwrap().to_owned());
        assert_eq!(identity(&one).as_deref(), Some("one"));
        assert_eq!(identity("fixed").as_deref(), Some("api-key"));
        for wrong in ["", "fixe", "fixed.", "one", "one.", &one.replace("one", "two"), &format!("{one}=")] {
            assert_eq!(identity(wrong), None, "{wrong}");
        }
        assert!(!format!("{access:?} {one_entry:?}").contains(&one));
    }

    #[test]
    fn callers_whose_keys_stay_remain_and_all_others_end() {
        let ((one, one_entry), (two, mut two_entry), (three, three_entry)) = (entry("1"), entry("2"), entry("3"));
        let access = Access::new(Vec::new(), Some(file(&[&one_entry, &two_entry, &three_entry])), Audit::default());
        let before = [&one, &two, &three].map(|key| access.identify(key.as_bytes()).unwrap());
        let _place = before[0].connect().unwrap();
        assert!(!access.replace(file(&[&three_entry, &one_entry, &two_entry])), "nothing is different");
        assert_eq!(access.generation(), 0);
        two_entry.grants = Grants::all();
        assert!(access.replace(file(&[&one_entry, &two_entry])));
        assert_eq!(access.generation(), 1);
        assert_eq!(before.each_ref().map(|caller| caller.has_ended()), [false, true, true]);
        let one = access.identify(one.as_bytes()).unwrap();
        assert!(Arc::ptr_eq(&one, &before[0]) && one.connect().is_err(), "its connections are counted on");
        assert_eq!(access.identify(two.as_bytes()).unwrap().grants(), &Grants::all());
        assert!(access.identify(three.as_bytes()).is_none());
    }

    #[test]
    fn a_caller_of_another_broker_is_known_by_the_same_key_only() {
        let ((_, one), (_, other_one)) = (entry("one"), entry("one"));
        let access = |fixed: &str, file: Option<KeyFile>| Access::new(vec![fixed.into()], file, Audit::default());
        let here = access("fixed", Some(file(&[&one])));
        let found = |access: &Access, there: &Arc<Caller>| {
            let is_of = |digest: &[u8]| there.key_digest() == Some(digest);
            access.caller_at_other(there.identity(), is_of).map(|caller| caller.identity().clone())
        };
        let (named, fixed) = (here.caller_named("one").unwrap(), here.identify(b"fixed").unwrap());
        for (there, expected) in [(&named, "one"), (&fixed, "api-key")] {
            let same = access("fixed", Some(file(&[&one])));
            assert_eq!(found(&same, there), Some(there.identity().clone()), "{expected}");
            assert_eq!(found(&Access::default(), there), Some(Identity::Anyone), "an open broker serves every client");
        }
        assert_eq!(found(&access("fixed", Some(file(&[&other_one]))), &named), None, "another key of this name");
        assert_eq!(found(&access("other", None), &fixed), None);
        assert_eq!(found(&access("other", None), &named), None);
        assert_eq!(found(&here, &Access::default().anyone()), None, "whom another broker serves without a key");
        assert_eq!(found(&here, &Caller::unknown()), None);
    }

    #[test]
    fn a_name_without_a_key_has_a_salt_of_its_own_that_stays() {
        let access = Access::new(Vec::new(), Some(KeyFile::default()), Audit::default());
        let fixed = access.fixed_candidates(Hash::Sha256);
        let salt = |name: &str| access.candidates(Hash::Sha256, name, &fixed).salt;
        assert_eq!(salt("a"), salt("a"));
        assert_ne!(salt("a"), salt("b"));
        assert_eq!(salt("a").len(), SALT_BYTES);
    }
}
