//! The view as text: a line on the broker, a table of topics, a table of groups.

use super::Sort;
use super::sample::{GROUPS_MAX, Group, Sample, TOPICS_MAX, Topic};
use crate::commands::table::{Align, shortened, table};
use indicatif::{BinaryBytes, DecimalBytes};
use std::cmp::Reverse;

/// Lines of the view besides topics and groups: two on the broker, the heads of the tables, an empty one between them.
const FIXED_LINES: usize = 5;

/// What is shown.
#[derive(Debug)]
pub struct View {
    pub sample: Sample,
    pub sort: Sort,
    /// Number of topics that are scrolled away.
    pub skipped: usize,
    /// Why the newest look failed.
    pub failure: Option<String>,
}

/// The size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub columns: usize,
    pub rows: usize,
}

impl Size {
    /// Number of topics by which a page key scrolls.
    pub fn page(self) -> usize {
        (self.rows / 2).max(1)
    }
}

impl View {
    pub fn scroll(&mut self, lines: isize) {
        self.skipped = self.skipped.saturating_add_signed(lines);
    }

    /// Ends scrolling where the last topics are shown.
    pub fn keep_on_screen(&mut self, size: Size) {
        self.skipped = self.skipped.min(self.sample.topics.len().saturating_sub(self.shares(size).0));
    }

    /// Numbers of topics and of groups that are shown: groups get up to a third of the terminal, topics the rest.
    fn shares(&self, size: Size) -> (usize, usize) {
        let rows = size.rows.saturating_sub(FIXED_LINES);
        let groups = self.sample.groups.len();
        let third = (rows / 3).max(rows.saturating_sub(self.sample.topics.len()));
        let groups = groups.min(third);
        (rows - groups, groups)
    }
}

/// The lines for a terminal of this size. The first line of each table is its head.
pub fn lines(view: &View, size: Size) -> Vec<String> {
    let (topics, groups) = view.shares(size);
    let text = tables(view, Some(size.columns), view.skipped..view.skipped.saturating_add(topics), groups);
    text.lines().take(size.rows).map(|line| shortened(line, size.columns)).collect()
}

/// All of it, for a script or a pager.
pub fn text(view: &View, width: Option<usize>) -> String {
    tables(view, width, 0..usize::MAX, usize::MAX)
}

fn tables(view: &View, width: Option<usize>, shown: std::ops::Range<usize>, groups_max: usize) -> String {
    let Sample { topics, groups, .. } = &view.sample;
    let mut topics: Vec<&Topic> = topics.iter().collect();
    sort(&mut topics, view.sort);
    let rows = topics.iter().skip(shown.start).take(shown.len()).map(|topic| topic_row(topic)).collect();
    let head = [
        ("TOPIC", Align::Name),
        ("PARTITIONS", Align::Right),
        ("RECORDS", Align::Right),
        ("BYTES", Align::Right),
        ("RECORDS/S", Align::Right),
        ("BYTES/S", Align::Right),
    ];
    let topics = table(head, rows, width);
    let mut groups: Vec<&Group> = groups.iter().collect();
    groups.sort_by(|a, b| (b.lag, &a.name).cmp(&(a.lag, &b.name)));
    let rows = groups.iter().take(groups_max).map(|group| group_row(group)).collect();
    let head = [
        ("GROUP", Align::Name),
        ("STATE", Align::Left),
        ("MEMBERS", Align::Right),
        ("LAG", Align::Right),
        ("RECORDS/S", Align::Right),
    ];
    let groups = table(head, rows, width);
    format!("{}\n{}\n{topics}\n{groups}", summary(view), view.failure.as_deref().unwrap_or_default())
}

/// The line on the broker.
fn summary(view: &View) -> String {
    let Sample { broker, topics, has_more_topics, groups, groups_count } = &view.sample;
    let more = |is_more: bool, max: usize| if is_more { format!(" (the first {max})") } else { String::new() };
    let rates: Option<Vec<(f64, f64)>> = topics.iter().map(|topic| topic.rates).collect();
    let rates = rates.map(|rates| rates.into_iter().fold((0.0, 0.0), |sum, rate| (sum.0 + rate.0, sum.1 + rate.1)));
    format!(
        "{}  topics {}{}, by {}  groups {groups_count}{}  in {}/s, {}/s",
        broker.escape_debug(),
        topics.len(),
        more(*has_more_topics, TOPICS_MAX),
        format!("{:?}", view.sort).to_lowercase(),
        more(groups.len() < *groups_count, GROUPS_MAX),
        rates.map_or("-".to_owned(), |rates| count(rates.0)),
        rates.map_or("-".to_owned(), |rates| bytes(rates.1)),
    )
}

