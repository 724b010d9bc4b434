//! Finds the position of an error in a selector, which the parser doesn't report.

use crate::query::select_error::{Beyond, SelectorError};

/// Returns the error for a text that the parser rejected with `message`.
///
/// Parses the text again and reports the first part that doesn't belong to a selector. If there is no such part,
/// returns the parser's message.
pub(crate) fn explain(text: &str, message: String) -> SelectorError {
    if let Some(what) = call(text) {
        return what;
    }
    let (message, at) = match place(text) {
        Err(fault) => (fault.expected, Some(fault.at)),
        Ok(()) => (message, None),
    };
    SelectorError::Syntax { selector: text.to_owned(), message, at }
}

/// A function or an aggregation whose arguments the parser can't parse, such as `rate(cpu.load[5m])`.
fn call(text: &str) -> Option<SelectorError> {
    let name = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))?;
    let rest = text.get(name..)?.trim_start();
    let by = ["by", "without"].iter().any(|word| rest.starts_with(word));
    (name > 0 && (by || rest.starts_with('('))).then_some(SelectorError::NotSelector { what: Beyond::Function })
}

struct Fault {
    at: usize,
    expected: String,
}

fn fault<T>(at: usize, expected: impl Into<String>) -> Result<T, Fault> {
    Err(Fault { at, expected: expected.into() })
}

/// Parses `metric{tag="value",…}`.
fn place(text: &str) -> Result<(), Fault> {
    let mut walk = Walk { text, at: 0 };
    let named = walk.name(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '.'));
    walk.space();
    match walk.peek() {
        None if named => return Ok(()),
        None => return fault(0, "it is empty; give a metric, tags in braces, or both: cpu{server=~\"sgp.*\"}"),
        Some('{') => walk.step(),
        Some('-' | '/' | '+' | '*') if named => {
            return fault(walk.at, "a metric that contains operators needs quotes: {\"cpu-load\"}");
        }
        Some(c) if named => {
            return fault(walk.at, format!("{c:?} can't follow the metric; write tags in braces: {{…}}"));
        }
        Some(c) => return fault(walk.at, format!("a metric can't start with {c:?}; put it in quotes: {{\"9lives\"}}")),
    }
    loop {
        walk.space();
        match walk.peek() {
            None => return fault(walk.at, "the closing } is missing"),
            Some('}') => break walk.step(),
            _ => walk.matcher()?,
        }
        walk.space();
        match walk.peek() {
            Some(',') => walk.step(),
            Some('}') => {}
            Some('o') if walk.rest().starts_with("or ") => walk.at += 3,
            None => return fault(walk.at, "the closing } is missing"),
            Some(_) => return fault(walk.at, "expected a comma or }"),
        }
    }
    walk.space();
    match walk.peek() {
        None => Ok(()),
        Some(_) => fault(walk.at, "nothing may follow the closing }"),
    }
}

struct Walk<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Walk<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn step(&mut self) {
        self.at += self.peek().map_or(0, char::len_utf8);
    }

    fn space(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    /// Skips a name of these characters that doesn't start with a digit. Returns whether it found one.
    fn name(&mut self, is_part: impl Fn(char) -> bool) -> bool {
        let rest = self.rest();
        if !rest.starts_with(|c: char| is_part(c) && !c.is_ascii_digit() && c != '.') {
            return false;
        }
        self.at += rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        true
    }

    /// `tag op "value"`, or a quoted metric.
    fn matcher(&mut self) -> Result<(), Fault> {
        let quoted = matches!(self.peek(), Some('"' | '\'' | '`'));
        if quoted {
            self.quoted()?;
        } else if !self.name(|c| c.is_ascii_alphanumeric() || c == '_') {
            return fault(
                self.at,
                "the name of a tag is expected here, in quotes if it has characters other than letters, digits and _",
            );
        }
        self.space();
        let rest = self.rest();
        let Some(op) = ["=~", "!~", "!=", "="].into_iter().find(|op| rest.starts_with(op)) else {
            return match quoted && (rest.is_empty() || rest.starts_with([',', '}'])) {
                true => Ok(()),
                false => fault(self.at, "expected one of = != =~ !~; a name with other characters needs quotes"),
            };
        };
        self.at += op.len();
        self.space();
        let at = self.at;
        let value = self.quoted()?;
        match regex::Regex::new(&format!("^(?:{value})$")) {
            Err(error) if op.ends_with('~') => fault(at + 1, regex_message(&error)),
            _ => Ok(()),
        }
    }

    /// A quoted text, without its quotes, with escapes.
    fn quoted(&mut self) -> Result<&'a str, Fault> {
        let start = self.at;
        let Some(quote @ ('"' | '\'' | '`')) = self.peek() else {
            return fault(start, "expected a value in quotes");
        };
        self.step();
        let inside = self.at;
        loop {
            match self.peek() {
                None => return fault(start, "the quote that starts here has no end"),
                Some('\\') if quote != '`' => self.step(),
                Some(c) if c == quote => break,
                Some(_) => {}
            }
            self.step();
        }
        let value = self.text.get(inside..self.at).unwrap_or("");
        self.step();
        Ok(value)
    }
}

