//! What may be shown of the result lines: one run, each figure once, and only with passed conformance checks.

use crate::check::{Check, Conformance};
use crate::evolution::Evolution;
use crate::figure::{Figure, Operation, Row, Setting, figures_of};
use crate::line::{Line, Machine};
use crate::{formats, text};
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;

/// Everything that the page and the tables show.
#[derive(Debug, Default)]
pub struct Report {
    /// The page's heading.
    pub title: String,
    /// Paragraphs of plain text below the heading.
    pub words: Vec<String>,
    /// The figures, each setting's in the order of their values.
    pub figures: Vec<Figure>,
    /// Rows that have no figure, and why.
    pub refused: Vec<Refused>,
    /// Which languages read the messages of the others.
    pub conformance: Conformance,
    /// Where the figures come from, one entry per run and language.
    pub sources: Vec<Source>,
    /// Outcomes of schema changes.
    pub evolution: Option<Evolution>,
    /// Collapsed texts: a name and the text.
    pub folds: Vec<(String, String)>,
    /// Skipped lines, and why.
    pub bad: Vec<String>,
    /// Where each setting's figures are.
    ranges: HashMap<Setting, Range<usize>>,
}

/// A row that isn't shown in a case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refused {
    /// Which row.
    pub row: Row,
    /// In which case.
    pub case: String,
    /// Why.
    pub why: String,
}

/// Where figures come from.
#[derive(Debug, Clone, Default, PartialEq, PartialOrd)]
pub struct Source {
    /// The run.
    pub run: String,
    /// The language.
    pub language: String,
    /// The commit of the code.
    pub commit: String,
    /// When the first of its lines was written, in RFC 3339.
    pub time: String,
    /// Compiler or virtual machine.
    pub runtime: String,
    /// The harness.
    pub harness: String,
    /// The machine.
    pub machine: Machine,
    /// Whether it was a quick run.
    pub quick: bool,
    /// Libraries and their versions.
    pub versions: BTreeSet<(String, String)>,
}

impl Report {
    /// What may be shown of these lines and checks. `runs` names the runs to combine; if it is empty, that is the
    /// newest full run, or the newest quick one if there is no full one. An incomplete run, which has no sizes, is used
    /// if there is no other.
    pub fn new(lines: &[Line], checks: &[Check], runs: &[String]) -> Report {
        let newest = |wanted: &dyn Fn(&Line) -> bool| newest_run(lines, wanted).into_iter().collect::<Vec<_>>();
        let timed = if runs.is_empty() {
            let ended: HashSet<&str> =
                lines.iter().filter(|line| line.operation == "size").map(|line| line.run.as_str()).collect();
            let newest = |only_ended: bool, only_full: bool| {
                newest(&|line: &Line| {
                    line.operation != "size"
                        && !(only_full && line.quick)
                        && (!only_ended || ended.contains(line.run.as_str()))
                })
            };
            let choices = [(true, true), (true, false), (false, true), (false, false)];
            choices.into_iter().map(|(ended, full)| newest(ended, full)).find(|run| !run.is_empty()).unwrap_or_default()
        } else {
            runs.to_vec()
        };
        // Bytes are the same in every run of a commit, so those of another run are better than no bytes.
        let is_size = |line: &Line| line.operation == "size" && timed.contains(&line.run);
        let sized = if lines.iter().any(is_size) { timed.clone() } else { newest(&|line| line.operation == "size") };

        let mut report = Report { conformance: Conformance::new(checks), ..Report::default() };
        let mut kept: HashMap<(Row, Setting), Figure> = HashMap::new();
        let mut measured: HashMap<(Row, Setting), &str> = HashMap::new();
        let mut refused = BTreeSet::new();
        for line in lines {
            let runs = if line.operation == "size" { &sized } else { &timed };
            if !runs.contains(&line.run) {
                continue;
            }
            let figures = match figures_of(line) {
                Ok(figures) => figures,
                Err(why) => {
                    report.bad.push(format!("a line of run {}: {why}", line.run));
                    continue;
                }
            };
            report.add_source(line);
            for figure in figures {
                if let Some(why) = report.conformance.refusal(&figure.row, &figure.setting.case) {
                    refused.insert(Refused { row: figure.row, case: figure.setting.case, why });
                    continue;
                }
                let key = (figure.row.clone(), figure.setting.clone());
                // Bytes of an incomplete run may be measured again. Times of one run are of one pass.
                if figure.setting.operation.is_time() && measured.insert(key.clone(), &line.run) == Some(&line.run) {
                    report.bad.push(format!(
                        "run {} has measured {} of {} ({}) twice; give every pass its own LAB_RUN",
                        line.run,
                        figure.row.name(),
                        figure.setting.case,
                        figure.setting.operation.key(),
                    ));
                    continue;
                }
                kept.insert(key, figure);
            }
        }
        report.refused = refused.into_iter().collect();
        report.set_figures(kept.into_values().collect());
        report
    }

