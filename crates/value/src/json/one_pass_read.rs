//! Reads an object with types for its fields in one pass over its text, and puts its fields in their order afterwards.
//!
//! It reads common lines only. Those with anything else are read by `hinted`, which also reports errors: values that
//! don't fit their types, duplicate names, numbers with an exponent, sets, and invalid JSON.

use super::buffer::{Buffer, WORD_BYTES, first_word, plain_bytes};
use super::hinted::place_of;
use crate::item::Item;
use crate::wire::pack_real;
use crate::{FieldHint, Hint, Kind, Protocol};

/// Maximum size of a text in bytes: longer ones don't need the speed.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// Bytes of values for each byte of text: `0,` becomes a count of nine bytes.
const BYTES_PER_TEXT_BYTE: usize = 5;

/// Values within the limits on elements and size: 2^20 and 16 MiB.
const _: () = assert!(TEXT_BYTES_MAX < 1 << 20 && BYTES_PER_TEXT_BYTE * TEXT_BYTES_MAX < 16 << 20);

/// Maximum nesting; deeper values are rare.
const DEPTH_MAX: usize = 16;

/// Counts and lengths below this take one byte.
const SHORT_MAX: usize = 0x80;

/// Digits of a number that is certain to fit 63 bits.
const DIGITS_MAX: usize = 18;

/// Memory that is reused from object to object.
#[derive(Debug, Clone, Default)]
pub(super) struct OnePassReader {
    bytes: Buffer,
    /// The fields of a table in their order, before they replace those in the order of the text.
    sorted: Vec<u8>,
    /// The fields of the open tables.
    fields: Vec<Field>,
    /// By the number of a table's fields: the order of such a table that was read before.
    orders: Vec<Vec<u8>>,
    /// The path of the open table, with a dot at its end; empty for the outermost.
    path: Vec<u8>,
    /// A converted value.
    converted: Vec<u8>,
}

/// A field of a table.
#[derive(Debug, Clone, Copy)]
struct Field {
    /// The first bytes of its name, followed by zeros: they decide most comparisons.
    name_begin: u64,
    /// Position of its name's value.
    at: usize,
}

impl OnePassReader {
    /// The bytes of the object with its fields converted, as [`super::hinted::Reader::read`] appends them. `None` if
    /// the text isn't an object in the form that is read here. `seen` notes which hints have named a field.
    pub(super) fn read(&mut self, json: &[u8], hints: &[FieldHint], seen: &mut [bool]) -> Option<&[u8]> {
        if json.len() > TEXT_BYTES_MAX {
            return None;
        }
        let text = str::from_utf8(json).ok()?;
        self.bytes.begin(json.len() * BYTES_PER_TEXT_BYTE);
        self.fields.clear();
        self.path.clear();
        let mut reader = Reader { text, at: 0, memory: self, hints, seen };
        reader.space();
        reader.object(1, true)?;
        reader.space();
        (reader.at == json.len()).then_some(())?;
        self.bytes.written(0)
    }
}

/// Reads one text. Every function returns `None` if the text has another form.
struct Reader<'a> {
    text: &'a str,
    /// Position of the next byte.
    at: usize,
    memory: &'a mut OnePassReader,
    hints: &'a [FieldHint],
    seen: &'a mut [bool],
}

