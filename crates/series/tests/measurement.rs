//! Measurements to columns: the same rows as the forward reader's, whatever the bytes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)] // A test.

mod encoded;

use std::sync::Arc;

use encoded::{identity, long, string};
use rawline_avro::{Counts, Cursor, FAULTS_MAX, Fault, FaultKind, WriterId};
use rawline_series::{Columns, FieldType, MeasurementDecoder, SeriesLimits, SeriesTable, Shape, ValueType};

const SEED: u64 = 7;
const LONGS: Shape = Shape { frame: WriterId::Known, value: ValueType::Long };
/// The message of the article: metric.name, five tags, 1600000000000, 1.
const ARTICLE: &[u8] = b"\x16metric.name\x0a\x08tag1\x0cvalue1\x08tag4\x0cvalue4\x08tag5\x0cvalue5\x08tag2\x0cvalue2\
    \x08tag3\x0cvalue3\0\x80\x80\xf4\xf6\x90\x5d\x02";

fn decoder(shape: Shape) -> MeasurementDecoder {
    MeasurementDecoder::new(
        shape,
        Arc::new(SeriesTable::new(SeriesLimits::for_series(if cfg!(miri) { 50 } else { 10_000 }), SEED).unwrap()),
    )
}

fn message(tags: &[(&str, &str)], time: i64, value: &[u8]) -> Vec<u8> {
    [identity("metric.name", tags), long(time), value.to_vec()].concat()
}

#[test]
fn the_articles_message() {
    let mut decoder = decoder(LONGS);
    let mut out = Columns::default();
    let counts = decoder.decode([ARTICLE; 100], &mut out);
    assert_eq!(counts, Counts { messages: 100, rows: 100, dropped: 0, faulty: 0 });
    assert_eq!(out, Columns { series: vec![0; 100], time_ms: vec![1_600_000_000_000; 100], value: vec![1.0; 100] });
    let series = decoder.table().get(0).unwrap();
    assert_eq!(series.metric(), "metric.name");
    assert_eq!(
        series.tags().collect::<Vec<_>>(),
        [("tag1", "value1"), ("tag2", "value2"), ("tag3", "value3"), ("tag4", "value4"), ("tag5", "value5")]
    );
}

#[test]
#[cfg_attr(miri, ignore)] // Too slow there, and no other memory is touched.
fn every_length_of_time_and_value() {
    let mut numbers = vec![0];
    for bit in 0..63 {
        numbers.extend([(1 << bit) - 1, 1 << bit, -(1 << bit), -(1 << bit) - 1]);
    }
    numbers.extend([i64::MAX, i64::MIN]);
    let mut messages = Vec::new();
    let mut expected = Columns::default();
    for time in &numbers {
        for value in &numbers {
            // Short identities too: the whole message may be shorter than what is read at once.
            let tags: &[(&str, &str)] = if (time ^ value) & 1 == 0 { &[] } else { &[("server", "sgp-1234")] };
            messages.push([identity("", tags), long(*time), long(*value)].concat());
            expected.series.push(u32::from(!tags.is_empty()));
            expected.time_ms.push(*time);
            expected.value.push(*value as f64);
        }
    }
    let mut decoder = decoder(LONGS);
    for _ in 0..2 {
        let mut out = Columns::default();
        let counts = decoder.decode(messages.iter().map(Vec::as_slice), &mut out);
        assert_eq!(counts.rows, messages.len() as u64);
        assert!(out == expected);
    }
}

#[test]
fn each_type_of_value() {
    let float = 1.5_f32.to_le_bytes();
    let double = (-2.5e300_f64).to_le_bytes();
    let all: [(ValueType, Vec<u8>, f64); 5] = [
        (ValueType::Int, long(i64::from(i32::MIN)), f64::from(i32::MIN)),
        (ValueType::Long, long(1 << 50), (1_i64 << 50) as f64),
        (ValueType::Float, float.to_vec(), 1.5),
        (ValueType::Double, double.to_vec(), -2.5e300),
        // The high bits set: still not part of the time.
        (ValueType::Float, (-f32::MAX).to_le_bytes().to_vec(), f64::from(-f32::MAX)),
    ];
    for (value, bytes, expected) in all {
        let mut decoder = decoder(Shape { frame: WriterId::Known, value });
        let mut out = Columns::default();
        let messages: Vec<_> = (0..5).map(|time| message(&[("a", "b")], time - 2, &bytes)).collect();
        let counts = decoder.decode(messages.iter().map(Vec::as_slice), &mut out);
        assert_eq!((counts.rows, decoder.faults()), (5, &[][..]), "{value:?}");
        assert_eq!((out.time_ms, out.value), (vec![-2, -1, 0, 1, 2], vec![expected; 5]), "{value:?}");
    }
    let mut ints = decoder(Shape { frame: WriterId::Known, value: ValueType::Int });
    let long = message(&[("a", "b")], 0, &long(1 << 31));
    assert_eq!(ints.decode([long.as_slice(); 2], &mut Columns::default()).faulty, 2);
    assert_eq!((ints.faults()[1].field, ints.faults()[1].fault.kind), ("value", FaultKind::IntegerTooLong));
}

