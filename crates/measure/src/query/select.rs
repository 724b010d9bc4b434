//! A selector of series, in PromQL's syntax.

pub use crate::query::select_error::{Beyond, SELECTOR_BYTES_MAX, SelectorError};
use crate::query::select_fault;
use promql_parser::label::{MatchOp, Matcher};
use promql_parser::parser::{self, Expr};
use regex::Regex;
use std::borrow::Cow;

/// PromQL's name for the metric as a tag.
const METRIC: &str = "__name__";

/// A selector of series: `cpu{server=~"sgp.*",az!="b"}`.
///
/// The syntax is that of PromQL's vector selector, parsed by `promql-parser`: `=`, `!=`, `=~` and `!~` over tags and
/// over `__name__`, `or` between matchers, a quoted metric (`{"cpu.load", server="a"}`) or tag. A regex must match the
/// whole value, and its `.` also a line break, as in Prometheus 3. A missing tag has the empty value.
///
/// There are two extensions: a metric with dots needs no quotes (`cpu.load{server="a"}`), and a selector may match
/// everything (`{}`).
#[derive(Debug, Clone)]
pub struct Selector {
    text: String,
    metric: Option<String>,
    /// A series matches if all matchers of any of these lists match.
    any: Vec<Vec<Matcher>>,
}

impl Selector {
    /// Parses a selector.
    pub fn parse(text: &str) -> Result<Selector, SelectorError> {
        let text = text.trim();
        if text.len() > SELECTOR_BYTES_MAX {
            return Err(SelectorError::TooLong { bytes: text.len() });
        }
        let promql = quote_dotted(text);
        let parsed = parser::parse(&promql).or_else(|message| match matches_all(&promql, &message) {
            Some(promql) => parser::parse(&promql),
            None => Err(message),
        });
        let selector = match parsed {
            Ok(Expr::VectorSelector(selector)) => selector,
            Ok(expr) => return Err(not_selector(&expr)),
            Err(message) => return Err(select_fault::explain(text, message)),
        };
        if selector.offset.is_some() || selector.at.is_some() {
            return Err(SelectorError::NotSelector { what: Beyond::Time });
        }
        let mut any = if selector.matchers.or_matchers.is_empty() {
            vec![selector.matchers.matchers]
        } else {
            selector.matchers.or_matchers
        };
        for all in &mut any {
            all.retain(|matcher| matcher.name != NOTHING);
            all.iter_mut().try_for_each(dot_matches_newline).map_err(|_| SelectorError::Regex)?;
        }
        let quoted = any.iter().flatten().find(|matcher| matcher.name == METRIC && matcher.op == MatchOp::Equal);
        let metric = selector.name.clone().or_else(|| quoted.map(|matcher| matcher.value.clone()));
        let any = match selector.name {
            None => any,
            Some(name) => any
                .into_iter()
                .map(|mut all| {
                    // Inserted first, because it excludes most series at the lowest cost.
                    all.insert(0, Matcher::new(MatchOp::Equal, METRIC, &name));
                    all
                })
                .collect(),
        };
        Ok(Selector { text: text.to_owned(), metric, any })
    }

    /// The selector of every series.
    pub fn everything() -> Selector {
        Selector { text: "{}".to_owned(), metric: None, any: vec![Vec::new()] }
    }

    /// Whether the series with this metric and these tags, in any order, matches.
    pub fn matches<K: AsRef<str>, V: AsRef<str>>(&self, metric: &str, tags: &[(K, V)]) -> bool {
        let value = |name: &str| match name {
            METRIC => metric,
            _ => tags.iter().find(|(key, _)| key.as_ref() == name).map_or("", |(_, value)| value.as_ref()),
        };
        self.any.iter().any(|all| all.iter().all(|matcher| matcher.is_match(value(&matcher.name))))
    }

    /// The selector's metric, unless it is absent or a regex.
    pub fn metric(&self) -> Option<&str> {
        self.metric.as_deref()
    }

    /// The tags of the matchers.
    pub fn tags(&self) -> impl Iterator<Item = &str> {
        self.any.iter().flatten().map(|matcher| matcher.name.as_str()).filter(|name| *name != METRIC)
    }
}

