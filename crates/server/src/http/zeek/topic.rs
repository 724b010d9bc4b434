//! Names of topics: Zeek's are any text, `/zeek/event/dns`, ours are `zeek.event.dns`.
//!
//! A leading `/` is left out and any other is a `.`. Letters, digits, `_` and `-` stay, and every other byte is `-.`
//! and two hexadecimal digits, also a `/` that would begin the name or follow a `-`. A name without a leading `/`
//! begins with `-.-`. So each text has one name, and a byte's encoding depends on the byte before it only: names of
//! texts with a common beginning have one.

use std::fmt::Write;

/// Begins the names of texts without a leading `/`, and of `/` alone, which would be an empty name.
const NO_SLASH: &str = "-.-";

/// The name of our topic.
pub(super) fn encode(topic: &str) -> String {
    let mut name = String::with_capacity(topic.len() + NO_SLASH.len());
    let rest = match topic.strip_prefix('/').filter(|rest| !rest.is_empty()) {
        Some(rest) => rest,
        None => {
            name.push_str(NO_SLASH);
            topic
        }
    };
    for byte in rest.bytes() {
        match byte {
            b'/' if !name.is_empty() && !name.ends_with('-') => name.push('.'),
            b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => name.push(byte.into()),
            _ => {
                // A string takes everything.
                let _ = write!(name, "-.{byte:02X}");
            }
        }
    }
    name
}

/// The text of a name, if it is the name of one.
pub(super) fn decode(name: &str) -> Option<String> {
    let (mut bytes, mut rest) = match name.strip_prefix(NO_SLASH) {
        Some(rest) => (Vec::new(), rest.as_bytes()),
        None => (vec![b'/'], name.as_bytes()),
    };
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match (first, after) {
            (b'-', [b'.', high, low, after @ ..]) => {
                let digit = |digit: &u8| char::from(*digit).to_digit(16);
                bytes.push((digit(high)? * 16 + digit(low)?) as u8);
                rest = after;
            }
            (b'.', _) => bytes.push(b'/'),
            _ => bytes.push(*first),
        }
    }
    let topic = String::from_utf8(bytes).ok()?;
    (encode(&topic) == name).then_some(topic)
}

/// A common prefix of the encoded names of all topics that begin with `prefix`; other names may have it too.
pub(super) fn name_prefix(prefix: &str) -> String {
    if prefix.is_empty() || prefix == "/" { String::new() } else { encode(prefix) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rawline_broker::check_name;

    #[test]
    fn topics_of_zeek_have_plain_names() {
        for (topic, name) in [
            ("/zeek/event/dns", "zeek.event.dns"),
            ("/dns", "dns"),
            ("/a/b/", "a.b."),
            ("/my-topic_2", "my-topic_2"),
            ("/a-/b", "a--.2Fb"),
            ("//a", "-.2Fa"),
            ("/a//b", "a..b"),
            ("/a.b", "a-.2Eb"),
            ("/ü", "-.C3-.BC"),
            ("", "-.-"),
            ("/", "-.--.2F"),
            ("a/b", "-.-a.b"),
            ("<$>/local", "-.--.3C-.24-.3E.local"),
        ] {
            assert_eq!(encode(topic), name, "{topic}");
            assert_eq!(decode(name).as_deref(), Some(topic), "{name}");
        }
        for other in ["", "-.41", "-.2f", "-.FF", "-.--.2Fx", ".a", "-.", "-.4", "-.--.2F-.2F"] {
            let decoded = decode(other);
            assert!(decoded.as_ref().is_none_or(|topic| encode(topic) == other), "{other}: {decoded:?}");
        }
        assert_eq!(["-.41", "-.2f", "-.FF", "-.--.2Fx", ".a"].map(decode), [const { None }; 5]);
    }

    #[test]
    fn every_topic_has_one_name_and_prefixes_stay_prefixes() {
        let mut random = fastrand::Rng::with_seed(1);
        let parts = ["/", "/", "-", ".", "a", "B0", "2F", "_", "ü", " ", "-.", "%"];
        let mut any = || (0..random.usize(..7)).map(|_| parts[random.usize(..parts.len())]).collect::<String>();
        for _ in 0..100_000 {
            let (topic, more) = (any(), any());
            let name = encode(&topic);
            assert_eq!(decode(&name).as_deref(), Some(&*topic), "{name}");
            assert!(check_name(&name).is_ok(), "{name}");
            let longer = encode(&format!("{topic}{more}"));
            assert!(longer.starts_with(&name_prefix(&topic)), "{topic:?} {more:?}: {longer}");
            // A name that isn't ours.
            if let Some(decoded) = decode(&more) {
                assert_eq!(encode(&decoded), more);
            }
        }
    }
}
