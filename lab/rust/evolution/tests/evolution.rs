//! Every change, in both directions, in every format that Rust reads here.

use lab_evolution::formats::*;
use lab_evolution::outcome::{NEW_TO_OLD, OLD_TO_NEW, Outcomes};
use lab_evolution::shapes::*;

/// A format's note on a change, for the table: by change, or by change and direction.
type Note = (&'static str, &'static str);

fn all_changes<F: Format>(notes: &[Note]) {
    let mut outcomes = Outcomes::new();
    let (id, name) = (7, "lamp".to_owned());
    let note = |change: &str, direction: &str| {
        let exact = format!("{change}, {direction}");
        let found = |of: &str| notes.iter().find(|(about, _)| *about == of).map(|(_, note)| *note);
        found(&exact).or_else(|| found(change)).unwrap_or_default()
    };
    // One change: its two shapes, a message of each.
    macro_rules! change {
        ($change:literal, $old:ident $old_message:tt, $new:ident $new_message:tt) => {
            change!($change, $old $old_message, $new $new_message, None, None)
        };
        ($change:literal, $old:ident $old_message:tt, $new:ident $new_message:tt, $to_new:expr, $to_old:expr) => {{
            let (id, name) = (id, name.clone());
            let old = message!($old $old_message id name);
            let new = message!($new $new_message id name);
            outcomes.add::<F, $old, $new>($change, OLD_TO_NEW, &old, $to_new, note($change, OLD_TO_NEW));
            outcomes.add::<F, $new, $old>($change, NEW_TO_OLD, &new, $to_old, note($change, NEW_TO_OLD));
        }};
    }
    macro_rules! message {
        ($shape:ident { $($field:ident: $value:expr),* } $id:ident $name:ident) => {
            $shape { id: $id, name: $name.clone(), $($field: $value),* }
        };
    }
    let renamed = (Some(("quantity", "count")), Some(("count", "quantity")));
    let kept = Some("by the door".to_owned());
    change!("field added, with a default", Plain {}, WithDefault { grade: 9 });
    change!("field added, without a default", Plain {}, WithRequired { grade: 9 });
    change!("field removed", Count { count: 1234 }, Plain {});
    change!("field renamed", Count { count: 1234 }, Quantity { quantity: 1234 }, renamed.0, renamed.1);
    change!("i32 widened to i64", Count { count: -1234 }, CountWide { count: -1234 });
    change!("i64 changed to f64", CountWide { count: 1234 }, CountReal { count: 12.5 });
    change!("fields reordered", WidthHeight { width: 30, height: 40 }, HeightWidth { height: 40, width: 30 });
    change!("optional made required", NoteOptional { note: None }, NoteRequired { note: "by the door".to_owned() });
    change!("enum symbol added", OfKind { kind: Kind::Desk }, OfKindMore { kind: KindMore::Chair });
    let beyond = "i32 widened to i64, value beyond i32";
    let wide = CountWide { id, name: name.clone(), count: 5_000_000_000 };
    outcomes.add::<F, CountWide, Count>(beyond, NEW_TO_OLD, &wide, None, note(beyond, NEW_TO_OLD));
    // A present optional field isn't a separate outcome, but must not be lost.
    let there = NoteOptional { id, name, note: kept };
    let bytes = F::write(&there).unwrap();
    assert_eq!(F::read::<NoteOptional, NoteOptional>(&bytes).unwrap().note, there.note);
    outcomes.check();
}

/// For formats with field names, read by serde.
const BY_NAME: &[Note] = &[
    ("field added, with a default, old bytes, new schema", "the default is in the reader's code"),
    ("field removed, new bytes, old schema", "unless the old reader has a default for it"),
    ("field renamed", "unless the reader has the other name as an alias"),
    ("enum symbol added, new bytes, old schema", "unless the reader has a catch-all symbol"),
];

/// For formats with fields by position in a list of known length, read by serde.
const BY_INDEX: &[Note] = &[
    ("field added, with a default, old bytes, new schema", "at the end; the default is in the reader's code"),
    ("field added, with a default, new bytes, old schema", "at the end"),
    ("field added, without a default, new bytes, old schema", "at the end"),
    ("field removed", "what follows is read in its place"),
    ("field renamed", "names are not in the bytes"),
    ("fields reordered", "two numbers that swap positions go unnoticed"),
    ("enum symbol added, new bytes, old schema", "unless the reader has a catch-all symbol"),
];

/// For formats whose bytes are only the concatenated values.
const BY_ORDER: &[Note] = &[
    ("field added, with a default, old bytes, new schema", "the bytes end too soon"),
    ("field added, with a default, new bytes, old schema", "at the end of the message, where the rest is ignored"),
    ("field added, without a default, old bytes, new schema", "the bytes end too soon"),
    ("field added, without a default, new bytes, old schema", "at the end of the message, where the rest is ignored"),
    ("field removed", "what follows is read in its place"),
    ("field renamed", "names are not in the bytes"),
    ("i32 widened to i64", "integers are as long as their value"),
    ("i64 changed to f64", "bytes of one are read as the other"),
    ("fields reordered", "two numbers that swap positions go unnoticed"),
    ("optional made required, old bytes, new schema", "the absence marker is read as an empty string"),
];

#[test]
fn json() {
    all_changes::<Json>(BY_NAME);
}

#[test]
fn msgpack() {
    all_changes::<Msgpack>(BY_NAME);
}

#[test]
fn msgpack_array() {
    all_changes::<MsgpackArray>(BY_INDEX);
}

#[test]
fn cbor() {
    let whole = ("i64 changed to f64, old bytes, new schema", "this library reads no integer as a float; others do");
    all_changes::<Cbor>(&[BY_NAME, &[whole]].concat());
}

#[test]
fn postcard() {
    all_changes::<Postcard>(BY_ORDER);
}

#[test]
fn bincode() {
    all_changes::<Bincode>(BY_ORDER);
}

#[test]
fn rkyv() {
    let memory = "the bytes are the struct's memory";
    all_changes::<Rkyv>(&[
        ("field added, with a default", memory),
        ("field added, without a default", memory),
        ("field removed", memory),
        ("field renamed", "names are not in the bytes"),
        ("i32 widened to i64", memory),
        ("i32 widened to i64, value beyond i32", memory),
        ("i64 changed to f64", memory),
        ("fields reordered", "two numbers that swap positions go unnoticed"),
        ("optional made required", memory),
    ]);
}

#[test]
fn values() {
    all_changes::<Values>(BY_NAME);
}

#[test]
fn values_list() {
    all_changes::<ValuesList>(BY_INDEX);
}

#[test]
fn avro() {
    // The notes are fastavro's.
    all_changes::<Avro>(&[]);
}
