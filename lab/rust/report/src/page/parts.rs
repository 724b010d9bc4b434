//! The page's parts other than charts: filters, conformance, evolution, provenance, how to read the figures.

use crate::figure::{Operation, Setting};
use crate::formats;
use crate::report::{Report, case_place, size_place};
use crate::text::{self, escape};
use std::collections::BTreeSet;

/// The filters.
pub fn filters(report: &Report) -> String {
    let settings = report.settings();
    let of = |part: fn(&Setting) -> String| -> Vec<String> {
        let all: BTreeSet<String> = settings.iter().map(part).collect();
        all.into_iter().collect()
    };
    let mut cases = of(|setting| setting.case.clone());
    cases.sort_by_key(|case| case_place(case));
    let mut sizes = of(|setting| setting.size.clone());
    sizes.sort_by(|one, other| size_place(one).total_cmp(&size_place(other)));
    let mut messages = of(|setting| setting.messages.clone());
    messages.reverse();
    let mut threads = of(|setting| setting.threads.to_string());
    threads.sort_by_key(|threads| threads.parse::<u32>().unwrap_or(0));
    let mut operations = vec![("*".to_owned(), "all".to_owned())];
    for operation in Operation::ALL {
        if settings.iter().any(|setting| setting.operation == operation) {
            operations.push((operation.key().to_owned(), operation.title().to_owned()));
        }
    }
    let named = |keys: Vec<String>, name: fn(&str) -> String| -> Vec<(String, String)> {
        keys.into_iter().map(|key| (key.clone(), name(&key))).collect()
    };
    let mut html = "<form id=\"filters\" hidden><fieldset><legend>Messages and work</legend>".to_owned();
    html.push_str(&select("case", "Messages", &named(cases, text::case)));
    html.push_str(&select("size", "Size as JSON", &named(sizes, text::size)));
    html.push_str(&select("operation", "Operation", &operations));
    let repeated = |key: &str| if key == "one" { "one, again and again" } else { key }.to_owned();
    html.push_str(&select("messages", "Messages are", &named(messages, repeated)));
    html.push_str(&select("threads", "Threads", &named(threads, str::to_owned)));
    html.push_str("</fieldset>");
    let languages = report.languages();
    if languages.len() > 1 {
        html.push_str("<fieldset><legend>Languages</legend>");
        for key in &languages {
            html.push_str(&format!(
                "<label><input type=\"checkbox\" name=\"language\" value=\"{}\" checked> {}</label>",
                escape(key),
                escape(&text::language(key))
            ));
        }
        html.push_str("</fieldset>");
    }
    html.push_str("<fieldset><legend>Formats</legend>");
    for key in report.formats() {
        html.push_str(&format!(
            "<label class=\"f-{}\"><input type=\"checkbox\" name=\"format\" value=\"{}\" checked> \
             <span class=\"swatch\" aria-hidden=\"true\"></span><span class=\"word\">{}</span></label>",
            formats::class(&key),
            escape(&key),
            escape(formats::name(&key))
        ));
    }
    for (key, name) in [("all", "all"), ("none", "none"), ("self", "without a schema"), ("schema", "with a schema")] {
        html.push_str(&format!("<button type=\"button\" data-formats=\"{key}\">{name}</button>"));
    }
    html.push_str("</fieldset></form>\n");
    html
}

fn select(name: &str, label: &str, options: &[(String, String)]) -> String {
    // A single option isn't a choice; the script still reads it.
    let hidden = if options.len() < 2 { " hidden" } else { "" };
    let options: String = options
        .iter()
        .map(|(key, text)| format!("<option value=\"{}\">{}</option>", escape(key), escape(text)))
        .collect();
    format!("<label{hidden}>{label} <select name=\"{name}\">{options}</select></label>")
}

/// Machine, commit and versions in a few lines.
pub fn provenance(report: &Report) -> String {
    report.provenance().iter().map(|line| format!("<p class=\"quiet\">Figures of {}.</p>", escape(line))).collect()
}

/// The sections below the figures.
pub fn rest(report: &Report) -> String {
    [folds(report), conformance(report), evolution(report), versions(report), how_to_read(report)].concat()
}

fn folds(report: &Report) -> String {
    report
        .folds
        .iter()
        .map(|(name, text)| {
            format!("<details><summary>{}</summary><pre>{}</pre></details>", escape(name), escape_lines(text))
        })
        .collect()
}

fn escape_lines(text: &str) -> String {
    text.lines().map(escape).collect::<Vec<_>>().join("\n")
}

