//! The tables of the documentation, as Markdown.

use crate::article::{Article, ArticleRow};
use crate::figure::{Figure, Operation, Row, Setting};
use crate::report::{Report, case_place, size_place};
use crate::text::{self, cell};
use crate::{formats, stage};
use std::collections::BTreeSet;

/// The table of that name, or an error that lists the names.
pub fn table(name: &str, report: &Report, article: &Article) -> Result<String, String> {
    let mut words = name.split_whitespace();
    match (words.next(), words.next(), words.next()) {
        (Some(case @ ("pingpong" | "doubles" | "strings")), None, None) => Ok(next_to_article(case, report, article)),
        (Some("case"), Some(case), None) => Ok(of_case(case, report)),
        (Some("growth"), Some(case), Some(operation)) => {
            match Operation::ALL.iter().find(|known| known.key() == operation) {
                Some(operation) => Ok(growth(case, *operation, report)),
                None => Err(format!("{operation:?} isn't an operation")),
            }
        }
        (Some("best"), case, None) => Ok(best(case, report)),
        (Some("self-describing"), Some(case), None) => Ok(self_describing(case, report)),
        (Some("conformance"), None, None) => Ok(conformance(report)),
        (Some("refused"), None, None) => Ok(refused(report)),
        (Some("evolution"), None, None) => Ok(evolution(report)),
        (Some("machine"), None, None) => Ok(machine(report)),
        _ => Err(format!(
            "there is no table {name:?}; there are pingpong, doubles, strings, case CASE, growth CASE OPERATION, \
             best, best CASE, self-describing CASE, \
             conformance, refused, evolution and machine"
        )),
    }
}

fn setting(case: &str, size: &str, operation: Operation) -> Setting {
    let (case, size, messages) = (case.to_owned(), size.to_owned(), "varied".to_owned());
    Setting { case, size, messages, operation, threads: 1 }
}

/// A Markdown table with the head `"format | bytes"`; columns but the first `texts` are numbers.
fn markdown(head: &str, texts: usize, rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return "Not measured yet.\n".to_owned();
    }
    let columns = head.split(" | ").enumerate();
    let rule: Vec<&str> = columns.map(|(column, _)| if column < texts { "---" } else { "---:" }).collect();
    let mut table = format!("| {head} |\n|{}|\n", rule.join("|"));
    for row in rows {
        table.push_str(&format!("| {} |\n", row.join(" | ")));
    }
    table
}

/// The rows that have a time in the case, by format and then by language.
fn rows_of(report: &Report, case: &str) -> Vec<Row> {
    let rows: BTreeSet<&Row> = report
        .figures
        .iter()
        .filter(|figure| figure.setting.case == case && figure.setting.operation.is_time())
        .map(|figure| &figure.row)
        .collect();
    let mut rows: Vec<Row> = rows.into_iter().cloned().collect();
    rows.sort_by_key(|row| (formats::place(&row.format), row.format.clone(), row.language.clone()));
    rows
}

/// Format and library; with a dagger if the row has a caveat in some operation.
fn named(row: &Row) -> [String; 2] {
    let dagger = if Operation::ALL.iter().any(|operation| row.caveat(*operation).is_some()) { " †" } else { "" };
    [cell(formats::name(&row.format)), cell(&format!("{}{dagger} ({})", row.name(), text::language(&row.language)))]
}

/// Messages per millisecond, and the interval's reach.
fn per_ms(figure: Option<&Figure>) -> String {
    figure.map_or("–".to_owned(), |figure| {
        let rate = 1e6 / figure.value;
        let half = rate * text::reach(figure.value, figure.low, figure.high);
        if half > 0.0 { format!("{rate:.0} ±{half:.0}") } else { format!("{rate:.0}") }
    })
}

fn time(figure: Option<&Figure>) -> String {
    figure.map_or("–".to_owned(), |figure| {
        let spread = text::spread(figure.value, figure.low, figure.high);
        spread.map_or_else(|| text::time(figure.value), |spread| format!("{} {spread}", text::time(figure.value)))
    })
}

