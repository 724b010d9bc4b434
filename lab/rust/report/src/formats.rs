//! The formats' names, colors and properties, in one place, so that a format looks the same everywhere.

/// A wire format as it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// The key in result lines.
    pub key: &'static str,
    /// The human-readable name.
    pub name: &'static str,
    /// The class of its color: formats of one family share it.
    pub class: &'static str,
    /// Whether a message can be read without a schema.
    pub self_describing: bool,
}

const fn format(key: &'static str, name: &'static str, class: &'static str, self_describing: bool) -> Format {
    Format { key, name, class, self_describing }
}

/// In the order in which they are shown.
const FORMATS: [Format; 19] = [
    format("values", "values", "values", true),
    format("values-list", "values, list", "values", false),
    format("json", "JSON", "json", true),
    format("msgpack", "MessagePack", "msgpack", true),
    format("msgpack-array", "MessagePack, array", "msgpack", false),
    format("cbor", "CBOR", "cbor", true),
    format("avro", "Avro", "avro", false),
    format("protobuf", "Protobuf", "protobuf", false),
    format("sbe", "SBE", "sbe", false),
    format("flatbuffers", "FlatBuffers", "flatbuffers", false),
    format("capnp", "Cap'n Proto", "capnp", false),
    format("capnp-packed", "Cap'n Proto, packed", "capnp", false),
    format("xml", "XML", "other", true),
    format("rkyv", "rkyv", "other", false),
    format("postcard", "postcard", "other", false),
    format("bincode", "bincode", "other", false),
    format("bincode-fixed", "bincode, fixed", "other", false),
    format("pickle", "pickle", "other", true),
    format("jdk", "JDK serialization", "other", true),
];

/// Colors: each at least 3:1 against both backgrounds, and distinct without red and green, since those
/// with similar hue differ in lightness. No chart relies on them alone: every mark has its name.
pub const COLOURS: [(&str, &str); 10] = [
    ("values", "#d3451d"),
    ("json", "#0072b2"),
    ("msgpack", "#c27a00"),
    ("cbor", "#c0629a"),
    ("avro", "#00875f"),
    ("protobuf", "#3a9bd1"),
    ("sbe", "#948a00"),
    ("flatbuffers", "#7b61c9"),
    ("capnp", "#8f6237"),
    ("other", "#808080"),
];

/// The format of that key. An unknown format is shown by its key, in gray.
pub fn of(key: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.key == key)
}

/// Whether its messages can be read without a schema.
pub fn is_self_describing(key: &str) -> bool {
    of(key).is_some_and(|format| format.self_describing)
}

/// Its name.
pub fn name(key: &str) -> &str {
    of(key).map_or(key, |format| format.name)
}

/// The class of its color.
pub fn class(key: &str) -> &'static str {
    of(key).map_or("other", |format| format.class)
}

/// Its short name.
pub fn short_name(key: &str) -> &str {
    match key {
        "msgpack-array" => "MsgPack, array",
        "capnp-packed" => "Cap'n P., packed",
        "jdk" => "JDK",
        other => name(other),
    }
}

/// Its dashes, which distinguish formats of one color.
pub fn dashes(key: &str) -> &'static str {
    match key {
        "values-list" | "msgpack-array" | "capnp-packed" | "bincode-fixed" => "7 3",
        "rkyv" | "jdk" => "2 3",
        "postcard" | "xml" => "9 3 2 3",
        _ => "none",
    }
}

/// Its place in lists.
pub fn place(key: &str) -> usize {
    FORMATS.iter().position(|format| format.key == key).unwrap_or(FORMATS.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn luminance(colour: &str) -> f64 {
        let channel = |at: usize| {
            let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    #[test]
    fn every_colour_stands_out_from_both_backgrounds() {
        for (name, colour) in COLOURS {
            for background in [crate::svg::LIGHT.background, crate::svg::DARK.background] {
                let (one, other) = (luminance(colour), luminance(background));
                let contrast = (one.max(other) + 0.05) / (one.min(other) + 0.05);
                assert!(contrast >= 3.0, "{name} on {background}: {contrast:.2}");
            }
        }
    }

    #[test]
    fn every_format_has_a_colour() {
        for format in FORMATS {
            assert!(COLOURS.iter().any(|(class, _)| *class == format.class), "{}", format.key);
        }
    }

    /// Formats of one language each: no panel shows lines of two languages.
    const ALONE: [(&str, &[&str]); 3] = [
        ("rust", &["rkyv", "postcard", "bincode", "bincode-fixed"]),
        ("java", &["xml", "jdk"]),
        ("python", &["pickle"]),
    ];

    #[test]
    fn lines_of_one_colour_are_dashed_differently() {
        for (language, _) in ALONE {
            let is_in =
                |format: &&Format| ALONE.iter().all(|(other, keys)| *other == language || !keys.contains(&format.key));
            let mut looks: Vec<(&str, &str)> =
                FORMATS.iter().filter(is_in).map(|format| (format.class, dashes(format.key))).collect();
            let count = looks.len();
            looks.sort_unstable();
            looks.dedup();
            assert_eq!(looks.len(), count, "two formats look alike in {language}: {looks:?}");
        }
    }
}