#[test]
fn frames_are_checked() {
    let body = message(&[("a", "b")], 5, &long(6));
    let registry = [&[0, 0, 0, 1, 2][..], &body].concat();
    let single = [&[0xc3, 0x01, 8, 7, 6, 5, 4, 3, 2, 1][..], &body].concat();
    let frames = [WriterId::Known, WriterId::Number(0x102), WriterId::Fingerprint(0x0102_0304_0506_0708)];
    for (at, frame) in frames.into_iter().enumerate() {
        let mut decoder = decoder(Shape { frame, value: ValueType::Long });
        for _ in 0..2 {
            let all = [body.as_slice(), &registry, &single, &[]];
            let mut out = Columns::default();
            let counts = decoder.decode(all, &mut out);
            assert_eq!((counts.rows, counts.faulty, out.time_ms.as_slice()), (1, 3, &[5][..]));
            assert!(decoder.faults().iter().all(|fault| fault.number != at as u64));
            if frame != WriterId::Known {
                assert!(decoder.faults().iter().all(|fault| fault.fault.kind == FaultKind::Frame));
            }
        }
    }
}

#[test]
fn bad_messages_are_counted_and_named_and_stop_nothing() {
    let mut decoder = decoder(LONGS);
    let good = message(&[("a", "b")], 5, &long(6));
    let remainder = [good.clone(), vec![0]].concat();
    let endless = [identity("metric.name", &[("a", "b")]), vec![0xff; 20]].concat();
    let no_value = &good[..good.len() - 1];
    let all = [&good[..], &remainder, &endless, no_value, &good, &[]];
    for _ in 0..3 {
        let mut out = Columns::default();
        let counts = decoder.decode(all, &mut out);
        assert_eq!(counts, Counts { messages: 6, rows: 2, dropped: 0, faulty: 4 });
        let found: Vec<_> = decoder.faults().iter().map(|f| (f.number, f.field, f.fault.kind)).collect();
        assert_eq!(
            found,
            [
                (1, "end", FaultKind::Remainder),
                (2, "time", FaultKind::IntegerTooLong),
                (3, "value", FaultKind::Truncated),
                (5, "metric", FaultKind::Truncated)
            ]
        );
        assert_eq!(
            decoder.faults()[1].to_string(),
            "message 2, field time: at byte 18: its integer is longer than its type allows: the message was \
             written with another schema"
        );
    }
    let counts = decoder.decode([&[][..]; 1000], &mut Columns::default());
    assert_eq!((counts.faulty, decoder.faults().len()), (1000, FAULTS_MAX));
    assert_eq!(decoder.table().len(), 1);
}

#[test]
fn messages_without_room_are_counted_as_dropped() {
    let table = Arc::new(SeriesTable::new(SeriesLimits::for_series(10), SEED).unwrap());
    let mut decoder = MeasurementDecoder::new(LONGS, table);
    let messages: Vec<_> = (0..100).map(|n| message(&[("n", &n.to_string())], n, &long(n))).collect();
    for _ in 0..2 {
        let mut out = Columns::default();
        let counts = decoder.decode(messages.iter().map(Vec::as_slice), &mut out);
        assert_eq!(counts, Counts { messages: 100, rows: 10, dropped: 90, faulty: 0 });
        assert_eq!(out.series, (0..10).collect::<Vec<_>>());
    }
}

