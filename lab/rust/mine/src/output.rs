//! The output of a measurement: a table, a page, result lines.

use crate::choose::{Standing, sentence};
use crate::error::LabError;
use crate::formats::Subject;
use crate::measure::{Operation, ROUNDS, Timing};
use lab_report::check::Party;
use lab_report::sizes::{self, Sizes};
use lab_report::{Check, Line, Machine, Report, Row, formats, page, text};

/// The figures of every row.
#[derive(Debug)]
pub struct Outcome {
    rows: Vec<Measured>,
    refused: Vec<(Row, String)>,
    /// A note for the user.
    pub notes: Vec<String>,
}

#[derive(Debug)]
struct Measured {
    row: Row,
    version: String,
    sizes: Sizes,
    timings: Vec<Timing>,
}

impl Measured {
    fn ns(&self, operation: Operation) -> Option<&Timing> {
        let place = Operation::ALL.iter().position(|known| *known == operation)?;
        self.timings.get(place)
    }
}

impl Outcome {
    /// Without rows yet.
    pub fn new(subject: &Subject<'_>, field_by_default: bool, refused: Vec<(Row, String)>) -> Outcome {
        let mut notes = subject.sample.notes.clone();
        let field = subject.path.text();
        let why = if field_by_default { ", chosen by this program; choose another with --field" } else { "" };
        notes.push(format!("the one field read is {field}{why}"));
        let share = subject.path.share(&subject.sample.messages);
        if share < 1.0 {
            notes.push(format!("{:.0} % of the messages have {field}", share * 100.0));
        }
        let inferred = [(subject.avro.inferred, "Avro"), (subject.proto.inferred, "Protobuf")];
        let inferred: Vec<&str> =
            inferred.into_iter().filter(|(inferred, _)| *inferred).map(|(_, name)| name).collect();
        if !inferred.is_empty() {
            notes.push(format!(
                "the schema for {} was inferred from {} messages",
                inferred.join(" and "),
                subject.sample.looked_at
            ));
        }
        Outcome { rows: Vec::new(), refused, notes }
    }

    /// Adds a row.
    pub fn add(&mut self, row: Row, version: String, wire: &[Vec<u8>], timings: Vec<Timing>) -> Result<(), LabError> {
        let sizes = sizes::measure(wire.iter().map(Vec::as_slice))
            .map_err(|source| LabError::File { path: "zstd".to_owned(), source })?;
        if let Some(sizes) = sizes {
            self.rows.push(Measured { row, version, sizes, timings });
        }
        Ok(())
    }

    /// The recommendation and its reason.
    fn choice(&self) -> String {
        let standings: Vec<Standing> = self
            .rows
            .iter()
            .filter_map(|measured| {
                let ns = measured.ns(Operation::Encode)?.ns + measured.ns(Operation::Decode)?.ns;
                // Rows that borrow from the bytes don't show what a whole message costs.
                let is_whole = !measured.row.variant.contains("borrowed");
                is_whole.then(|| Standing { row: measured.row.clone(), bytes: measured.sizes.bytes, ns })
            })
            .collect();
        sentence(&standings).unwrap_or_else(|| "No format could be measured.".to_owned())
    }

    /// The table for a terminal, the recommendation, and the notes.
    pub fn table(&self, case: &str) -> String {
        let head = ["format", "library", "bytes", "zstd", "dict", "batch", "encode", "decode", "field"];
        let mut lines = vec![head.map(str::to_owned).to_vec()];
        let mut rows: Vec<&Measured> = self.rows.iter().collect();
        rows.sort_by(|one, other| one.sizes.bytes.total_cmp(&other.sizes.bytes));
        for measured in rows {
            let Sizes { bytes, zstd, zstd_dictionary, zstd_batch } = measured.sizes;
            let mut line = vec![formats::name(&measured.row.format).to_owned(), measured.row.name()];
            line.extend([format!("{bytes:.0}"), format!("{zstd:.0}")]);
            line.push(zstd_dictionary.map_or("–".to_owned(), |bytes| format!("{bytes:.0}")));
            line.push(format!("{zstd_batch:.0}"));
            line.extend(measured.timings.iter().map(|Timing { ns, low, high }| {
                format!("{} {:>7}", text::time(*ns), text::spread(*ns, *low, *high).unwrap_or_default())
            }));
            lines.push(line);
        }
        let widths: Vec<usize> = (0..head.len())
            .map(|column| {
                lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
            })
            .collect();
        let mut out = format!("{case}\n");
        for line in &lines {
            let cells: Vec<String> = line
                .iter()
                .zip(&widths)
                .enumerate()
                .map(|(column, (cell, width))| {
                    let space = " ".repeat(width.saturating_sub(cell.chars().count()));
                    if column < 2 { format!("{cell}{space}") } else { format!("{space}{cell}") }
                })
                .collect();
            out.push_str(cells.join("  ").trim_end());
            out.push('\n');
        }
        out.push_str(&format!("\n{}\n", self.choice()));
        for (row, why) in &self.refused {
            out.push_str(&format!("\nwithout figures: {} by {}: {why}\n", formats::name(&row.format), row.name()));
        }
        if !self.notes.is_empty() {
            out.push('\n');
        }
        for note in &self.notes {
            out.push_str(&format!("note: {note}\n"));
        }
        out
    }