fn conformance(report: &Report) -> String {
    let matrix = &report.conformance.matrix;
    if matrix.is_empty() && report.refused.is_empty() {
        return String::new();
    }
    let mut html =
        "<section><h2>Conformance</h2><p>What one language wrote, another read to equal values, before anything was \
         timed: floats bit by bit, absent fields absent. Passed checks.</p>"
            .to_owned();
    let pairs = report.conformance.pairs();
    html.push_str("<div class=\"wide\"><table><thead><tr><th scope=\"col\">format</th>");
    for (writer, reader) in &pairs {
        let (writer, reader) = (text::language(writer), text::language(reader));
        html.push_str(&format!("<th scope=\"col\">{} → {}</th>", escape(&writer), escape(&reader)));
    }
    html.push_str("</tr></thead><tbody>");
    for format in report.conformance.formats() {
        html.push_str(&format!("<tr><th scope=\"row\">{}</th>", escape(formats::name(format))));
        for (writer, reader) in &pairs {
            let key = ((*writer).clone(), (*reader).clone(), format.clone());
            html.push_str(&match matrix.get(&key) {
                Some((passed, 0)) => format!("<td class=\"good\">✓ {passed}</td>"),
                Some((passed, failed)) => format!("<td class=\"bad\">✗ {passed} of {}</td>", passed + failed),
                None => "<td class=\"quiet\">–</td>".to_owned(),
            });
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div>");
    if !report.refused.is_empty() {
        html.push_str("<h3>Without figures</h3><ul>");
        for (row, cases, why) in report.refused_rows() {
            let cases: Vec<String> = cases.into_iter().map(text::case).collect();
            html.push_str(&format!(
                "<li><b>{}</b>, {} ({}), {}: {}</li>",
                escape(formats::name(&row.format)),
                escape(&row.name()),
                escape(&text::language(&row.language)),
                escape(&cases.join(", ")),
                escape(&text::short(why, 300))
            ));
        }
        html.push_str("</ul>");
    }
    html.push_str("</section>");
    html
}

fn evolution(report: &Report) -> String {
    let Some(evolution) = &report.evolution else { return String::new() };
    let mut html = "<section><h2>When a schema changes</h2><p>Outcomes of tests that make each change: what a new \
     reader gets from old bytes / an old reader from new bytes.</p>\
                    <div class=\"wide\"><table id=\"evolution\"><thead><tr><th scope=\"col\">format</th>"
        .to_owned();
    for change in &evolution.changes {
        html.push_str(&format!("<th scope=\"col\">{}</th>", escape(change)));
    }
    html.push_str("</tr></thead><tbody>");
    for (format, cells) in &evolution.rows {
        html.push_str(&format!("<tr><th scope=\"row\">{}</th>", escape(formats::name(format))));
        for cell in cells {
            // Readers look for wrong results without an error.
            let marked = escape(cell).replace("wrong", "<b>wrong</b>").replace("lost", "<b>lost</b>");
            html.push_str(&format!("<td>{marked}</td>"));
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div><dl>");
    for (word, meaning) in &evolution.meanings {
        let meaning = meaning.as_str().unwrap_or_default();
        html.push_str(&format!("<dt>{}</dt><dd>{}</dd>", escape(word), escape(meaning)));
    }
    html.push_str("</dl><details><summary>Notes on each format</summary><ul>");
    for (format, notes) in &evolution.notes {
        html.push_str(&format!("<li><b>{}</b>: {}</li>", escape(formats::name(format)), escape(&notes.join("; "))));
    }
    html.push_str("</ul></details></section>");
    html
}

fn versions(report: &Report) -> String {
    let mut html = "<section><h2>Machine and versions</h2>".to_owned();
    for source in &report.sources {
        let versions: Vec<String> =
            source.versions.iter().map(|(library, version)| format!("{library} {version}")).collect();
        html.push_str(&format!(
            "<p><b>{}</b>: {}, {}, on {}.<br><span class=\"quiet\">{}</span></p>",
            escape(&text::language(&source.language)),
            escape(&source.runtime),
            escape(&source.harness),
            escape(&source.machine.describe()),
            escape(&versions.join(", "))
        ));
    }
    html.push_str("</section>");
    html
}

fn how_to_read(report: &Report) -> String {
    let mut points = vec![
        "A bar is the harness's median or mean for one message; its whisker is the harness's 95 % interval. If two \
         whiskers overlap, the measurement shows no difference.",
        "An interval covers only the noise within one run. Another run, machine or version can differ by more: ignore \
         differences below 15 %.",
        "If the largest amount is more than 12 times the smallest, scales are logarithmic: an equal distance is an \
         equal factor, and bars are pale because their length means nothing. Otherwise they begin at zero.",
        "Compare within a language first. Across languages, a figure depends on the language's strings, lists and \
         memory as much as on the format.",
        "Decode creates a message with its own memory. Formats with views are at their best at reading fields, which \
         needs no such message.",
        "A row with † does less work than the others, or other work: its bar's tooltip and the table say which. It is \
         never called the fastest.",
    ];
    if report.languages().len() > 1 {
        points.push(
            "A row with a variant in its name differs from the documented use. Compare such rows with each other.",
        );
        points.push(
            "Allocated bytes are all that an operation requests; in Python they are the maximum that it holds at once \
             (“held”) of what Python's own allocators provide.",
        );
        points
            .push("A row that passed no conformance check, or failed one, is listed with its error, without figures.");
    }
    let points: String = points.iter().map(|point| format!("<li>{}</li>", escape(point))).collect();
    format!("<section><h2>How to read this</h2><ul>{points}</ul></section>")
}