/// For Python this isn't what was allocated: see [`text::is_held`].
fn alloc(encode: Option<&Figure>, decode: Option<&Figure>) -> String {
    let held = [encode, decode].into_iter().flatten().any(|figure| text::is_held(&figure.row.language));
    let word = if held { " held" } else { "" };
    let one = |figure: Option<&Figure>| {
        figure.and_then(|figure| figure.alloc_bytes).map_or("–".to_owned(), |bytes| format!("{bytes:.0}"))
    };
    match (one(encode), one(decode)) {
        (encode, decode) if encode == "–" && decode == "–" => "–".to_owned(),
        (encode, decode) => format!("{encode} / {decode}{word}"),
    }
}

/// One of the published tables: its figures next to ours.
fn next_to_article(case: &str, report: &Report, article: &Article) -> String {
    let mut published: Vec<&ArticleRow> = article.rows.iter().filter(|row| row.case == case).collect();
    let mut rows = Vec::new();
    let dash = || vec!["–".to_owned(); 4];
    let theirs = |row: &ArticleRow| {
        let rate = |[rate, half]: [f64; 2]| format!("{rate:.0} ±{half:.0}");
        vec![
            format!("{} {}: {:.0}", cell(&row.library), row.version, row.bytes),
            rate(row.encode_per_ms),
            rate(row.decode_per_ms),
            format!("{:.0} / {:.0}", row.encode_alloc_bytes, row.decode_alloc_bytes),
        ]
    };
    let mut others = Vec::new();
    for row in rows_of(report, case) {
        let encode = report.figure(&row, &setting(case, "base", Operation::Encode)).cloned();
        let decode = report.figure(&row, &setting(case, "base", Operation::Decode)).cloned();
        if encode.is_none() && decode.is_none() {
            continue;
        }
        let bytes = report.bytes(&row, case, "base").map_or("–".to_owned(), |bytes| format!("{bytes:.0}"));
        let mut cells = named(&row).to_vec();
        cells.extend([
            bytes,
            per_ms(encode.as_ref()),
            per_ms(decode.as_ref()),
            alloc(encode.as_ref(), decode.as_ref()),
        ]);
        if row.language != "java" {
            others.push(cells);
            continue;
        }
        let counterpart = published.iter().position(|published| {
            row.variant.is_empty()
                && row.format == published.format
                && row.library.to_lowercase().starts_with(&published.counterpart)
        });
        cells.extend(counterpart.map_or_else(dash, |place| theirs(published.remove(place))));
        rows.push(cells);
    }
    // Rows of the article that we have no row for.
    for row in published {
        let mut cells = vec![cell(formats::name(&row.format)), cell(&format!("{} (Java)", row.library))];
        cells.extend(dash());
        cells.extend(theirs(row));
        rows.push(cells);
    }
    let ours = "format | library | bytes | encode/ms | decode/ms | B allocated";
    let mut tables = markdown(&format!("{ours} | published: bytes | ser/ms | de/ms | B allocated"), 2, &rows);
    if !others.is_empty() {
        // It published nothing for these.
        let table = markdown(ours, 2, &others);
        tables.push_str(&format!("\n<details><summary>The same in Rust and Python</summary>\n\n{table}\n</details>\n"));
    }
    tables
}

/// All figures of one case's messages at their base size.
fn of_case(case: &str, report: &Report) -> String {
    let rows: Vec<Vec<String>> = rows_of(report, case)
        .iter()
        .map(|row| {
            let of = |operation| report.figure(row, &setting(case, "base", operation));
            let (encode, decode) = (of(Operation::Encode), of(Operation::Decode));
            let bytes = |operation| of(operation).map_or("–".to_owned(), |figure| format!("{:.0}", figure.value));
            let mut cells = named(row).to_vec();
            cells.push(report.bytes(row, case, "base").map_or("–".to_owned(), |bytes| format!("{bytes:.0}")));
            cells.extend([bytes(Operation::BytesZstd), bytes(Operation::BytesZstdBatch)]);
            cells.extend([time(encode), time(decode), time(of(Operation::Field)), time(of(Operation::Fields))]);
            cells.push(alloc(encode, decode));
            cells
        })
        .collect();
    let head = "format | library | bytes | zstd | zstd batch | encode | decode | one field | every field | B allocated";
    markdown(head, 2, &rows)
}

