//! The messages of each change, with the writer's schema and with the reader's.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize as DeriveSerialize};

/// A message of one schema. serde's formats need nothing more; this adds what the others need.
pub trait Shape: Serialize + DeserializeOwned {
    /// The same record in Avro: the list of its fields, as JSON.
    const AVRO_FIELDS: &'static str;

    /// The message as rkyv archives it.
    fn archive(&self) -> Result<Vec<u8>, String>;

    /// The message from rkyv's bytes, which are checked first.
    fn of_archive(bytes: &[u8]) -> Result<Self, String>;
}

macro_rules! shape {
    ($name:ident { $($(#[$attribute:meta])* $field:ident: $type:ty),* } $avro:literal) => {
        #[derive(Debug, Clone, DeriveSerialize, Deserialize, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
        pub struct $name {
            $($(#[$attribute])* pub $field: $type),*
        }

        impl Shape for $name {
            const AVRO_FIELDS: &'static str = $avro;

            fn archive(&self) -> Result<Vec<u8>, String> {
                rkyv::to_bytes::<rkyv::rancor::Error>(self)
                    .map(|bytes| bytes.to_vec())
                    .map_err(|error| error.to_string())
            }

            fn of_archive(bytes: &[u8]) -> Result<Self, String> {
                let mut aligned = rkyv::util::AlignedVec::<16>::new();
                aligned.extend_from_slice(bytes);
                rkyv::from_bytes::<$name, rkyv::rancor::Error>(&aligned).map_err(|error| error.to_string())
            }
        }
    };
}

/// The default that a reader's schema has for a field.
pub const GRADE_DEFAULT: i32 = 5;

fn grade_default() -> i32 {
    GRADE_DEFAULT
}

macro_rules! kinds {
    ($name:ident { $($symbol:ident),* }) => {
        #[derive(Debug, Clone, Copy, DeriveSerialize, Deserialize, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
        pub enum $name {
            $($symbol),*
        }
    };
}

kinds!(Kind { Lamp, Desk });
kinds!(KindMore { Lamp, Desk, Chair });

shape!(Plain { id: i64, name: String } r#"[{"name":"id","type":"long"},{"name":"name","type":"string"}]"#);
shape!(WithDefault { id: i64, name: String, #[serde(default = "grade_default")] grade: i32 }
    r#"[{"name":"id","type":"long"},{"name":"name","type":"string"},{"name":"grade","type":"int","default":5}]"#);
shape!(WithRequired { id: i64, name: String, grade: i32 }
    r#"[{"name":"id","type":"long"},{"name":"name","type":"string"},{"name":"grade","type":"int"}]"#);
shape!(Count { id: i64, count: i32, name: String }
    r#"[{"name":"id","type":"long"},{"name":"count","type":"int"},{"name":"name","type":"string"}]"#);
shape!(Quantity { id: i64, quantity: i32, name: String }
    r#"[{"name":"id","type":"long"},{"name":"quantity","type":"int"},{"name":"name","type":"string"}]"#);
shape!(CountWide { id: i64, count: i64, name: String }
    r#"[{"name":"id","type":"long"},{"name":"count","type":"long"},{"name":"name","type":"string"}]"#);
shape!(CountReal { id: i64, count: f64, name: String }
    r#"[{"name":"id","type":"long"},{"name":"count","type":"double"},{"name":"name","type":"string"}]"#);
shape!(WidthHeight { id: i64, width: i32, height: i32, name: String }
    r#"[{"name":"id","type":"long"},{"name":"width","type":"int"},{"name":"height","type":"int"},
       {"name":"name","type":"string"}]"#);
shape!(HeightWidth { id: i64, height: i32, width: i32, name: String }
    r#"[{"name":"id","type":"long"},{"name":"height","type":"int"},{"name":"width","type":"int"},
       {"name":"name","type":"string"}]"#);
shape!(NoteOptional { id: i64, note: Option<String>, name: String }
    r#"[{"name":"id","type":"long"},{"name":"note","type":["null","string"],"default":null},
       {"name":"name","type":"string"}]"#);
shape!(NoteRequired { id: i64, note: String, name: String }
    r#"[{"name":"id","type":"long"},{"name":"note","type":"string"},{"name":"name","type":"string"}]"#);
shape!(OfKind { id: i64, kind: Kind, name: String }
    r#"[{"name":"id","type":"long"},{"name":"kind","type":{"type":"enum","name":"Kind","symbols":["Lamp","Desk"]}},
       {"name":"name","type":"string"}]"#);
shape!(OfKindMore { id: i64, kind: KindMore, name: String }
    r#"[{"name":"id","type":"long"},
       {"name":"kind","type":{"type":"enum","name":"Kind","symbols":["Lamp","Desk","Chair"]}},
          {"name":"name","type":"string"}]"#);