impl std::fmt::Display for Selector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// Quotes a metric with dots at the beginning: `a.b{c="d"}` becomes `{"a.b",c="d"}`. No PromQL starts like this, so
/// no PromQL changes its meaning.
fn quote_dotted(text: &str) -> Cow<'_, str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '.');
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    if !name.contains('.') || !name.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | ':')) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(match rest.trim_start().strip_prefix('{') {
        Some(matchers) => format!("{{\"{name}\",{matchers}"),
        None => format!("{{\"{name}\"}}{rest}"),
    })
}

/// The parser's expressions lack the flag that Prometheus sets.
fn dot_matches_newline(matcher: &mut Matcher) -> Result<(), regex::Error> {
    if let MatchOp::Re(regex) | MatchOp::NotRe(regex) = &mut matcher.op {
        *regex = Regex::new(&format!("(?s){}", regex.as_str()))?;
    }
    Ok(())
}

/// A tag of a matcher that is added for the parser, and removed again.
const NOTHING: &str = "__rawline_nothing__";

/// PromQL rejects a selector that matches everything, to protect the server from typing errors. Here a topic has one
/// subject and answers have limits, so such a selector gets a matcher with which the parser accepts it.
fn matches_all(promql: &str, message: &str) -> Option<String> {
    let matchers = promql.strip_prefix('{').filter(|_| message.contains("non-empty matcher"))?;
    Some(format!("{{{NOTHING}=\"x\",{matchers}"))
}