/// One operation over the sizes.
fn growth(case: &str, operation: Operation, report: &Report) -> String {
    let mut sizes: Vec<&String> = report
        .figures
        .iter()
        .filter(|figure| figure.setting.case == case && figure.setting.operation == operation)
        .map(|figure| &figure.setting.size)
        .filter(|size| text::size_bytes(size).is_some())
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    sizes.sort_by(|one, other| size_place(one).total_cmp(&size_place(other)));
    let head: String = sizes.iter().map(|size| format!(" | {}", text::size(size))).collect();
    let rows: Vec<Vec<String>> = rows_of(report, case)
        .iter()
        .filter_map(|row| {
            let figures: Vec<Option<&Figure>> =
                sizes.iter().map(|size| report.figure(row, &setting(case, size, operation))).collect();
            figures.iter().any(Option::is_some).then(|| {
                let mut cells = named(row).to_vec();
                cells.extend(
                    figures.iter().map(|figure| figure.map_or("–".to_owned(), |figure| text::time(figure.value))),
                );
                cells
            })
        })
        .collect();
    if sizes.is_empty() {
        "Not measured yet.\n".to_owned()
    } else {
        markdown(&format!("format | library{head}"), 2, &rows)
    }
}

/// For each case (or for one), language and operation: the fastest rows that do the whole work, and the fastest of
/// those that need no schema.
fn best(wanted: Option<&str>, report: &Report) -> String {
    let mut cases: Vec<&String> =
        report.figures.iter().map(|figure| &figure.setting.case).collect::<BTreeSet<_>>().into_iter().collect();
    cases.retain(|case| wanted.is_none_or(|wanted| *case == wanted));
    cases.sort_by_key(|case| case_place(case));
    let mut rows = Vec::new();
    for case in cases {
        for operation in [Operation::Encode, Operation::Decode, Operation::Field, Operation::Fields] {
            let setting = setting(case, "base", operation);
            for language in report.languages() {
                let is_compared =
                    |figure: &&Figure| figure.row.language == language && figure.row.caveat(operation).is_none();
                let all: Vec<&Figure> = report.of(&setting).filter(is_compared).collect();
                if all.is_empty() {
                    continue;
                }
                let describes_itself = |figure: &&&Figure| formats::is_self_describing(&figure.row.format);
                let self_describing: Vec<&Figure> = all.iter().filter(describes_itself).copied().collect();
                rows.push(vec![
                    text::case(case),
                    operation.title().to_owned(),
                    text::language(&language),
                    fastest(&all),
                    fastest(&self_describing),
                ]);
            }
        }
    }
    markdown("messages | operation | language | fastest | fastest that needs no schema", 5, &rows)
}

/// The fastest of these figures, which are in the order of their values, and those that the measurement can't tell from
/// it: their intervals overlap.
fn fastest(figures: &[&Figure]) -> String {
    const NAMED_MAX: usize = 4;
    let Some(first) = figures.first() else { return "–".to_owned() };
    let equal: Vec<&&Figure> = figures.iter().filter(|figure| figure.low <= first.high).collect();
    let say = |figure: &&&Figure| {
        let format = formats::name(&figure.row.format);
        cell(&format!("{format} by {}: {}", figure.row.name(), text::time(figure.value)))
    };
    let mut said: Vec<String> = equal.iter().take(NAMED_MAX).map(say).collect();
    if equal.len() > NAMED_MAX {
        said.push(format!("{} more", equal.len() - NAMED_MAX));
    }
    said.join("; ")
}

/// For each format that needs no schema its best row in each operation, and the ratio to the best of them.
fn self_describing(case: &str, report: &Report) -> String {
    let operations = [Operation::Bytes, Operation::Encode, Operation::Decode, Operation::Field];
    let mut rows = Vec::new();
    for language in report.languages() {
        let best = |operation, format: Option<&str>| {
            report
                .of(&setting(case, "base", operation))
                .filter(|figure| figure.row.language == language && formats::is_self_describing(&figure.row.format))
                .filter(|figure| figure.row.caveat(operation).is_none())
                .find(|figure| format.is_none_or(|format| figure.row.format == format))
        };
        for format in report.formats().iter().filter(|format| formats::is_self_describing(format)) {
            let cells = operations.map(|operation| match (best(operation, Some(format)), best(operation, None)) {
                (Some(figure), Some(least)) => {
                    let amount = text::amount(figure.value, operation.is_time());
                    format!("{amount} ({:.2}x)", figure.value / least.value)
                }
                _ => "–".to_owned(),
            });
            if cells.iter().any(|cell| cell != "–") {
                let mut row = vec![text::language(&language), cell(formats::name(format))];
                row.extend(cells);
                rows.push(row);
            }
        }
    }
    markdown("language | format | bytes | encode | decode | one field", 2, &rows)
}