    /// Sets these figures, sorted.
    pub fn set_figures(&mut self, figures: Vec<Figure>) {
        self.figures = figures;
        self.figures.sort_by(|one, other| {
            let place = |figure: &Figure| {
                let Setting { case, size, messages, operation, threads } = figure.setting.clone();
                (case_place(&case), case, size_place(&size), operation, messages != "varied", threads)
            };
            place(one)
                .partial_cmp(&place(other))
                .unwrap_or(std::cmp::Ordering::Equal)
                .then(one.value.total_cmp(&other.value))
                .then_with(|| one.row.cmp(&other.row))
        });
        self.ranges.clear();
        for (index, figure) in self.figures.iter().enumerate() {
            match self.ranges.get_mut(&figure.setting) {
                Some(range) => range.end = index + 1,
                None => {
                    self.ranges.insert(figure.setting.clone(), index..index + 1);
                }
            }
        }
    }

    fn add_source(&mut self, line: &Line) {
        let is_its = |source: &Source| {
            source.run == line.run && source.language == line.language && source.harness == line.harness
        };
        if !self.sources.iter().any(is_its) && line.operation != "size" {
            self.sources.push(Source {
                run: line.run.clone(),
                language: line.language.clone(),
                commit: line.commit.clone(),
                time: line.time.clone(),
                runtime: line.runtime.clone(),
                harness: line.harness.clone(),
                machine: line.machine.clone(),
                quick: line.quick,
                versions: BTreeSet::new(),
            });
        }
        let source = self.sources.iter_mut().find(|source| is_its(source));
        if let (Some(source), false) = (source, line.version.is_empty()) {
            source.versions.insert((line.library.clone(), line.version.clone()));
        }
    }

