//! The table of all rows on all cases.

use crate::cases::plain::{Doubles, Measurement, Order, PingPong, Strings, Zeek};
use crate::work::Entry;
use crate::{archive, avro, binary, capn, cbor, flat, json, msgpack, protobuf, sbe, values};

macro_rules! table {
    ($($of:ty),*; $rows:tt) => {{
        let mut all = Vec::new();
        $(table!(@case all, $of, $rows);)*
        all
    }};
    (@case $all:ident, $of:ty, [$($row:ty),* $(,)?]) => {
        $all.extend([$(Entry::of::<$of, $row>()),*]);
    };
}

/// Every row on every case.
pub fn all() -> Vec<Entry> {
    table!(PingPong, Doubles, Strings, Zeek, Measurement, Order; [
        json::SerdeJson,
        json::SerdeJsonBorrowed,
        json::SonicRs,
        json::SimdJson,
        json::SimdJsonReused,
        msgpack::RmpNamed,
        msgpack::RmpBorrowed,
        msgpack::RmpArray,
        cbor::Ciborium,
        cbor::Minicbor,
        binary::Postcard,
        binary::Bincode,
        binary::BincodeFixed,
        archive::Rkyv,
        archive::RkyvUnchecked,
        avro::ApacheValue,
        avro::ApacheSerde,
        avro::Fast,
        avro::FastBorrowed,
        avro::Ours,
        avro::OursRow,
        capn::Capn,
        capn::CapnScratch,
        capn::CapnPacked,
        flat::Flat,
        flat::FlatUnchecked,
        protobuf::Prost,
        protobuf::Quick,
        sbe::Sbe,
        values::Table,
        values::Borrowed<values::Table>,
        values::List,
        values::Borrowed<values::List>,
    ])
}