fn conformance(report: &Report) -> String {
    let matrix = &report.conformance.matrix;
    let pairs = report.conformance.pairs();
    let name =
        |(writer, reader): &(&String, &String)| format!(" | {} → {}", text::language(writer), text::language(reader));
    let head: String = pairs.iter().map(name).collect();
    let rows: Vec<Vec<String>> = report
        .conformance
        .formats()
        .iter()
        .map(|format| {
            let mut cells = vec![cell(formats::name(format))];
            cells.extend(pairs.iter().map(|(writer, reader)| {
                match matrix.get(&((*writer).clone(), (*reader).clone(), (*format).clone())) {
                    Some((passed, 0)) => format!("{passed}"),
                    Some((passed, failed)) => format!("**{passed} of {}**", passed + failed),
                    None => "–".to_owned(),
                }
            }));
            cells
        })
        .collect();
    if rows.is_empty() { "Not checked yet.\n".to_owned() } else { markdown(&format!("format{head}"), 1, &rows) }
}

fn refused(report: &Report) -> String {
    if report.refused.is_empty() {
        return "Every row that was measured has passed its checks.\n".to_owned();
    }
    let rows: Vec<Vec<String>> = report
        .refused_rows()
        .into_iter()
        .map(|(row, cases, why)| {
            let cases: Vec<String> = cases.into_iter().map(text::case).collect();
            let mut cells = named(row).to_vec();
            cells.extend([cases.join(", "), cell(&text::short(why, 200))]);
            cells
        })
        .collect();
    markdown("format | library | messages | why", 4, &rows)
}

fn evolution(report: &Report) -> String {
    let Some(evolution) = &report.evolution else { return "Not tested yet.\n".to_owned() };
    let head = format!("format | {}", evolution.changes.join(" | "));
    let rows: Vec<Vec<String>> = evolution
        .rows
        .iter()
        .map(|(format, cells)| {
            let mut row = vec![cell(formats::name(format))];
            row.extend(cells.iter().map(|text| cell(text)));
            row
        })
        .collect();
    let mut table = markdown(&head, 1 + evolution.changes.len(), &rows);
    table.push('\n');
    for (word, meaning) in &evolution.meanings {
        table.push_str(&format!("- **{}**: {}\n", cell(word), cell(meaning.as_str().unwrap_or_default())));
    }
    table.push_str("\n<details><summary>Notes on each format</summary>\n\n");
    for (format, notes) in &evolution.notes {
        table.push_str(&format!("- {}: {}\n", cell(formats::name(format)), cell(&notes.join("; "))));
    }
    table.push_str("\n</details>\n");
    table
}

fn machine(report: &Report) -> String {
    let rows: Vec<Vec<String>> = report
        .sources
        .iter()
        .map(|source| {
            let versions: Vec<String> =
                source.versions.iter().map(|(library, version)| format!("{library} {version}")).collect();
            let quick = if source.quick { " (quick)" } else { "" };
            vec![
                text::language(&source.language),
                cell(&format!("{}{quick}, commit {}, {}", source.run, source.commit, source.time)),
                cell(&source.machine.describe()),
                cell(&format!("{}, {}", source.runtime, source.harness)),
                cell(&versions.join(", ")),
            ]
        })
        .collect();
    markdown("language | run | machine | runtime and harness | versions", 5, &rows)
}

/// The picture of that name, as [`stage`] names its charts.
pub fn picture(name: &str, report: &Report) -> Option<String> {
    let settings = report.settings();
    if let Some(setting) = settings.iter().find(|setting| stage::setting_name(setting) == name) {
        return Some(stage::bars(report, setting).picture());
    }
    if let Some(rest) = name.strip_prefix("scatter-") {
        let setting = settings.iter().find(|setting| stage::setting_name(setting) == rest)?;
        return stage::scatter(report, setting).map(|chart| chart.picture());
    }
    let (case, operation) = name.split_once("-growth-")?;
    let operation = Operation::ALL.into_iter().find(|known| known.key() == operation)?;
    stage::growth(report, case, operation).map(|chart| chart.picture())
}
