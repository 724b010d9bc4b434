//! One message, read and written by both implementations.

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::{ApiKey, RequestKind, ResponseKind};
use rawline_kafka::{Api, Request, Response, WireError};
use regex::Regex;
use std::fmt::Debug;
use std::sync::LazyLock;

use crate::values::Values;

/// A request or a response.
pub trait Message: Debug + PartialEq + Sized {
    const KIND: &str;

    fn filled(api: Api, version: i16, values: &mut Values) -> Self;
    fn read(api: Api, version: i16, bytes: &[u8]) -> Result<Self, WireError>;
    fn write(&self, version: i16) -> Vec<u8>;

    /// The other implementation's reading of our bytes: reencoded, and as text.
    fn theirs(api: Api, version: i16, bytes: &[u8]) -> (Vec<u8>, String);
}

macro_rules! message {
    ($ours:ident, $theirs:ident, $kind:literal) => {
        impl Message for $ours {
            const KIND: &str = $kind;

            fn filled(api: Api, version: i16, values: &mut Values) -> $ours {
                $ours::from_source(api, version, values).expect("values don't end")
            }

            fn read(api: Api, version: i16, bytes: &[u8]) -> Result<$ours, WireError> {
                $ours::read(api, version, bytes)
            }

            fn write(&self, version: i16) -> Vec<u8> {
                let mut bytes = Vec::new();
                $ours::write(self, version, &mut bytes);
                bytes
            }

            fn theirs(api: Api, version: i16, bytes: &[u8]) -> (Vec<u8>, String) {
                let key = ApiKey::try_from(api.key()).expect("an API");
                let mut left = Bytes::copy_from_slice(bytes);
                let message = $theirs::decode(key, &mut left, version)
                    .unwrap_or_else(|error| panic!("{} of {api:?} {version}: {error}", $kind));
                assert!(left.is_empty(), "{} of {api:?} {version}: {} bytes are left", $kind, left.len());
                let mut written = BytesMut::new();
                message.encode(&mut written, version).expect("what it read");
                (written.to_vec(), format!("{message:?}"))
            }
        }
    };
}

message!(Request, RequestKind, "request");
message!(Response, ResponseKind, "response");

/// Versions that the other implementation lacks.
fn is_ours_only(kind: &str, api: Api, version: i16) -> bool {
    kind == "request" && [Api::OffsetCommit, Api::OffsetFetch].contains(&api) && version == 10
}

/// The message's bytes: as the other implementation writes them, and as ours reads and writes them.
pub fn agreed<M: Message>(api: Api, version: i16, message: &M) -> Vec<u8> {
    let bytes = message.write(version);
    assert_eq!(M::read(api, version, &bytes).as_ref(), Ok(message), "{api:?} {version}, {bytes:02x?}");
    if is_ours_only(M::KIND, api, version) {
        return bytes;
    }
    let (theirs, text) = M::theirs(api, version, &bytes);
    assert_eq!(theirs, bytes, "{api:?} {version}: {message:?}");
    assert_eq!(normal(&text), normal(&format!("{message:?}")), "{api:?} {version}");
    bytes
}

/// A structure's text without what differs by intent: names of structures, fields that versions of ours don't have, and
/// whether an absent field is empty or null (the bytes are compared too).
fn normal(text: &str) -> String {
    static CHANGES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
        [
            (r",? ?unknown_tagged_fields: \{\}", ""),
            (r"\b[A-Z]\w* \{", "{"),
            (r#"Some\((""|\[\])\)"#, "None"),
            (r"v3_and_below_|_v3_and_below", ""),
            (r"transactions: \[\], |error_code: 0, results_by_transaction: \[\], ", ""),
            (r", ongoing_txn_producer_id: -1, ongoing_txn_producer_epoch: -1", ""),
            (r", enable_2_pc: false, keep_prepared_txn: false", ""),
            (r",? ?topic_id: 00000000-0000-0000-0000-000000000000|,? ?topic_config_error_code: -?\d+", ""),
            (r"\{,? ?|,? ?\}", "|"),
        ]
        .map(|(from, to)| (Regex::new(from).expect("a pattern"), to))
        .into()
    });
    CHANGES.iter().fold(text.to_owned(), |text, (from, to)| from.replace_all(&text, *to).into_owned())
}
