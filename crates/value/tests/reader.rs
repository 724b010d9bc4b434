//! Values are taken off the bytes one by one, a table's fields in whichever order they come.

#![allow(clippy::unwrap_used)]

use rawline_value::{Fields, Kind, Limits, ListBuilder, TableBuilder, Value, ValueError, ValueReader};

const NAMES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

/// The numbers of the fields, and their values.
fn fields(bytes: &[u8], names: &Fields<'_, 8>) -> Result<Vec<(usize, u64)>, ValueError> {
    let mut reader = ValueReader::new(bytes, &Limits::default())?;
    let mut pairs = reader.table()?;
    let mut found = Vec::new();
    while let Some(number) = pairs.field(&mut reader, names)? {
        found.push((number, reader.count()?));
    }
    assert_eq!(pairs.left(), 0);
    reader.finish().map(|()| found)
}

#[test]
fn fields_are_found_in_any_order() {
    let names = Fields::new(NAMES);
    let backwards = "hgfedcba";
    // An order is met, met again, and left for another; fields are left out.
    for order in ["abcdefgh", "abdefh", backwards, backwards, "hfa", "aceg", backwards, "", "badcfehg", "abcdefgh", "h"]
    {
        let expected: Vec<(usize, u64)> =
            order.bytes().map(|letter| (usize::from(letter - b'a'), u64::from(letter))).collect();
        let mut bytes = Vec::new();
        let mut table = TableBuilder::new(&mut bytes);
        for letter in order.chars() {
            table.add(letter.to_string().as_str(), u64::from(letter));
        }
        drop(table);
        assert_eq!(fields(&bytes, &names), Ok(expected), "{order}");
    }
}

#[test]
fn unrequested_parts_are_skipped() {
    let mut bytes = Vec::new();
    let mut table = TableBuilder::new(&mut bytes);
    table.add(7u64, "a key that is no string").add("new", Value::Vector(vec![1u64.into(), "x".into()]));
    table.add("b", 2u64).add("last", ());
    drop(table);
    assert_eq!(fields(&bytes, &Fields::new(NAMES)), Ok(vec![(1, 2)]));
    for end in 0..bytes.len() {
        assert!(fields(bytes.get(..end).unwrap(), &Fields::new(NAMES)).is_err(), "cut at {end}");
    }
    bytes.push(0);
    let position = bytes.len() - 1;
    assert_eq!(fields(&bytes, &Fields::new(NAMES)), Err(ValueError::TrailingBytes { position, count: 1 }));
}

#[test]
fn records_in_records_keep_their_places() {
    let mut bytes = Vec::new();
    let mut outer = TableBuilder::new(&mut bytes);
    outer.add("a", 1u64);
    outer.table("b").add("h", 2u64);
    outer.add("c", 3u64);
    drop(outer);
    let names = Fields::new(NAMES);
    let mut reader = ValueReader::new(&bytes, &Limits::default()).unwrap();
    let mut pairs = reader.table().unwrap();
    assert_eq!(pairs.field(&mut reader, &names), Ok(Some(0)));
    reader.count().unwrap();
    assert_eq!(pairs.field(&mut reader, &names), Ok(Some(1)));
    let mut inner = reader.table().unwrap();
    assert_eq!(inner.field(&mut reader, &names), Ok(Some(7)));
    assert_eq!(reader.count(), Ok(2));
    assert_eq!(inner.field(&mut reader, &names), Ok(None));
    assert_eq!(pairs.field(&mut reader, &names), Ok(Some(2)));
    assert_eq!(reader.skip(), Ok(&[2, 0, 0, 0, 0, 0, 0, 0, 3][..]));
    assert_eq!((pairs.field(&mut reader, &names), reader.finish()), (Ok(None), Ok(())));
}

#[test]
fn errors_say_what_is_there() {
    let mut bytes = Vec::new();
    ListBuilder::new(&mut bytes).add(1u64).add(&[0xff][..]).add("text");
    let mut reader = ValueReader::new(&bytes, &Limits::default()).unwrap();
    assert_eq!(reader.vector(), Ok(3));
    let error = reader.integer().unwrap_err();
    assert_eq!(error, ValueError::Kind { position: 2, wanted: Kind::Integer, found: Kind::Count });
    assert_eq!(error.to_string(), "the value at byte 2 is of type count, not integer; ask for what was written");
    assert!(!reader.none());
    assert_eq!((reader.count(), reader.position()), (Ok(1), 11));
    assert_eq!(reader.str(), Err(ValueError::Utf8 { position: 11 }));
    assert_eq!(reader.str(), Ok("text"));
    assert_eq!(reader.count(), Err(ValueError::Truncated { position: bytes.len() }));
    let at = |bytes: &[u8]| ValueReader::new(bytes, &Limits::default()).unwrap().port().unwrap_err();
    assert_eq!(at(&[15]), ValueError::Tag { position: 0, found: 15 });
    assert_eq!(at(&[8, 0, 53, 4]), ValueError::Protocol { position: 3, found: 4 });
    assert_eq!(at(&[8, 0, 53]), ValueError::Truncated { position: 1 });
    let limits = Limits { bytes_max: 3, ..Limits::default() };
    assert!(matches!(ValueReader::new(&[0; 4], &limits), Err(ValueError::TooLong { bytes: 4, bytes_max: 3 })));
}
