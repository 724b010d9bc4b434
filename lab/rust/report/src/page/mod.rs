//! The page: one HTML file with its data, style, script and charts inside, that asks no network for anything.

mod parts;

use crate::figure::{Figure, Operation, Setting};
use crate::report::Report;
use crate::stage::{self, Chart};
use crate::text::{self, escape};
use crate::{formats, svg};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The whole page.
pub fn html(report: &Report) -> String {
    let settings = report.settings();
    let charts: Vec<Chart> = settings.iter().map(|setting| stage::bars(report, setting)).collect();
    let mut drawn: Map<String, Value> = charts.iter().map(|chart| (chart.name.clone(), panels(chart).into())).collect();
    for setting in settings.iter().filter(|setting| setting.operation.is_time()) {
        if let Some(chart) = stage::scatter(report, setting) {
            drawn.insert(chart.name.clone(), panels(&chart).into());
        }
    }
    let cases: BTreeSet<&String> = settings.iter().map(|setting| &setting.case).collect();
    for case in &cases {
        for operation in Operation::ALL {
            if let Some(chart) = stage::growth(report, case, operation) {
                drawn.insert(chart.name.clone(), panels(&chart).into());
            }
        }
    }
    let first: String = charts.iter().take(3).map(panels).collect();
    let words: String = report.words.iter().map(|word| format!("<p>{}</p>", escape(word))).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{title}</title><style>{style}{STYLE}</style></head>\n<body>\
         <a class=\"skip\" href=\"#charts\">To the charts</a>\
         <header><h1>{title}</h1><button type=\"button\" id=\"theme\" hidden>Light or dark</button></header>\
         <main><section class=\"words\">{words}{provenance}</section>\n{filters}\
         <p id=\"shown\" class=\"quiet\" role=\"status\"></p>\
         <section id=\"best-section\" hidden><h2>The fastest</h2><div class=\"wide\"><table \
         id=\"best\"><thead></thead><tbody></tbody></table></div>\
         <p class=\"quiet\">Of the chosen formats and languages, rows with † left out. A row within 15 % of the \
         fastest is as fast.</p></section>\
         <section id=\"charts\"><h2 id=\"bars-title\">Time and bytes</h2><div id=\"bars\">{first}</div></section>\
         <section id=\"scatter-section\" hidden><h2>Bytes against time</h2>\
         <p class=\"quiet\">The dashed line joins the rows that no other beats in both. Rings are further rows of a \
         format.</p><div id=\"scatter\"></div></section>\
         <section id=\"growth-section\" hidden><h2>Cost over the message's size</h2>\
         <p class=\"quiet\">Each format's best row at the largest size is drawn strongly; the faint ones are its \
         other rows. Formats of one colour differ in their dashes.</p><div id=\"growth\"></div></section>\
         <section><h2>Figures</h2><div class=\"wide\"><table id=\"figures\"><caption>Choose a heading to sort by it. \
         † leaves out a part of the work: rest the pointer on it, or see below.</caption>\
         <thead></thead><tbody><tr><td>The table is made by the page's script, which is not \
         running.</td></tr></tbody></table></div></section>\n\
         {rest}</main>\n\
         <script type=\"application/octet-stream\" \
         id=\"data\">{data}</script>\n<script>{SCRIPT}</script></body></html>\n",
        title = escape(&report.title),
        style = svg::page_style(),
        provenance = parts::provenance(report),
        filters = parts::filters(report),
        rest = parts::rest(report),
        data = packed(&data(report, &settings, drawn)),
    )
}

/// Compressed JSON that the browser unpacks: charts are similar and shrink to a tenth.
fn packed(data: &Value) -> String {
    let json = data.to_string();
    STANDARD.encode(miniz_oxide::deflate::compress_to_vec(json.as_bytes(), 8))
}

fn panels(chart: &Chart) -> String {
    let mut html = format!("<h3>{}</h3><div class=\"panels\">", escape(&chart.title));
    for (language, drawing) in &chart.panels {
        html.push_str(&format!("<figure data-language=\"{}\">{}</figure>", escape(language), drawing.inline()));
    }
    html.push_str("</div>");
    html
}

/// The script's data: charts by name, lists of names, and figures that index into them.
fn data(report: &Report, settings: &[Setting], charts: Map<String, Value>) -> Value {
    let place = |setting: &Setting| settings.iter().position(|other| other == setting);
    let round = |value: f64| (value * 100.0).round() / 100.0;
    // The table's note next to a time; a figure in bytes has nothing next to it.
    let sizes = |figure: &Figure| -> Option<Vec<Option<f64>>> {
        let Setting { case, size, operation, .. } = &figure.setting;
        let kinds = [Operation::Bytes, Operation::BytesZstd, Operation::BytesZstdBatch];
        let of_kind = |kind| report.size(&figure.row, case, size, kind).map(round);
        operation.is_time().then(|| kinds.map(of_kind).to_vec())
    };
    let mut figures = Vec::with_capacity(report.figures.len());
    let mut setting_place = (None, None);
    for figure in &report.figures {
        // Figures are sorted by setting, so each position is searched once.
        if setting_place.0 != Some(&figure.setting) {
            setting_place = (Some(&figure.setting), place(&figure.setting));
        }
        let Figure { row, version, value, low, high, alloc_bytes, .. } = figure;
        figures.push(json!([
            setting_place.1,
            row.language,
            row.format,
            row.library,
            row.variant,
            version,
            round(*value),
            round(*low),
            round(*high),
            alloc_bytes.map(round),
            sizes(figure),
            row.caveat(figure.setting.operation)
        ]));
    }
    let settings: Vec<Value> = settings
        .iter()
        .map(|setting| {
            json!({
                "chart": stage::setting_name(setting),
                "case": setting.case,
                "size": setting.size,
                "messages": setting.messages,
                "operation": setting.operation.key(),
                "title": setting.operation.title(),
                "threads": setting.threads,
            })
        })
        .collect();
    let names: Vec<Value> = report
        .formats()
        .iter()
        .map(|key| json!([key, formats::name(key), formats::class(key), formats::is_self_describing(key)]))
        .collect();
    let languages: Vec<Value> = report.languages().iter().map(|key| json!([key, text::language(key)])).collect();
    json!({ "settings": settings, "formats": names, "languages": languages, "figures": figures, "charts": charts })
}