    /// The figures of one setting, ascending.
    pub fn of(&self, setting: &Setting) -> std::slice::Iter<'_, Figure> {
        let range = self.ranges.get(setting).cloned().unwrap_or_default();
        self.figures.get(range).unwrap_or_default().iter()
    }

    /// A row's figure in a setting.
    pub fn figure(&self, row: &Row, setting: &Setting) -> Option<&Figure> {
        self.of(setting).find(|figure| figure.row == *row)
    }

    /// Mean bytes of a row's messages, uncompressed or compressed. If it wrote none, those of its library as
    /// documented; then of its language's; then of any in the format. A variant may be another encoding (packed), so
    /// that it isn't used for other rows.
    pub fn size(&self, row: &Row, case: &str, size: &str, operation: Operation) -> Option<f64> {
        let (case, size, messages) = (case.to_owned(), size.to_owned(), "varied".to_owned());
        let setting = Setting { case, size, messages, operation, threads: 1 };
        let documented =
            || self.of(&setting).filter(|figure| figure.row.format == row.format && figure.row.variant.is_empty());
        let of_language = || documented().filter(|figure| figure.row.language == row.language);
        self.figure(row, &setting)
            .or_else(|| of_language().find(|figure| figure.row.library == row.library))
            .or_else(|| of_language().next())
            .or_else(|| documented().next())
            .map(|figure| figure.value)
    }

    /// Mean bytes of a row's messages.
    pub fn bytes(&self, row: &Row, case: &str, size: &str) -> Option<f64> {
        self.size(row, case, size, Operation::Bytes)
    }

    /// The rows without figures, each with its cases and the reason of the first.
    pub fn refused_rows(&self) -> Vec<(&Row, Vec<&str>, &str)> {
        let mut rows: Vec<(&Row, Vec<&str>, &str)> = Vec::new();
        for Refused { row, case, why } in &self.refused {
            match rows.last_mut() {
                Some((last, cases, _)) if *last == row => cases.push(case),
                _ => rows.push((row, vec![case], why)),
            }
        }
        rows
    }

    /// The settings that have figures, in order.
    pub fn settings(&self) -> Vec<Setting> {
        let mut settings: Vec<Setting> = self.figures.iter().map(|figure| figure.setting.clone()).collect();
        settings.dedup();
        settings
    }

    /// The languages that have figures, in order.
    pub fn languages(&self) -> Vec<String> {
        let languages: BTreeSet<&String> = self.figures.iter().map(|figure| &figure.row.language).collect();
        let mut languages: Vec<String> = languages.into_iter().cloned().collect();
        languages.sort_by_key(|language| language_place(language));
        languages
    }

    /// The formats that have figures, in order.
    pub fn formats(&self) -> Vec<String> {
        let formats: BTreeSet<&String> = self.figures.iter().map(|figure| &figure.row.format).collect();
        let mut formats: Vec<String> = formats.into_iter().cloned().collect();
        formats.sort_by_key(|format| formats::place(format));
        formats
    }

    /// The machines, commits and times in one line each.
    pub fn provenance(&self) -> Vec<String> {
        let mut said: BTreeMap<(String, String, String), Vec<&Source>> = BTreeMap::new();
        for source in &self.sources {
            let key = (source.run.clone(), source.commit.clone(), source.machine.describe());
            said.entry(key).or_default().push(source);
        }
        said.into_iter()
            .map(|((run, commit, machine), sources)| {
                let runtimes: Vec<String> = sources
                    .iter()
                    .map(|source| {
                        format!("{}: {}, {}", text::language(&source.language), source.runtime, source.harness)
                    })
                    .collect();
                let time = sources.iter().map(|source| source.time.as_str()).min().unwrap_or_default();
                let quick = if sources.iter().any(|source| source.quick) { "quick run" } else { "run" };
                let commit = if commit.is_empty() { String::new() } else { format!(" of commit {commit}") };
                format!("{quick} {run}{commit}, {time}, on {machine} ({})", runtimes.join("; "))
            })
            .collect()
    }
}

/// The run whose newest line is the newest of those wanted.
fn newest_run(lines: &[Line], wanted: &dyn Fn(&Line) -> bool) -> Option<String> {
    let time = |line: &Line| line.time.parse::<Timestamp>().unwrap_or(Timestamp::MIN);
    // Lines are appended: of two with the same time, the later line is newer.
    lines.iter().filter(|line| wanted(line)).max_by_key(|line| time(line)).map(|line| line.run.clone())
}

/// A case's place in lists; unknown ones follow.
pub fn case_place(case: &str) -> usize {
    ["zeek", "pingpong", "doubles", "strings", "measurement", "order"]
        .iter()
        .position(|known| *known == case)
        .unwrap_or(usize::MAX)
}

/// A size's place in lists: `base` first, then as they grow.
pub fn size_place(size: &str) -> f64 {
    text::size_bytes(size).unwrap_or(-1.0)
}

fn language_place(language: &str) -> usize {
    ["rust", "java", "python"].iter().position(|known| *known == language).unwrap_or(usize::MAX)
}
