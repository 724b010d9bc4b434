//! Builders and Zeek's messages write the original's bytes.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, clippy::disallowed_methods)]

mod support;

use rawline_value::zeek::{self, Message};
use rawline_value::{
    Decoder, EnumName, Field, Limits, ListBuilder, SetBuilder, Step, TableBuilder, TimestampNs, Value, ValueError,
    Variant,
};
use support::value_bytes;

fn decode<'a>(decoder: &'a mut Decoder, bytes: &'a [u8]) -> Variant<'a> {
    decoder.decode(bytes).unwrap()
}

#[test]
#[cfg_attr(miri, ignore = "reading the vectors takes Miri hours")]
fn builders_write_the_originals_bytes() {
    let mut out = Vec::new();
    let mut event = ListBuilder::new(&mut out);
    event.add(1u64).add(1u64);
    let mut content = event.list();
    content.add("event_1");
    content.list().add(42).add("test");
    drop(content);
    assert_eq!((event.len(), event.is_empty()), (3, false));
    drop(event);
    assert_eq!(out, value_bytes("event_1"));
    out.clear();
    TableBuilder::new(&mut out).add("first-name", "John").add("last-name", "Doe");
    assert_eq!(out, value_bytes("table_1"));
}

#[test]
fn containers_past_127_elements_get_a_longer_size() {
    for count in [0u64, 127, 128, 16383, 16384] {
        let mut out = vec![7];
        let mut outer = TableBuilder::new(&mut out);
        let mut inner = outer.list("many");
        for number in 0..count {
            inner.add(number);
        }
        drop(inner);
        outer.set("none");
        drop(outer);
        let many = (0..count).map(Value::Count).collect::<Vec<_>>().into();
        let table = [("many".into(), many), ("none".into(), Value::Set(Default::default()))].into_iter().collect();
        assert_eq!(out[1..], Value::Table(table).encode(), "{count}");
    }
}

#[test]
fn canonical_sorts_and_refuses_twins() {
    let mut out = Vec::new();
    let mut set = SetBuilder::new(&mut out);
    set.add("b").add(7u8).add("a");
    set.list().add(1);
    set.canonical().unwrap();
    let value = Value::decode(&out, &Limits::default()).unwrap();
    assert_eq!(value.encode(), out);
    out.clear();
    let mut table = TableBuilder::new(&mut out);
    table.add("b", ()).add("a", true);
    table.canonical().unwrap();
    assert!(out.ends_with(&[0x0d, 2, 5, 1, b'a', 1, 1, 5, 1, b'b', 0]));
    out.clear();
    let mut set = SetBuilder::new(&mut out);
    set.add(0.0).add(-0.0);
    assert_eq!(set.canonical(), Err(ValueError::NotUnique { position: 0 }));
    assert_eq!(Value::decode(&out, &Limits::default()), Err(ValueError::NotUnique { position: 0 }));
}

#[test]
#[cfg_attr(miri, ignore = "reading the vectors takes Miri hours")]
fn a_value_in_a_value_is_sent_on_alone() {
    let bytes = value_bytes("event_1");
    let mut decoder = Decoder::default();
    let content = decode(&mut decoder, &bytes).to_list().at(2);
    let envelope = Decoder::default().envelope(b"/content", content.bytes()).unwrap();
    assert_eq!(envelope.value(), content);
    assert_eq!(envelope.value().to_list().at(0).as_str(), Some("event_1"));
    let elsewhere = std::thread::spawn({
        let envelope = envelope.clone();
        move || envelope.value().to_list().at(1).to_list().at(0).to_integer(0)
    });
    assert_eq!(elsewhere.join().unwrap(), 42);
}