    fn lines(&self, case: &str) -> Vec<Line> {
        let time = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let machine = Machine::here();
        let mut lines = Vec::new();
        for measured in &self.rows {
            let blank = Line {
                run: "rawline-lab".to_owned(),
                commit: std::env::var("LAB_COMMIT").unwrap_or_default(),
                time: time.clone(),
                machine: machine.clone(),
                language: "rust".to_owned(),
                runtime: env!("RUSTC_VERSION").to_owned(),
                harness: format!("rawline-lab {}, {ROUNDS} interleaved rounds", env!("CARGO_PKG_VERSION")),
                format: measured.row.format.clone(),
                library: measured.row.library.clone(),
                version: measured.version.clone(),
                variant: measured.row.variant.clone(),
                case: case.to_owned(),
                size: "base".to_owned(),
                messages: "varied".to_owned(),
                threads: 1,
                ..Line::default()
            };
            let Sizes { bytes, zstd, zstd_batch, zstd_dictionary } = measured.sizes;
            lines.push(Line {
                operation: "size".to_owned(),
                bytes: Some(bytes),
                bytes_zstd: Some(zstd),
                bytes_zstd_batch: Some(zstd_batch),
                bytes_zstd_dictionary: zstd_dictionary,
                ..blank.clone()
            });
            for (operation, timing) in Operation::ALL.into_iter().zip(&measured.timings) {
                lines.push(Line {
                    operation: operation.key().to_owned(),
                    ns: Some(timing.ns),
                    ns_low: Some(timing.low),
                    ns_high: Some(timing.high),
                    confidence: Some(0.95),
                    ..blank.clone()
                });
            }
        }
        lines
    }

    /// Result lines as a file has them.
    pub fn lines_text(&self, case: &str) -> Result<String, LabError> {
        let mut text = String::new();
        for line in self.lines(case) {
            let json = serde_json::to_string(&line)
                .map_err(|error| LabError::File { path: "a result line".to_owned(), source: error.into() })?;
            text.push_str(&json);
            text.push('\n');
        }
        Ok(text)
    }

    /// The page.
    pub fn page(&self, case: &str, subject: &Subject<'_>) -> String {
        let check = |row: &Row, ok: bool, error: &str| {
            let Row { language, format, library, variant } = row.clone();
            let party = Party { language, library, variant };
            let (case, size, error) = (case.to_owned(), "base".to_owned(), error.to_owned());
            Check { writer: party.clone(), reader: party, format, case, size, ok, error, run: String::new() }
        };
        let mut checks: Vec<Check> = self.rows.iter().map(|measured| check(&measured.row, true, "")).collect();
        checks.extend(self.refused.iter().map(|(row, why)| check(row, false, why)));
        let mut report = Report::new(&self.lines(case), &checks, &[]);
        report.refused.extend(self.refused.iter().map(|(row, why)| lab_report::Refused {
            row: row.clone(),
            case: case.to_owned(),
            why: why.clone(),
        }));
        report.title = format!("Wire formats on {case}");
        report.words = vec![self.choice()];
        let mut notes: Vec<String> = self.notes.iter().map(|note| capital(note)).collect();
        notes.push(
            "Measured are formats that need no schema or take one when the program runs. Code made from a schema is \
             faster."
                .to_owned(),
        );
        report.words.push(format!("{}.", notes.join(". ").trim_end_matches('.')));
        let mark = |inferred: bool| if inferred { "inferred" } else { "given" };
        report.folds = vec![
            (format!("The Avro schema, {}", mark(subject.avro.inferred)), subject.avro.text.clone()),
            (format!("The Protobuf schema, {}", mark(subject.proto.inferred)), subject.proto.text.clone()),
        ];
        page::html(&report)
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
