//! Human-readable numbers and names, and text escaped for markup.

/// Three digits that count: `1.83`, `18.3`, `183`, `1830`.
pub fn digits(value: f64) -> String {
    if value >= 100.0 {
        format!("{value:.0}")
    } else if value >= 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

/// Nanoseconds in the unit that needs the fewest digits.
pub fn time(ns: f64) -> String {
    match ns {
        ns if ns < 999.5 => format!("{} ns", digits(ns)),
        ns if ns < 999_500.0 => format!("{} µs", digits(ns / 1e3)),
        ns if ns < 999_500_000.0 => format!("{} ms", digits(ns / 1e6)),
        ns => format!("{} s", digits(ns / 1e9)),
    }
}

/// Bytes; only a small mean has a fraction.
pub fn bytes(bytes: f64) -> String {
    match bytes {
        bytes if bytes < 100.0 && bytes.fract() != 0.0 => format!("{bytes:.1} B"),
        bytes if bytes < 10_000.0 => format!("{bytes:.0} B"),
        bytes if bytes < 999_500.0 => format!("{} kB", digits(bytes / 1e3)),
        bytes => format!("{} MB", digits(bytes / 1e6)),
    }
}

/// Time or bytes.
pub fn amount(value: f64, is_time: bool) -> String {
    if is_time { time(value) } else { bytes(value) }
}

/// A round amount, for a scale.
pub fn tick(value: f64, is_time: bool) -> String {
    let (units, factor): (&[&str], f64) =
        if is_time { (&["ns", "µs", "ms", "s"], 1e3) } else { (&["B", "kB", "MB", "GB"], 1e3) };
    let mut value = value;
    let mut units = units.iter();
    let mut unit = units.next().copied().unwrap_or_default();
    while value >= factor {
        let Some(larger) = units.next() else { break };
        (value, unit) = (value / factor, larger);
    }
    // Ticks are powers of ten times a digit or 1.5, so that three decimals are rounding and no loss.
    format!("{} {unit}", (value * 1000.0).round() / 1000.0)
}

/// The distance to the interval's farther end, as a fraction of the value: an interval that is cut off at zero, or lies
/// to one side, is not made to look narrower than it is.
pub fn reach(value: f64, low: f64, high: f64) -> f64 {
    (value - low).max(high - value) / value
}

/// The interval's reach in percent; None without an interval.
pub fn spread(value: f64, low: f64, high: f64) -> Option<String> {
    match reach(value, low, high) * 100.0 {
        percent if percent <= 0.0 => None,
        percent if percent < 0.95 => Some(format!("±{percent:.1} %")),
        percent => Some(format!("±{percent:.0} %")),
    }
}

/// For text and attributes of HTML and SVG.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // XML has no place for control characters, not even escaped.
            character if character.is_control() => out.push(' '),
            character => out.push(character),
        }
    }
    out
}

/// For a cell of a Markdown table.
pub fn cell(text: &str) -> String {
    text.replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;").replace(['\n', '\r'], " ")
}

/// At most this many characters, with an ellipsis if some are left out.
pub fn short(text: &str, characters_max: usize) -> String {
    if text.chars().count() <= characters_max {
        return text.to_owned();
    }
    let kept: String = text.chars().take(characters_max.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// A language's name.
pub fn language(key: &str) -> String {
    match key {
        "rust" => "Rust".to_owned(),
        "java" => "Java".to_owned(),
        "python" => "Python".to_owned(),
        other => other.to_owned(),
    }
}

/// Whether a language's harness reports the maximum bytes that an operation holds at once instead of all that it
/// allocates.
pub fn is_held(language: &str) -> bool {
    language == "python"
}

/// A case's name.
pub fn case(key: &str) -> String {
    match key {
        "pingpong" => "PingPong".to_owned(),
        "doubles" => "Doubles".to_owned(),
        "strings" => "Strings".to_owned(),
        "zeek" => "Zeek event".to_owned(),
        "measurement" => "Measurement".to_owned(),
        "order" => "Order".to_owned(),
        other => other.to_owned(),
    }
}

/// A size in bytes of JSON; `base` is as published.
pub fn size_bytes(key: &str) -> Option<f64> {
    let (number, factor) = match key.as_bytes().last()? {
        b'k' => (key.trim_end_matches('k'), 1e3),
        b'm' => (key.trim_end_matches('m'), 1e6),
        _ => (key, 1.0),
    };
    Some(number.parse::<f64>().ok()? * factor)
}

/// A size's name.
pub fn size(key: &str) -> String {
    match size_bytes(key) {
        Some(size) if size >= 1e6 => format!("{} MB", size / 1e6),
        Some(size) if size >= 1e3 => format!("{} kB", size / 1e3),
        Some(size) => format!("{size} B"),
        None => key.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits() {
        assert_eq!(time(9.994), "9.99 ns");
        assert_eq!(time(183.2), "183 ns");
        assert_eq!(time(999.7), "1.00 µs");
        assert_eq!(time(41_440.0), "41.4 µs");
        assert_eq!(bytes(87.0), "87 B");
        assert_eq!(bytes(87.25), "87.2 B");
        assert_eq!(bytes(1_048_576.0), "1.05 MB");
        assert_eq!(tick(1e6, false), "1 MB");
        assert_eq!(tick(300.0, true), "300 ns");
        assert_eq!(tick(0.0, true), "0 ns");
        assert_eq!(spread(100.0, 98.0, 104.0).as_deref(), Some("±4 %"));
        assert_eq!(spread(100.0, 100.0, 100.0), None);
    }

    #[test]
    fn sizes_are_read_as_the_cases_name_them() {
        assert_eq!(size_bytes("100k"), Some(100_000.0));
        assert_eq!(size_bytes("base"), None);
        assert_eq!(size("1m"), "1 MB");
    }
}
