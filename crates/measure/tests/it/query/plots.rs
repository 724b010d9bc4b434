//! Plots of results: their contents, and that every result has one.

use super::topic::Topic;
use super::{BEGIN_MS, HOUR_MS, MINUTE_MS, query, servers};
use rawline_measure::Agg;
use rawline_measure::plot::{LINES_MAX, Plot, PlotError, PlotFormat};
use rawline_measure::query::run;

fn svg(answer: &rawline_measure::Answer) -> String {
    String::from_utf8(Plot::new(answer).draw(PlotFormat::Svg).unwrap()).unwrap()
}

/// The texts of a picture, from the top of the file to its end.
fn texts(svg: &str) -> Vec<&str> {
    svg.split("<text ").skip(1).filter_map(|part| part.split_once('>')?.1.split('<').next()).map(str::trim).collect()
}

#[tokio::test]
async fn a_picture_says_what_it_shows() {
    let topic = servers().await;
    let mut query = query("cpu{server=~\"sgp-0[0-3]\",az!=\"c\"}");
    (query.step_ms, query.agg) = (Some(5 * MINUTE_MS), Agg::Quantile(0.9));
    let answer = run(&topic.storage, "servers", &query).await.unwrap();
    let svg = svg(&answer);
    let texts = texts(&svg);
    let want = [
        "cpu{server=~&quot;sgp-0[0-3]&quot;,az!=&quot;c&quot;}",
        "p90, every 5m; 2014-04-10 00:00 to 2014-04-10 06:00 UTC",
        "az=a server=sgp-00",
        "az=a server=sgp-03",
        "az=b server=sgp-01",
    ];
    assert_eq!(texts[..want.len()], want);
    for label in ["85", "100", "Apr 10", "01:00", "05:00"] {
        assert!(texts.contains(&label), "{label}: {texts:?}");
    }
    // A line each, and a piece of each in the legend.
    for color in ["#0072B2", "#D55E00", "#009E73"] {
        assert_eq!(svg.matches(&format!("stroke=\"{color}\"")).count(), 2, "{color}");
    }
    assert!(!svg.contains("#CC79A7"));
    let height = svg.contains("width=\"1200\" height=\"640\"");
    assert!(height && svg.trim_end().ends_with("</svg>"));
}

#[tokio::test]
async fn many_lines_are_cut_and_the_picture_says_so() {
    let topic = servers().await;
    let mut query = query("cpu");
    query.step_ms = Some(HOUR_MS);
    let answer = run(&topic.storage, "servers", &query).await.unwrap();
    let svg = svg(&answer);
    let texts = texts(&svg);
    assert!(texts.contains(&"and 18 more that are smaller"), "{texts:?}");
    assert_eq!(texts.iter().filter(|text| text.starts_with("az=")).count(), LINES_MAX);
    assert!(!texts.contains(&"az=a server=sgp-00") && texts.contains(&"az=c server=sgp-29"));
}

#[tokio::test]
async fn gaps_stay_gaps() {
    let mut topic = Topic::new("gaps").await;
    let hours = [0, 1, 2, 5, 6, 9];
    let rows: Vec<_> = hours.map(|hour| ("cpu", [].as_slice(), BEGIN_MS + hour * HOUR_MS, hour as f64)).to_vec();
    topic.commit(&rows).await;
    let mut query = query("cpu");
    query.step_ms = Some(HOUR_MS);
    let mut answer = run(&topic.storage, "gaps", &query).await.unwrap();
    let count = |svg: &str| {
        let drawn = svg.split("<polyline").skip(1).filter(|part| part.split("/>").next().unwrap().contains("#0072B2"));
        (drawn.count(), svg.matches("<circle").count())
    };
    // 0 to 2, 5 to 6, and 9 alone; no legend, since there is one line.
    assert_eq!(count(&svg(&answer)), (2, 1));
    answer.lines[0].points[1].1 = f64::NAN;
    assert_eq!(count(&svg(&answer)), (1, 3));
    answer.lines[0].points.iter_mut().for_each(|point| point.1 = f64::INFINITY);
    assert_eq!(Plot::new(&answer).draw(PlotFormat::Svg), Err(PlotError::NoNumbers));
}

#[tokio::test]
async fn any_answer_has_a_picture() {
    let mut topic = Topic::new("odd").await;
    let long = "x".repeat(500);
    topic
        .commit(&[
            ("a", &[("tag", &long), ("b", "<&\"'>\u{1b}\n")], 0, f64::MAX / 1e17),
            ("a", &[("tag", "größe 温度 \u{202e}")], 1, -f64::MAX / 1e17),
            ("b", &[], BEGIN_MS, 5e-324),
        ])
        .await;
    for (selector, step_ms) in
        [("{__name__=~\"a|b\"}", None), ("b", Some(HOUR_MS)), ("b", Some(1)), ("a", Some(400 * 24 * HOUR_MS))]
    {
        let mut query = query(selector);
        query.step_ms = step_ms;
        let answer = run(&topic.storage, "odd", &query).await.unwrap();
        let svg = svg(&answer);
        assert!(!svg.contains(['\u{1b}', '\0']) && !svg.contains("x".repeat(60).as_str()), "{svg}");
        if step_ms.is_none() {
            is_picture(&Plot::new(&answer).draw(PlotFormat::Png).unwrap());
        }
    }
}

/// White, and something on it.
fn is_picture(png: &[u8]) {
    let mut image = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
    let mut pixels = vec![0; image.output_buffer_size().unwrap()];
    let frame = image.next_frame(&mut pixels).unwrap();
    assert_eq!((frame.width, frame.height), (1800, 960));
    assert!(pixels.starts_with(&[255; 3000]) && pixels.iter().any(|&byte| byte < 64));
}