fn sort(topics: &mut [&Topic], sort: Sort) {
    match sort {
        Sort::Rate => topics.sort_by(|a, b| {
            let rate = |topic: &Topic| topic.rates.map_or(0.0, |rates| rates.1);
            rate(b).total_cmp(&rate(a)).then(b.bytes.cmp(&a.bytes))
        }),
        Sort::Bytes => topics.sort_by_key(|topic| Reverse(topic.bytes)),
        Sort::Records => topics.sort_by_key(|topic| Reverse(topic.records)),
        // As they are listed.
        Sort::Name => {}
    }
}

fn topic_row(topic: &Topic) -> [String; 6] {
    let (records, bytes_rate) = topic.rates.unzip();
    [
        topic.name.escape_debug().to_string(),
        topic.partitions.to_string(),
        topic.records.to_string(),
        BinaryBytes(topic.bytes).to_string(),
        records.map_or("-".to_owned(), count),
        bytes_rate.map_or("-".to_owned(), bytes),
    ]
}

fn group_row(group: &Group) -> [String; 5] {
    [
        group.name.escape_debug().to_string(),
        group.state.name().to_owned(),
        group.members.to_string(),
        group.lag.to_string(),
        group.rate.map_or("-".to_owned(), count),
    ]
}

fn count(rate: f64) -> String {
    format!("{rate:.0}")
}

fn bytes(rate: f64) -> String {
    DecimalBytes(rate as u64).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rawline_client::GroupState;

    fn view(topics: usize, groups: usize) -> View {
        let topic = |number: usize| Topic {
            name: format!("topic-{number:04}"),
            partitions: 1,
            records: number as u64,
            bytes: 1 << 20,
            rates: Some((number as f64, 1e6 * number as f64)),
        };
        let group = |number: usize| Group {
            name: format!("group-{number:03}"),
            state: GroupState::Stable,
            members: 2,
            lag: number as u64,
            rate: Some(5.0),
        };
        let sample = Sample {
            broker: "http://127.0.0.1:51313".to_owned(),
            topics: (0..topics).map(topic).collect(),
            has_more_topics: false,
            groups: (0..groups).map(group).collect(),
            groups_count: groups,
        };
        View { sample, sort: Sort::Rate, skipped: 0, failure: None }
    }

    #[test]
    fn a_view_fits_every_terminal() {
        for (columns, rows) in [(80, 24), (200, 60), (40, 10), (20, 3), (1, 1), (80, 7)] {
            for (topics, groups) in [(0, 0), (3, 1), (1000, 100), (2, 100)] {
                let (mut view, size) = (view(topics, groups), Size { columns, rows });
                view.scroll(isize::MAX);
                view.keep_on_screen(size);
                let lines = lines(&view, size);
                assert!(lines.len() <= rows, "{columns}x{rows}: {lines:#?}");
                assert!(lines.iter().all(|line| line.chars().count() <= columns), "{columns}x{rows}: {lines:#?}");
            }
        }
    }

    #[test]
    fn the_busiest_topics_and_the_groups_with_most_lag_are_first() {
        let mut view = view(1000, 3);
        let size = Size { columns: 100, rows: 24 };
        let text = lines(&view, size).join("\n");
        assert!(text.contains("topics 1000, by rate  groups 3  in 499500/s, 499.50 GB/s"), "{text}");
        let first = |name: &str| text.lines().position(|line| line.starts_with(name));
        assert!(first("topic-0999") < first("topic-0998") && first("topic-0998") < first("GROUP"), "{text}");
        assert!(first("group-002") < first("group-000") && first("group-000").is_some(), "{text}");
        view.scroll(5);
        assert!(lines(&view, size).join("\n").contains("topic-0994") && !lines(&view, size)[3].contains("topic-0999"));
        view.scroll(-100);
        assert_eq!(view.skipped, 0);
        view.sort = Sort::Name;
        view.sample.topics[0].name = "x".repeat(300);
        view.failure = Some("cannot connect".to_owned());
        let text = lines(&view, size).join("\n");
        assert!(text.contains("xxx…") && text.contains("\ncannot connect\n"), "{text}");
        assert_eq!(super::text(&view, None).lines().count(), FIXED_LINES + 1003);
    }
}