#[test]
#[cfg_attr(miri, ignore)] // Too slow there, and no other memory is touched.
fn schemas_of_another_shape_are_refused() {
    use FieldType::{Double, Int, Long, Other, String, StringMap};
    let of = |types: &[FieldType]| {
        let names = ["m", "t", "when", "what", "more"];
        let fields: Vec<_> = names.into_iter().zip(types.iter().copied()).collect();
        Shape::of(WriterId::Known, &fields)
    };
    assert_eq!(of(&[String, StringMap, Long, Double]).unwrap().value, ValueType::Double);
    assert_eq!(of(&[String, StringMap, Long, Int]).unwrap().value, ValueType::Int);
    for types in [
        &[String, StringMap, Long][..],
        &[String, StringMap, Long, Long, Long],
        &[StringMap, String, Long, Long],
        &[String, StringMap, Int, Long],
        &[String, StringMap, Long, Other],
    ] {
        assert!(of(types).is_err());
    }
    let error = of(&[String, StringMap, Int, Long]).unwrap_err().to_string();
    assert!(error.contains(r#"field 3 ("when") cannot be the time: its type is Int"#), "{error}");
}

/// The plain way: every field in its turn, the tags as a sorted map.
fn read_plainly(message: &[u8], value: ValueType) -> Result<(String, i64, f64), Fault> {
    let mut cursor = Cursor::new(message);
    let metric = cursor.string()?;
    let mut tags = std::collections::BTreeMap::new();
    loop {
        let (count, size) = cursor.block()?;
        let begin = cursor.position();
        if count == 0 {
            break;
        }
        for _ in 0..count {
            let key = cursor.string()?;
            tags.insert(key, cursor.string()?);
        }
        if size.is_some_and(|size| cursor.position() - begin != size) {
            return Err(cursor.fault(FaultKind::Length));
        }
    }
    let time = cursor.long()?;
    let value = match value {
        ValueType::Int => f64::from(cursor.int()?),
        ValueType::Long => cursor.long()? as f64,
        ValueType::Float => f64::from(cursor.float()?),
        ValueType::Double => cursor.double()?,
    };
    cursor.finish()?;
    Ok((format!("{metric:?} {tags:?}"), time, value))
}

/// Messages damaged in every way are decoded among good ones, so that their identities are known: the fast way and the
/// plain one must agree on which are good and on what they say.
#[test]
#[cfg_attr(miri, ignore)] // Too slow there; the tests above take the same ways through memory.
fn damaged_messages_read_as_the_plain_way_reads_them() {
    let mut random = fastrand::Rng::with_seed(SEED);
    for value in [ValueType::Int, ValueType::Long, ValueType::Float, ValueType::Double] {
        let table = SeriesTable::new(SeriesLimits::for_series(50_000), SEED).unwrap();
        let mut decoder = MeasurementDecoder::new(Shape { frame: WriterId::Known, value }, Arc::new(table));
        let identities: Vec<_> = (0..100).map(|_| random_identity(&mut random)).collect();
        let (mut good, mut bad) = (0, 0);
        for _ in 0..400 {
            let messages: Vec<Vec<u8>> = (0..100)
                .map(|_| {
                    let mut message = identities[random.usize(..100)].clone();
                    append_tail(&mut message, &mut random, value);
                    if random.bool() {
                        damage(&mut message, &mut random);
                    }
                    message
                })
                .collect();
            let mut out = Columns::default();
            let counts = decoder.decode(messages.iter().map(Vec::as_slice), &mut out);
            let plain: Vec<_> = messages.iter().filter_map(|message| read_plainly(message, value).ok()).collect();
            assert_eq!((counts.rows, counts.dropped), (plain.len() as u64, 0));
            assert_eq!(counts.faulty, 100 - counts.rows);
            for (row, (series, time, number)) in plain.iter().enumerate() {
                let found = decoder.table().get(out.series[row]).unwrap();
                let tags: std::collections::BTreeMap<_, _> = found.tags().collect();
                assert_eq!(*series, format!("{:?} {tags:?}", found.metric()));
                assert_eq!((*time, number.to_bits()), (out.time_ms[row], out.value[row].to_bits()));
            }
            good += counts.rows;
            bad += counts.faulty;
        }
        assert!(good > bad && bad > 0, "{good} good, {bad} bad");
    }
}

fn random_identity(random: &mut fastrand::Rng) -> Vec<u8> {
    let words = ["", "a", "b", "zone", "\u{80}", "server-17", "ü"];
    let mut message = string(words[random.usize(..words.len())]);
    for _ in 0..random.usize(..3) {
        let count = random.usize(1..4);
        let mut tags = Vec::new();
        for _ in 0..count {
            tags.extend(string(words[random.usize(..words.len())]));
            tags.extend(string(words[random.usize(..words.len())]));
        }
        if random.bool() {
            message.extend(long(count as i64));
        } else {
            message.extend(long(-(count as i64)));
            message.extend(long(tags.len() as i64));
        }
        message.extend(tags);
    }
    message.push(0);
    message
}

fn append_tail(message: &mut Vec<u8>, random: &mut fastrand::Rng, value: ValueType) {
    message.extend(long(random.i64(..) >> random.u32(..64)));
    match value {
        ValueType::Int => message.extend(long(i64::from(random.i32(..) >> random.u32(..32)))),
        ValueType::Long => message.extend(long(random.i64(..) >> random.u32(..64))),
        ValueType::Float => message.extend((random.f32() - 0.5).to_le_bytes()),
        ValueType::Double => message.extend((random.f64() - 0.5).to_le_bytes()),
    }
}

fn damage(message: &mut Vec<u8>, random: &mut fastrand::Rng) {
    let at = random.usize(..message.len());
    match random.u8(..6) {
        0 => message.truncate(at),
        1 => message[at] ^= 1 << random.u8(..8),
        2 => message.insert(at, random.u8(..)),
        3 => drop(message.remove(at)),
        4 => message.push(random.u8(..)),
        // The tail's integers grow: the high bit of one of the last bytes is set.
        _ => {
            let last = message.len() - 1 - random.usize(..message.len().min(12));
            message[last] |= 0x80;
        }
    }
}