#[test]
#[cfg_attr(miri, ignore = "reading the vectors takes Miri hours")]
fn accessors_turn_no_type_into_another() {
    let bytes = value_bytes("vector_one_of_everything");
    let mut decoder = Decoder::default();
    let list = decode(&mut decoder, &bytes).to_list();
    for value in list.iter() {
        let answers = [
            value.as_boolean().is_some(),
            value.as_count().is_some(),
            value.as_integer().is_some(),
            value.as_real().is_some(),
            value.as_string().is_some(),
            value.as_address().is_some(),
            value.as_subnet().is_some(),
            value.as_port().is_some(),
            value.as_timestamp().is_some(),
            value.as_timespan().is_some(),
            value.as_enum().is_some(),
            value.as_set().is_some(),
            value.as_table().is_some(),
            value.as_list().is_some(),
        ];
        let answered: Vec<usize> = (1..).zip(answers).filter(|(_, is)| *is).map(|(tag, _)| tag).collect();
        let tag = value.kind() as usize;
        assert_eq!(answered, if tag == 0 { vec![] } else { vec![tag] });
    }
    assert_eq!(list.at(99).to_count(5), 5);
}

#[test]
#[cfg_attr(miri, ignore = "reading the vectors takes Miri hours")]
fn zeeks_messages_are_read_and_written() {
    let mut decoder = Decoder::default();
    for vector in support::vectors("values") {
        let name = vector["name"].as_str().unwrap().to_owned();
        let bytes = support::hex(&vector, "hex").unwrap();
        let value = decode(&mut decoder, &bytes);
        let message = Message::read(&value);
        let is_message = name.starts_with("zeek_") || name == "event_1" || name == "event_1_via_builder";
        assert_eq!(message.is_some(), is_message, "{name}");
        let mut out = Vec::new();
        match message {
            Some(Message::LogCreate(log)) => {
                let (stream, writer) = (text(log.stream), text(log.writer));
                zeek::put_log_create(&mut out, EnumName(stream), EnumName(writer), log.writer_info, log.fields);
            }
            Some(Message::LogWrite(log)) => {
                let (stream, writer) = (text(log.stream), text(log.writer));
                zeek::put_log_write(&mut out, EnumName(stream), EnumName(writer), text(log.path), log.serial_data);
            }
            Some(Message::IdentifierUpdate(update)) => {
                zeek::put_identifier_update(&mut out, text(update.name), update.value);
            }
            Some(Message::Event(event)) if event.metadata.is_none_or(|data| data.len() == 1) => {
                let time = event.network_timestamp().map(TimestampNs);
                zeek::put_event(&mut out, text(event.name), time, |arguments| {
                    for argument in event.arguments.iter() {
                        arguments.add(argument);
                    }
                });
            }
            Some(Message::Batch(batch)) => {
                assert!(!batch.is_empty());
                let members = value.to_list().at(2).to_list();
                zeek::put_batch(&mut out, |messages| {
                    for member in members.iter() {
                        messages.add(member);
                    }
                });
            }
            _ => continue,
        }
        if name != "zeek_event_user_metadata" {
            assert_eq!(out, bytes, "{name}");
        }
    }
}