impl Reader<'_> {
    #[inline]
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    #[inline]
    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    #[inline]
    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then_some(())?;
        self.at += 1;
        Some(())
    }

    fn word(&mut self, word: &str) -> Option<()> {
        self.text.as_bytes().get(self.at..)?.starts_with(word.as_bytes()).then_some(())?;
        self.at += word.len();
        Some(())
    }

    /// Steps over the separator after a value. Returns false at the end of the container.
    #[inline]
    fn goes_on(&mut self, end: u8) -> Option<bool> {
        self.space();
        let found = self.peek()?;
        self.at += 1;
        match found {
            b',' => {
                self.space();
                Some(true)
            }
            _ if found == end => Some(false),
            _ => None,
        }
    }

    fn object(&mut self, depth: usize, is_hinted: bool) -> Option<()> {
        self.expect(b'{')?;
        (depth <= DEPTH_MAX).then_some(())?;
        self.memory.bytes.put(&[Kind::Table as u8, 0])?;
        let (first, begin) = (self.memory.fields.len(), self.memory.bytes.len());
        self.space();
        let mut has_next = self.peek()? != b'}';
        self.at += usize::from(!has_next);
        while has_next {
            self.field(depth, is_hinted)?;
            has_next = self.goes_on(b'}')?;
        }
        let count = self.memory.fields.len() - first;
        (count < SHORT_MAX).then_some(())?;
        self.memory.bytes.set(begin - 1, count as u8)?;
        self.memory.sort(first, begin)?;
        self.memory.fields.truncate(first);
        Some(())
    }

    #[inline]
    fn field(&mut self, depth: usize, is_hinted: bool) -> Option<()> {
        let at = self.memory.bytes.len();
        self.string()?;
        let (name, bytes) = self.memory.bytes.string_at(at)?;
        let place = if is_hinted { place_of(self.hints, &self.memory.path, name) } else { None };
        self.memory.fields.push(Field { name_begin: first_word(name, bytes), at });
        self.space();
        self.expect(b':')?;
        self.space();
        if let Some(place) = place {
            *self.seen.get_mut(place)? = true;
            let hint = &self.hints.get(place)?.hint;
            // Its protocol may come after it.
            hint.protocol_field().is_none().then_some(())?;
            return self.value(Some(hint), depth + 1);
        }
        if !is_hinted || self.peek()? != b'{' {
            return self.value(None, depth + 1);
        }
        let outer = self.memory.path.len();
        let OnePassReader { path, bytes, .. } = &mut *self.memory;
        path.extend_from_slice(bytes.name(at)?);
        path.push(b'.');
        self.object(depth + 1, true)?;
        self.memory.path.truncate(outer);
        Some(())
    }

    #[inline]
    fn value(&mut self, hint: Option<&Hint>, depth: usize) -> Option<()> {
        let at = self.memory.bytes.len();
        match self.peek()? {
            b'"' => {
                self.string()?;
                match hint {
                    Some(hint) => self.memory.convert_text(at, hint),
                    None => Some(()),
                }
            }
            b'-' | b'0'..=b'9' => self.number(hint),
            b'[' => self.array(hint, depth),
            b'{' => {
                fits(hint, Kind::Table)?;
                self.object(depth, false)
            }
            b't' => {
                fits(hint, Kind::Boolean)?;
                self.word("true")?;
                self.memory.bytes.put(&[Kind::Boolean as u8, 1])
            }
            b'f' => {
                fits(hint, Kind::Boolean)?;
                self.word("false")?;
                self.memory.bytes.put(&[Kind::Boolean as u8, 0])
            }
            _ => {
                self.word("null")?;
                self.memory.bytes.put(&[Kind::None as u8])
            }
        }
    }

    fn array(&mut self, hint: Option<&Hint>, depth: usize) -> Option<()> {
        // The elements of a set have an order.
        (depth <= DEPTH_MAX && hint.and_then(Hint::kind) != Some(Kind::Set)).then_some(())?;
        self.expect(b'[')?;
        self.memory.bytes.put(&[Kind::Vector as u8, 0])?;
        let count_at = self.memory.bytes.len() - 1;
        self.space();
        let mut has_next = self.peek()? != b']';
        self.at += usize::from(!has_next);
        let mut count = 0;
        while has_next {
            self.value(hint, depth + 1)?;
            count += 1;
            has_next = self.goes_on(b']')?;
        }
        (count < SHORT_MAX).then_some(())?;
        self.memory.bytes.set(count_at, count as u8)
    }

    fn number(&mut self, hint: Option<&Hint>) -> Option<()> {
        let number = Number::read(self.text.as_bytes(), self.at)?;
        let text = self.text.get(self.at..number.end)?;
        self.at = number.end;
        let bytes = &mut self.memory.bytes;
        let Some(hint) = hint else { return bytes.put_number(&number, text) };
        if hint.is_time() {
            return match hint.time_of_seconds(text)? {
                Item::Timestamp(time) => bytes.put_word(Kind::Timestamp, time as u64),
                Item::Timespan(span) => bytes.put_word(Kind::Timespan, span as u64),
                _ => None,
            };
        }
        if number.fraction_digits == 0 {
            let OnePassReader { converted, bytes, .. } = &mut *self.memory;
            converted.clear();
            if hint.put_number(number.whole()?, Protocol::Unknown, converted).ok()? {
                return bytes.put_slice(converted);
            }
        }
        fits(Some(hint), number.kind())?;
        self.memory.bytes.put_number(&number, text)
    }

    /// Reads a string whose quote is next.
    #[inline]
    fn string(&mut self) -> Option<()> {
        self.expect(b'"')?;
        let text = self.text.as_bytes();
        let bytes = &mut self.memory.bytes;
        bytes.put(&[Kind::String as u8, 0])?;
        let begin = bytes.len();
        loop {
            if let Some(word) = text.get(self.at..)?.first_chunk::<WORD_BYTES>() {
                // The bytes after the string's end are overwritten.
                let plain = plain_bytes(word);
                bytes.put_first(word, plain)?;
                self.at += plain;
                if plain == WORD_BYTES {
                    continue;
                }
            }
            match *text.get(self.at)? {
                b'"' => break,
                b'\\' => {
                    bytes.put(&[unescaped(*text.get(self.at + 1)?)?])?;
                    self.at += 2;
                }
                0..0x20 => return None,
                // In the last bytes of the text.
                byte => {
                    bytes.put(&[byte])?;
                    self.at += 1;
                }
            }
        }
        self.at += 1;
        bytes.end_string(begin)
    }
}

