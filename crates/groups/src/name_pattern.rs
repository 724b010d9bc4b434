//! Regular expressions for whole names, as clients send them: their size is bounded.

use regex::{Regex, RegexBuilder};

/// Maximum size of a compiled expression in bytes.
const REGEX_BYTES_MAX: usize = 256 << 10;

/// An expression that matches whole names.
pub fn compile(regex: &str) -> Result<Regex, regex::Error> {
    let whole = format!("^(?:{regex})$");
    RegexBuilder::new(&whole).size_limit(REGEX_BYTES_MAX).dfa_size_limit(REGEX_BYTES_MAX).build()
}

/// What all names begin with that match a valid expression, as far as that is easy to see: a search among very many
/// names looks at those only.
pub fn prefix(regex: &str) -> &str {
    // Either side could have another beginning.
    if regex.contains('|') {
        return "";
    }
    let is_literal = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '_' | '-');
    let rest = regex.trim_start_matches(is_literal);
    let literal = regex.strip_suffix(rest).unwrap_or_default();
    // The sign before one of these may be missing, also before `+*`.
    let is_optional = rest.starts_with(['?', '*', '+', '{']);
    literal.get(..literal.len().saturating_sub(usize::from(is_optional))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_match_begin_with_the_prefix() {
        let expected = [
            ("orders", "orders"),
            ("orders-eu_1.*", "orders-eu_1"),
            ("ab+", "a"),
            ("a+*", ""),
            ("ab?c", "a"),
            ("ab*", "a"),
            ("ab{0,2}", "a"),
            ("a?", ""),
            ("?", ""),
            ("", ""),
            ("ab|cd", ""),
            ("a(b|c)", ""),
            ("(?i)ab", ""),
            ("^ab", ""),
            (r"a\.b", "a"),
            ("aé?", "a"),
            ("ab[cd]", "ab"),
        ];
        for (regex, expected) in expected {
            assert_eq!(prefix(regex), expected, "{regex}");
        }
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..20_000 {
            let text = |random: &mut fastrand::Rng, signs: &[char]| -> String {
                (0..random.usize(0..6)).filter_map(|_| random.choice(signs.iter().copied())).collect()
            };
            let (regex, name) =
                (text(&mut random, &['a', 'b', '-', '.', '*', '+', '?', '|']), text(&mut random, &['a', 'b', '-']));
            let is_match = compile(&regex).is_ok_and(|compiled| compiled.is_match(&name));
            assert!(!is_match || name.starts_with(prefix(&regex)), "{name} matches {regex}");
        }
    }
}