/// The last line of the library's message. The lines before it show the pattern, which the user has just typed.
fn regex_message(error: &regex::Error) -> String {
    let text = error.to_string();
    let line = text.lines().last().unwrap_or_default();
    format!("cannot parse the regex: {}", line.trim_start_matches("error: "))
}

#[cfg(test)]
mod tests {
    use crate::query::select::{Selector, SelectorError};

    #[test]
    fn the_place_is_shown() {
        let cases = [
            ("", 0, "empty"),
            ("cpu{", 4, "missing"),
            ("cpu{server", 10, "one of ="),
            ("cpu{server=", 11, "in quotes"),
            ("cpu{server=~sgp.*}", 12, "in quotes"),
            ("cpu{server=~\"sgp.*}", 12, "no end"),
            ("cpu{server=~\"sgp.*\"", 19, "missing"),
            ("cpu{server=~\"sgp.*\"}}", 20, "nothing may follow"),
            ("cpu{server=~\"(sgp\"}", 13, "unclosed group"),
            ("cpu{server=\"a\" az=\"b\"}", 15, "comma"),
            ("cpu{ser ver=\"a\"}", 8, "one of ="),
            ("cpu{host.name=\"a\"}", 8, "quotes"),
            ("cpu{=\"a\"}", 4, "name of a tag"),
            ("cpu server", 4, "braces"),
            ("9cpu", 0, "quotes"),
            ("größe{a=\"b\"}", 2, "metric"),
            ("cpu.load{server==\"a\"}", 16, "in quotes"),
            ("cpu.load-max{", 8, "quotes"),
        ];
        for (text, want_at, want) in cases {
            match Selector::parse(text) {
                Err(SelectorError::Syntax { at, message, .. }) => {
                    assert_eq!(at, Some(want_at), "{text}: {message}");
                    assert!(message.contains(want), "{text}: {message}");
                }
                other => panic!("{text}: {other:?}"),
            }
        }
    }

    #[test]
    fn the_mark_stands_below_the_place() {
        let error = Selector::parse("{\"größe\", server=~sgp}").unwrap_err();
        let want = "cannot parse the selector: expected a value in quotes\n  \
                    {\"größe\", server=~sgp}\n                    ^";
        assert_eq!(error.to_string(), want);
    }

    #[test]
    fn a_function_of_what_promql_does_not_know_is_still_a_function() {
        for text in ["rate(cpu.load[5m])", "sum by (a) (cpu.load)", "nonsense(cpu)", "sum(cpu"] {
            let error = Selector::parse(text).unwrap_err();
            assert!(matches!(error, SelectorError::NotSelector { .. }), "{text}: {error}");
        }
    }

    #[test]
    fn no_text_panics() {
        let parts =
            ["cpu", "{", "}", "=", "~", "!", "\"", "'", "`", "\\", ",", " ", "or ", "ö", "(", ")", "[", "5m", "\n"];
        let mut state = 7u64;
        for _ in 0..20_000 {
            let mut text = String::new();
            for _ in 0..8 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                text.push_str(parts[(state >> 33) as usize % parts.len()]);
            }
            if let Err(error) = Selector::parse(&text) {
                assert!(!error.to_string().is_empty());
            }
        }
    }
}