/// Fails if the hint asks for another type.
#[inline]
fn fits(hint: Option<&Hint>, kind: Kind) -> Option<()> {
    hint.is_none_or(|hint| hint.check(kind).is_ok()).then_some(())
}

/// The character of an escape, except those by code.
fn unescaped(escape: u8) -> Option<u8> {
    Some(match escape {
        b'"' | b'\\' | b'/' => escape,
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        _ => return None,
    })
}

/// A number without an exponent.
struct Number {
    is_negative: bool,
    /// All digits as a whole number.
    digits: u64,
    fraction_digits: usize,
    /// Position after the number.
    end: usize,
}

impl Number {
    #[inline]
    fn read(text: &[u8], begin: usize) -> Option<Number> {
        let mut at = begin;
        let is_negative = text.get(at) == Some(&b'-');
        at += usize::from(is_negative);
        let mut digits = 0;
        let whole_begin = at;
        read_digits(text, &mut at, &mut digits);
        let whole_digits = at - whole_begin;
        let has_zero_before = whole_digits > 1 && text.get(whole_begin) == Some(&b'0');
        (whole_digits > 0 && whole_digits <= DIGITS_MAX && !has_zero_before).then_some(())?;
        let mut fraction_digits = 0;
        if text.get(at) == Some(&b'.') {
            at += 1;
            let fraction_begin = at;
            read_digits(text, &mut at, &mut digits);
            fraction_digits = at - fraction_begin;
            (fraction_digits > 0).then_some(())?;
        }
        // Minus zero is a real.
        let is_other = matches!(text.get(at), Some(b'e' | b'E')) || is_negative && digits == 0 && fraction_digits == 0;
        (!is_other).then_some(Number { is_negative, digits, fraction_digits, end: at })
    }

    /// The whole number; `None` if it has a fraction.
    fn whole(&self) -> Option<i64> {
        let whole = i64::try_from(self.digits).ok().filter(|_| self.fraction_digits == 0)?;
        Some(if self.is_negative { -whole } else { whole })
    }