fn not_selector(expr: &Expr) -> SelectorError {
    let what = match expr {
        Expr::Call(_) => Beyond::Function,
        Expr::Aggregate(_) => Beyond::Aggregation,
        Expr::MatrixSelector(_) | Expr::Subquery(_) => Beyond::Range,
        Expr::Binary(_) | Expr::Unary(_) => Beyond::Arithmetic,
        Expr::Paren(_) => Beyond::Parentheses,
        _ => Beyond::Literal,
    };
    SelectorError::NotSelector { what }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERIES: [(&str, &[(&str, &str)]); 6] = [
        ("cpu", &[("server", "sgp-1"), ("az", "a")]),
        ("cpu", &[("server", "sgp-2"), ("az", "b")]),
        ("cpu", &[("server", "ams-1")]),
        ("cpu.load", &[("server", "sgp-1"), ("host.name", "x")]),
        ("disk:rate", &[("server", "sgp\"1\"")]),
        ("größe", &[]),
    ];

    fn selected(text: &str) -> Vec<usize> {
        let selector = Selector::parse(text).unwrap();
        let matches = |&i: &usize| selector.matches(SERIES[i].0, SERIES[i].1);
        (0..SERIES.len()).filter(matches).collect()
    }

    #[test]
    fn selectors_select_what_prometheus_would() {
        let cases: [(&str, &[usize]); 28] = [
            ("cpu", &[0, 1, 2]),
            (" cpu ", &[0, 1, 2]),
            ("cpu{}", &[0, 1, 2]),
            ("cpu{server=\"sgp-1\"}", &[0]),
            ("cpu{server='sgp-1',}", &[0]),
            ("cpu{server=`sgp-1`}", &[0]),
            ("cpu{server!=\"sgp-1\"}", &[1, 2]),
            ("cpu{server=~\"sgp.*\"}", &[0, 1]),
            // A regex matches the whole value.
            ("cpu{server=~\"sgp\"}", &[]),
            ("cpu{server=~\"sgp-1|ams-1\"}", &[0, 2]),
            ("cpu{server!~\"sgp.*\"}", &[2]),
            ("cpu{server=~\"sgp.*\",az=\"b\"}", &[1]),
            // A missing tag is empty.
            ("cpu{az=\"\"}", &[2]),
            ("cpu{az!=\"\"}", &[0, 1]),
            ("cpu{az!=\"b\"}", &[0, 2]),
            ("cpu{nothing=~\".*\"}", &[0, 1, 2]),
            ("{server=\"sgp-1\"}", &[0, 3]),
            ("{__name__=~\"cpu.*\",server=\"sgp-1\"}", &[0, 3]),
            ("{__name__=\"cpu\"}", &[0, 1, 2]),
            ("{\"cpu.load\"}", &[3]),
            ("{\"cpu.load\", \"host.name\"=\"x\"}", &[3]),
            ("cpu.load", &[3]),
            ("cpu.load{server=~\"sgp.*\"}", &[3]),
            ("cpu.load {}", &[3]),
            ("disk:rate{server=\"sgp\\\"1\\\"\"}", &[4]),
            ("{\"größe\"}", &[5]),
            ("cpu{az=\"a\" or az=\"b\"}", &[0, 1]),
            ("{server!=\"sgp-1\"}", &[1, 2, 4, 5]),
        ];
        for (text, want) in cases {
            assert_eq!(selected(text), want, "{text}");
        }
        assert_eq!(selected("{}"), [0, 1, 2, 3, 4, 5]);
        assert_eq!(selected("{server=~\".*\"}"), [0, 1, 2, 3, 4, 5]);
        assert!(SERIES.iter().all(|(metric, tags)| Selector::everything().matches(metric, tags)));
    }

    #[test]
    fn everything_has_no_exceptions() {
        let series: [(&str, &[(&str, &str)]); 4] =
            [("", &[]), ("", &[("a", "x")]), ("cpu\nload", &[]), ("cpu", &[("a", "line 1\nline 2\n")])];
        for text in ["{}", "{a=~\".*\"}", "{__name__=~\".*\"}", "{nothing=\"\"}", "{a=\"y\" or nothing=\"\"}"] {
            let selector = Selector::parse(text).unwrap();
            assert!(series.iter().all(|(metric, tags)| selector.matches(metric, tags)), "{text}");
            assert!(selector.tags().all(|tag| tag != NOTHING) && selector.to_string() == text);
        }
        let counted = |text: &str| {
            let selector = Selector::parse(text).unwrap();
            series.iter().filter(|(metric, tags)| selector.matches(metric, tags)).count()
        };
        assert_eq!(counted("{a=~\".+\"}"), 2);
        assert_eq!(counted("{a=~\"line.*\"}"), 1);
        assert_eq!(counted("{a!~\".*\"}"), 0);
        assert_eq!(counted("{__name__=\"\"}"), 2);
        assert_eq!(counted("{a=~\"line 1\"}"), 0);
    }

    #[test]
    fn a_selector_knows_its_metric_and_its_tags() {
        let metric = |text| Selector::parse(text).unwrap().metric().map(str::to_owned);
        assert_eq!(metric("cpu{az=\"a\"}").as_deref(), Some("cpu"));
        assert_eq!(metric("cpu.load{az=\"a\"}").as_deref(), Some("cpu.load"));
        assert_eq!(metric("{__name__=~\"cpu\"}"), None);
        let selector = Selector::parse("cpu{az=\"a\",server!~\"b\"}").unwrap();
        assert_eq!(selector.tags().collect::<Vec<_>>(), ["az", "server"]);
        assert_eq!(selector.to_string(), "cpu{az=\"a\",server!~\"b\"}");
    }

    #[test]
    fn what_is_more_than_a_selector_is_refused_with_advice() {
        let cases = [
            ("rate(cpu[5m])", "function"),
            ("sum by (az) (cpu)", "aggregation"),
            ("cpu[5m]", "range"),
            ("cpu.load[5m]", "range"),
            ("cpu offset 5m", "time"),
            ("cpu.load offset 5m", "time"),
            ("cpu @ 1600000000", "time"),
            ("cpu - load", "quote a metric"),
            ("-cpu", "quote a metric"),
            ("(cpu)", "parentheses"),
            ("17", "a metric"),
            ("\"cpu\"", "a metric"),
        ];
        for (text, advice) in cases {
            match Selector::parse(text) {
                Err(error @ SelectorError::NotSelector { .. }) => {
                    assert!(error.to_string().contains(advice), "{text}: {error}");
                }
                other => panic!("{text}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_long_selector_is_refused() {
        let text = format!("cpu{{server=~\"{}\"}}", "a".repeat(SELECTOR_BYTES_MAX));
        assert!(matches!(Selector::parse(&text), Err(SelectorError::TooLong { .. })));
        let nested = "(".repeat(SELECTOR_BYTES_MAX / 2) + "a" + &")".repeat(SELECTOR_BYTES_MAX / 2 - 1);
        assert!(Selector::parse(&nested).is_err());
    }
}
