//! One allocation an envelope, none for a view or for builders whose buffer has grown.

#![allow(clippy::unwrap_used)]

use rawline_testkit::allocator::{Counting, allocations_of};
use rawline_value::json::{hinted, plain};
use rawline_value::{Decoder, Limits, ListBuilder, TableBuilder, Value};

#[global_allocator]
static COUNTING: Counting = Counting;

fn count<T>(run: impl FnOnce() -> T) -> u64 {
    allocations_of(|| drop(run())).1
}

fn build(out: &mut Vec<u8>) {
    out.clear();
    let mut event = ListBuilder::new(out);
    event.add(1u64).add(1u64);
    let mut content = event.list();
    content.add("event_1");
    content.list().add(42).add("a text of more than twenty-two bytes");
}

#[test]
fn one_an_envelope_none_for_views_and_builders() {
    let mut out = Vec::new();
    assert!(count(|| build(&mut out)) > 0);
    assert_eq!(count(|| build(&mut out)), 0);
    let mut decoder = Decoder::default();
    decoder.envelope(b"/topic", &out).unwrap();
    assert_eq!(count(|| decoder.decode(&out).unwrap().to_list().len()), 0);
    assert_eq!(count(|| decoder.envelope(b"/topic", &out).unwrap()), 1);
    let envelope = decoder.envelope(b"/topic", &out).unwrap();
    assert_eq!(count(|| envelope.clone()), 0);
    let value = Value::decode(&out, &Limits::default()).unwrap();
    // Three vectors and the string that is too long to be kept inline.
    assert_eq!(count(|| Value::decode(&out, &Limits::default()).unwrap()), 4);
    assert_eq!(
        count(|| value.encode_into({
            out.clear();
            &mut out
        })),
        0
    );
}

#[test]
fn none_for_a_table_in_the_order_of_the_table_before() {
    let mut bytes = Vec::new();
    TableBuilder::new(&mut bytes).add("time", 1).add("host", 2).add("level", 3);
    let mut decoder = Decoder::default();
    decoder.decode(&bytes).unwrap();
    assert_eq!(count(|| decoder.decode(&bytes).unwrap().to_table().len()), 0);
}

#[test]
fn none_for_json_of_an_object_like_the_one_before() {
    let json = concat!(
        r#"{"ts":1521911720.600725,"host":"10.0.0.1","port":53,"proto":"udp","rtt":0.25,"#,
        r#""tags":["b","a"],"n":1,"at":"2018-03-24T17:15:20.865716Z"}"#
    )
    .as_bytes();
    let fields = ["ts=timestamp", "host=address", "port=port@proto", "rtt=timespan", "tags=set", "at=timestamp"];
    let mut reader = hinted::Reader::new(fields.iter().map(|field| field.parse().unwrap()).collect());
    // Without the port's protocol and the set, it is read in one pass.
    let common = ["ts=timestamp", "host=address", "rtt=timespan", "at=timestamp"];
    let mut common = hinted::Reader::new(common.iter().map(|field| field.parse().unwrap()).collect());
    let (mut decoder, mut writer) = (Decoder::default(), plain::Writer::default());
    let (mut value, mut text) = (Vec::new(), Vec::new());
    let mut convert = || {
        value.clear();
        plain::read_with_decoder(json, &mut decoder, &mut value).unwrap();
        value.clear();
        common.read(json, &mut value).unwrap();
        value.clear();
        reader.read(json, &mut value).unwrap();
        text.clear();
        writer.append(&value, &mut text).unwrap();
        writer.append_checked(&value, &mut text).unwrap();
    };
    convert();
    assert_eq!(count(convert), 0);
}