    /// The real number of this text.
    #[inline]
    fn real(&self, text: &str) -> Option<f64> {
        /// Powers of ten that a real holds exactly.
        const POWERS: [f64; 16] =
            [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
        /// Every whole number below this is a real.
        const WHOLE_MAX: u64 = 1 << 53;
        // The quotient of two exact reals is rounded once. The first comparison also excludes digits that overflowed.
        match POWERS.get(self.fraction_digits) {
            Some(power) if text.len() <= DIGITS_MAX && self.digits < WHOLE_MAX => {
                let real = self.digits as f64 / power;
                Some(if self.is_negative { -real } else { real })
            }
            _ => text.parse().ok(),
        }
    }

    fn kind(&self) -> Kind {
        match (self.fraction_digits, self.is_negative) {
            (0, false) => Kind::Count,
            (0, true) => Kind::Integer,
            _ => Kind::Real,
        }
    }
}

/// Appends the digits at `at` to a number, which overflows after 19 of them.
#[inline]
fn read_digits(text: &[u8], at: &mut usize, number: &mut u64) {
    while let Some(digit) = text.get(*at).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
        *number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
        *at += 1;
    }
}

impl Buffer {
    #[inline]
    fn put_word(&mut self, kind: Kind, word: u64) -> Option<()> {
        self.put(&[kind as u8])?;
        self.put(&word.to_be_bytes())
    }

    #[inline]
    fn put_number(&mut self, number: &Number, text: &str) -> Option<()> {
        match number.whole() {
            Some(whole) => self.put_word(number.kind(), whole as u64),
            None => self.put_word(Kind::Real, pack_real(number.real(text)?)),
        }
    }

    /// Ends a string whose text begins at `begin`, after one byte for its size.
    #[inline]
    fn end_string(&mut self, begin: usize) -> Option<()> {
        /// Sizes below this take two bytes.
        const MEDIUM_MAX: usize = SHORT_MAX << 7;
        let size = self.len() - begin;
        if size < SHORT_MAX {
            return self.set(begin - 1, size as u8);
        }
        (size < MEDIUM_MAX).then_some(())?;
        self.insert(begin)?;
        self.set(begin - 1, size as u8 | SHORT_MAX as u8)?;
        self.set(begin, (size >> 7) as u8)
    }

    /// The text of the string at this position, if it is short; and the bytes from its first on, with those after it.
    #[inline]
    fn string_at(&self, at: usize) -> Option<(&[u8], &[u8])> {
        let [_, size, bytes @ ..] = self.written(at)? else { return None };
        (usize::from(*size) < SHORT_MAX).then_some(())?;
        Some((bytes.get(..usize::from(*size))?, bytes))
    }

    /// The text of the string at this position, if it is short.
    #[inline]
    fn name(&self, at: usize) -> Option<&[u8]> {
        self.string_at(at).map(|(name, _)| name)
    }
}

impl OnePassReader {
    /// Replaces the string at `at`, the last value, by the hint's result.
    fn convert_text(&mut self, at: usize, hint: &Hint) -> Option<()> {
        let OnePassReader { bytes, converted, .. } = self;
        let text = str::from_utf8(bytes.name(at)?).ok()?;
        converted.clear();
        if !hint.put_text(text, converted).ok()? {
            return fits(Some(hint), Kind::String);
        }
        bytes.truncate(at);
        bytes.put_slice(converted)
    }

    /// Puts the fields from index `first` on, which begin at `begin`, in their order. `None` if two have one name.
    fn sort(&mut self, first: usize, begin: usize) -> Option<()> {
        let OnePassReader { bytes, sorted, fields, orders, .. } = self;
        let fields = fields.get(first..)?;
        let names = Names { bytes, fields };
        if names.ascend(0..fields.len()) {
            return Some(());
        }
        if orders.len() <= fields.len() {
            orders.resize(fields.len() + 1, Vec::new());
        }
        let order = orders.get_mut(fields.len())?;
        if order.is_empty() || !names.ascend(order.iter().map(|place| usize::from(*place))) {
            order.clear();
            order.extend(0..fields.len() as u8);
            order.sort_unstable_by(|left, right| names.key(usize::from(*left)).cmp(&names.key(usize::from(*right))));
            names.ascend(order.iter().map(|place| usize::from(*place))).then_some(())?;
        }
        sorted.clear();
        for place in &*order {
            sorted.extend_from_slice(names.field(usize::from(*place))?);
        }
        bytes.written_mut(begin)?.copy_from_slice(sorted);
        Some(())
    }
}