#[test]
fn what_is_no_message_is_refused() {
    let mut decoder = Decoder::default();
    let mut is_message = |write: &dyn Fn(&mut ListBuilder<'_>)| {
        let mut out = Vec::new();
        write(&mut ListBuilder::new(&mut out));
        Message::read(&decode(&mut decoder, &out)).is_some()
    };
    assert!(!is_message(&|outer| drop(outer.add(1u64).add(0u64).list())));
    assert!(!is_message(&|outer| drop(outer.add(1u64).add(6u64).list())));
    assert!(!is_message(&|outer| {
        outer.add(1u64).add(1u64);
    }));
    assert!(is_message(&|outer| drop(outer.add(1u64).add(5u64).list())));
    assert!(!is_message(&|outer| {
        outer.add(1u64).add(5u64).list().add(7);
    }));
    assert!(!is_message(&|outer| drop(outer.add(2u64).add(5u64).list())));
    // The network's timestamp is one.
    assert!(!is_message(&|outer| {
        let mut content = outer.add(1u64).add(1u64).list();
        content.add("name").list();
        content.list().list().add(1u64).add(5u64);
    }));
    let mut out = Vec::new();
    zeek::put_batch(&mut out, |messages| {
        messages.add(zeek::message(|out| zeek::put_identifier_update(out, "x", 1)));
    });
    assert!(Message::read(&decode(&mut decoder, &out)).is_some());
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn a_field_is_found_wherever_the_next_table_has_it() {
    let table = |names: &[&str]| {
        let mut out = Vec::new();
        let mut table = TableBuilder::new(&mut out);
        for name in names {
            table.add(*name, name.len() as u64);
        }
        drop(table);
        out
    };
    let fields = ["b", "bbb", "dd"].map(Field::new);
    let mut decoder = Decoder::default();
    for names in
        [&["a", "b", "bbb", "dd"][..], &["a", "b", "bbb", "dd"], &["bbb", "dd"], &["b"], &[], &["a", "b", "c", "dd"]]
    {
        let bytes = table(names);
        let view = decoder.decode(&bytes).unwrap().to_table();
        for (field, name) in fields.iter().zip(["b", "bbb", "dd"]) {
            let expected = names.contains(&name).then_some(name.len() as u64);
            assert_eq!(view.get_field(field).and_then(|value| value.as_count()), expected, "{name} in {names:?}");
        }
    }
}

#[test]
fn tables_are_read_in_any_order_whatever_was_read_before() {
    let table = |keys: &[u64]| {
        let mut out = Vec::new();
        let mut table = TableBuilder::new(&mut out);
        for key in keys {
            table.add(*key, key * 10);
        }
        drop(table);
        out
    };
    let down = |count: u64| (0..count).rev().collect::<Vec<_>>();
    let (longest, longer) = (down(256), down(257));
    let twins = [&[7][..], &down(8)].concat();
    let mut decoder = Decoder::default();
    for keys in [
        &[2, 3, 1][..],
        &[5, 9, 4],
        &[1, 2, 3],
        &[3, 2, 1],
        &[2, 3, 1],
        &[2, 2, 1],
        &[2, 3, 2],
        &[2, 3, 1],
        &down(11),
        &[3, 2, 1],
        &longest,
        &longer,
        &longest,
        &twins,
        &down(9),
    ] {
        let bytes = table(keys);
        let tree = Value::decode(&bytes, &Limits::default());
        assert_eq!(decoder.decode(&bytes).map(|view| view.to_value()), tree, "{keys:?}");
        let unique = keys.iter().collect::<std::collections::BTreeSet<_>>().len() == keys.len();
        assert_eq!(tree.is_ok(), unique, "{keys:?}");
    }
}

#[test]
fn a_pick_does_not_read_past_what_it_returns() {
    let mut bytes = Vec::new();
    let mut table = TableBuilder::new(&mut bytes);
    table.add("host", "a");
    table.list("path").add(1u64).add("two");
    table.add("zone", "last");
    drop(table);
    let cut = bytes.len() - "last".len();
    let mut decoder = Decoder::default();
    let second = [Step::Key("path"), Step::Index(1)];
    assert_eq!(decoder.pick(&bytes[..cut], &second).unwrap().unwrap().as_str(), Some("two"));
    assert_eq!(decoder.decode(&bytes[..cut]), Err(ValueError::Truncated { position: cut }));
    assert_eq!(decoder.pick(&bytes[..cut], &["zone".into()]), Err(ValueError::Truncated { position: cut }));
    let path = decoder.pick(&bytes[..cut], &["path".into()]).unwrap().unwrap();
    assert_eq!(path.to_value(), Value::Vector(vec![Value::Count(1), "two".into()]));
    // A truncated value ends after its tag, as in the whole.
    for end in [4, 5, 10] {
        let counts = [0x0e, 2, 2, 0, 0, 0, 0, 0, 0, 0];
        let cut = &counts[..end];
        let picked = decoder.pick(cut, &[1.into()]).map(drop);
        assert_eq!(picked.unwrap_err(), Decoder::default().decode(cut).map(drop).unwrap_err());
    }
    // The part before is checked, and the error has the position in the whole.
    let set_at = bytes.windows(4).position(|window| window == b"path").unwrap() + 4;
    bytes[set_at..set_at + 2].copy_from_slice(&[0x0f, 0]);
    assert_eq!(decoder.pick(&bytes, &second), Err(ValueError::Tag { position: set_at, found: 0x0f }));
}