/// The names of a table's fields.
struct Names<'a> {
    bytes: &'a Buffer,
    fields: &'a [Field],
}

impl Names<'_> {
    #[inline]
    fn key(&self, place: usize) -> (u64, &[u8]) {
        match self.fields.get(place) {
            Some(field) => (field.name_begin, self.bytes.name(field.at).unwrap_or_default()),
            None => unreachable!("field {place} of {}", self.fields.len()),
        }
    }

    /// Whether these fields ascend, without duplicates.
    #[inline]
    fn ascend(&self, places: impl Iterator<Item = usize> + Clone) -> bool {
        let mut neighbours = places.clone().zip(places.skip(1));
        neighbours.all(|(left, right)| {
            let first_words = |place: usize| self.fields.get(place).map(|field| field.name_begin);
            match first_words(left).cmp(&first_words(right)) {
                std::cmp::Ordering::Equal => self.key(left) < self.key(right),
                order => order.is_lt(),
            }
        })
    }

    /// The bytes of a field, its name and its value.
    #[inline]
    fn field(&self, place: usize) -> Option<&[u8]> {
        let begin = self.fields.get(place)?.at;
        let end = self.fields.get(place + 1).map_or(self.bytes.len(), |next| next.at);
        self.bytes.written(begin)?.get(..end - begin)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::super::hinted;
    use super::*;

    const HINTS: [&str; 10] = [
        "ts=timestamp",
        "host=address",
        "rtt=timespan",
        "TTLs=timespan",
        "n=integer",
        "x=real",
        "id.orig_h=address",
        "a.b.c=count",
        "kind=enum",
        "any=any",
    ];

    fn hints(texts: &[&str]) -> Vec<FieldHint> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    /// Whether the object is read in one pass. Its bytes are then those of the general way.
    fn is_read(json: &[u8], hints: &[FieldHint]) -> bool {
        let (mut one_pass, mut seen) = (OnePassReader::default(), vec![false; hints.len()]);
        // The second time, orders are known.
        for _ in 0..2 {
            let Some(bytes) = one_pass.read(json, hints, &mut seen) else { return false };
            let (mut general, mut wanted) = (hinted::Reader::new(hints.to_vec()), Vec::new());
            general.write_any_object(json, &mut wanted).unwrap_or_else(|error| {
                panic!("{} is read, but: {error}", String::from_utf8_lossy(json));
            });
            assert_eq!(bytes, wanted, "{}", String::from_utf8_lossy(json));
            assert!(general.seen().map(|(_, seen)| seen).eq(seen.iter().copied()), "{}", String::from_utf8_lossy(json));
        }
        true
    }

    /// The first ten are read in one pass.
    const OBJECTS: [&str; 17] = [
        "{}",
        " { \"b\" : [ ] , \"a\" : { } } ",
        r#"{"ts":1521911720.600725,"host":"10.0.0.1","rtt":-0.0008699893951416016,"TTLs":[1,2.5,[3]]}"#,
        r#"{"ts":"2018-03-24T17:15:20.865716Z","host":"fe80::1","rtt":"1500ms","TTLs":null,"kind":"udp"}"#,
        r#"{"n":1,"x":2,"a":{"c":1,"b":{"c":7,"a":8}},"a.b.c":9,"id":{"orig_h":"10.0.0.1"},"id.orig_h":"::"}"#,
        r#"{"n":-1,"x":-2.5,"any":{"id":{"orig_h":"x"},"ts":1.5},"list":[{"ts":1.5,"a":1},{}]}"#,
        r#"{"numbers":[0,1,-1,9,10,999999999999999999,-999999999999999999,0.0,-0.0,0.5,1.25,123456789.123456789]}"#,
        r#"{"numbers":[0.1,0.3,9007199254740993.0,0.9007199254740993,123456789012345678.5,0.1234567890123456789]}"#,
        r#"{"text":"a\"b\\c\/d\be\ff\ng\rh\ti","quotes\"in":"\"","utf-8":"ü€😀"}"#,
        r#"{"true":true,"false":false,"null":null,"b":1,"ba":2,"bab":3,"":4,"bbbbbbbbb":5,"bbbbbbbba":6,"bbbbbbbb":7}"#,
        r#"{"b\u0000":1}"#,
        r#"{"a":1e5}"#,
        r#"{"a":12345678901234567890}"#,
        r#"{"a":-0}"#,
        r#"{"a":1,"a":2}"#,
        r#"{"a":[01]}"#,
        r#"[1]"#,
    ];

    #[test]
    fn objects_are_as_the_general_way_reads_them() {
        let hints = hints(&HINTS);
        for (index, object) in OBJECTS.into_iter().enumerate() {
            assert_eq!(is_read(object.as_bytes(), &hints), index < 10, "{object}");
        }
        let long = |bytes: usize| format!("{{\"z\":\"{}\",\"a\":1}}", "y".repeat(bytes));
        for bytes in [0, 1, 7, 8, 9, 126, 127, 128, 129, 16_383] {
            assert!(is_read(long(bytes).as_bytes(), &hints), "{bytes}");
        }
        for bytes in [16_384, TEXT_BYTES_MAX] {
            assert!(!is_read(long(bytes).as_bytes(), &hints), "{bytes}");
        }
        let many = |count: usize| {
            let fields: Vec<String> = (0..count).map(|number| format!("\"{}\":{number}", count - number)).collect();
            format!("{{{}}}", fields.join(","))
        };
        assert!(is_read(many(127).as_bytes(), &hints) && !is_read(many(128).as_bytes(), &hints));
    }

    #[test]
    fn what_does_not_fit_is_left_to_the_general_way() {
        for (hint, object) in [
            ("a=count", r#"{"a":-1}"#),
            ("a=count", r#"{"a":1.5}"#),
            ("a=count", r#"{"a":"1"}"#),
            ("a=count", r#"{"a":true}"#),
            ("a=count", r#"{"a":{}}"#),
            ("a=address", r#"{"a":"x"}"#),
            ("a=timestamp", r#"{"a":99999999999.5}"#),
            ("a=timestamp", r#"{"a":[{}]}"#),
            ("a=set", r#"{"a":[2,1]}"#),
            ("a=port@b", r#"{"a":53,"b":"udp"}"#),
        ] {
            assert!(!is_read(object.as_bytes(), &hints(&[hint])), "{hint} {object}");
        }
    }

    /// Texts that differ from objects in a few bytes.
    #[test]
    fn changed_texts_are_read_alike_or_left_to_the_general_way() {
        let hints = hints(&HINTS);
        let bytes = b"\"\\{}[]:,.-+eE0123456789abtnu \n\x00\x1f\x7f\x80\xff";
        let mut state = 1_u64;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let mut reads = 0;
        for _ in 0..20_000 {
            let mut text = OBJECTS[next(OBJECTS.len())].as_bytes().to_vec();
            for _ in 0..=next(3) {
                let (at, byte) = (next(text.len()), bytes[next(bytes.len())]);
                match next(4) {
                    0 => text.insert(at, byte),
                    1 if text.len() > 1 => drop(text.remove(at)),
                    2 => text.truncate(at.max(1)),
                    _ => text[at] = byte,
                }
            }
            reads += u32::from(is_read(&text, &hints));
        }
        assert!(reads > 1000, "{reads}");
    }
}
