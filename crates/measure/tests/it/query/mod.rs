//! Queries over roll-ups: the right series, the same answer from every tier, and no more read than needed.

mod overview;
mod plots;
mod topic;

use rawline_measure::layout::{Horizon, Tier};
use rawline_measure::query::{Query, QueryError, list, run};
use rawline_measure::select::Selector;
use rawline_measure::{Agg, Answer, MeasureError, RELATIVE_ERROR, Snapshot};
use tokio::sync::OnceCell;
use topic::{Measurement, PAGE_ROWS, ROW_GROUP_ROWS, Topic, put};

const HOUR_MS: i64 = 3_600_000;
const MINUTE_MS: i64 = 60_000;
/// 2014-04-10T00:00:00Z.
const BEGIN_MS: i64 = 1_397_088_000_000;

fn query(selector: &str) -> Query {
    Query::new(Selector::parse(selector).unwrap())
}

/// 40 series with a value every 20 seconds for six hours, in commits that cut hours and minutes. Only to be read.
async fn servers() -> &'static Topic {
    static SERVERS: OnceCell<Topic> = OnceCell::const_new();
    SERVERS.get_or_init(make_servers).await
}

async fn make_servers() -> Topic {
    let mut topic = Topic::new("servers").await;
    let names: Vec<(String, &str)> = (0..40).map(|i| (format!("sgp-{i:02}"), ["a", "b", "c"][i % 3])).collect();
    let tags: Vec<[(&str, &str); 2]> =
        names.iter().map(|(name, az)| [("server", name.as_str()), ("az", *az)]).collect();
    let values: Vec<i64> = (0..6 * 180).collect();
    for part in values.chunks(250) {
        let mut measurements: Vec<Measurement<'_>> = Vec::new();
        for &i in part {
            for (server, tags) in tags.iter().enumerate() {
                let metric = if server < 30 { "cpu" } else { "disk.used" };
                let value = 0.1 * ((i * 7919 + server as i64 * 131) % 1009) as f64 + server as f64;
                measurements.push((metric, tags, BEGIN_MS + i * 20_000, value));
            }
        }
        topic.commit(&measurements).await;
    }
    topic
}

#[tokio::test]
async fn every_tier_gives_the_same_answer() {
    let topic = servers().await;
    let by = [None, Some(vec!["az".to_owned()]), Some(Vec::new())];
    for agg in ["avg", "sum", "min", "max", "last", "count", "rate", "p0", "p50", "p99", "p100"] {
        for by in &by {
            for step_ms in [2 * HOUR_MS] {
                let mut query = query("cpu{server=~\"sgp-0.*\"}");
                (query.agg, query.by, query.step_ms) = (agg.parse().unwrap(), by.clone(), Some(step_ms));
                let mut answers = Vec::new();
                for tier in Tier::ALL {
                    query.tier = Some(tier);
                    answers.push(run(&topic.storage, "servers", &query).await.unwrap());
                }
                if agg == "rate" {
                    // The resets of a fractional counter are added in another order.
                    let rounded = |answer: &Answer| -> Vec<(String, Vec<(i64, String)>)> {
                        let points = |line: &rawline_measure::Line| {
                            line.points.iter().map(|(time, rate)| (*time, format!("{rate:.9e}"))).collect()
                        };
                        answer.lines.iter().map(|line| (line.label(), points(line))).collect()
                    };
                    let first = rounded(&answers[0]);
                    assert!(answers.iter().all(|answer| rounded(answer) == first), "{answers:?}");
                    continue;
                }
                assert_eq!(answers[0].lines, answers[1].lines, "{agg} by {by:?}: raw and minute");
                assert_eq!(answers[1].lines, answers[2].lines, "{agg} by {by:?}: minute and hour");
                query.tier = None;
                let automatic = run(&topic.storage, "servers", &query).await.unwrap();
                assert_eq!((automatic.tier, &automatic.lines), (Tier::Hour, &answers[0].lines));
            }
        }
    }
}

#[tokio::test]
async fn answers_are_those_of_the_values() {
    let topic = servers().await;
    let values = |server: i64, from: i64| -> Vec<f64> {
        (from * 180..(from + 1) * 180)
            .map(|i| 0.1 * ((i * 7919 + server * 131) % 1009) as f64 + server as f64)
            .collect()
    };
    let mut query = query("cpu{server=\"sgp-07\"}");
    query.step_ms = Some(HOUR_MS);
    for (agg, of) in [
        ("sum", (|values: &[f64]| values.iter().sum::<f64>()) as fn(&[f64]) -> f64),
        ("avg", |values| values.iter().sum::<f64>() / values.len() as f64),
        ("min", |values| values.iter().copied().fold(f64::INFINITY, f64::min)),
        ("max", |values| values.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
        ("last", |values| *values.last().unwrap()),
        ("count", |values| values.len() as f64),
    ] {
        query.agg = agg.parse().unwrap();
        let answer = run(&topic.storage, "servers", &query).await.unwrap();
        assert_eq!(answer.lines.len(), 1);
        assert_eq!(answer.lines[0].points.len(), 6);
        for (hour, &(time, value)) in answer.lines[0].points.iter().enumerate() {
            assert_eq!(time, BEGIN_MS + hour as i64 * HOUR_MS);
            let want = of(&values(7, hour as i64));
            assert!((value - want).abs() <= want.abs() * 1e-12, "{agg}: {value} for {want}");
        }
    }
    for percent in [10.0, 50.0, 90.0, 99.0] {
        query.agg = Agg::Quantile(percent / 100.0);
        let answer = run(&topic.storage, "servers", &query).await.unwrap();
        for (hour, (_, value)) in answer.lines[0].points.iter().enumerate() {
            let mut values = values(7, hour as i64);
            values.sort_by(f64::total_cmp);
            let want = values[(percent / 100.0 * (values.len() - 1) as f64).round() as usize];
            assert!((value - want).abs() <= want * (RELATIVE_ERROR + 1e-9), "p{percent}: {value} for {want}");
        }
    }
}

#[tokio::test]
async fn the_tier_is_the_coarsest_that_divides_the_step() {
    let topic = servers().await;
    let cases = [
        (20_000, Tier::Raw),
        (90_000, Tier::Raw),
        (MINUTE_MS, Tier::Minute),
        (7 * MINUTE_MS, Tier::Minute),
        (90 * MINUTE_MS, Tier::Minute),
        (HOUR_MS, Tier::Hour),
        (24 * HOUR_MS, Tier::Hour),
    ];
    let mut query = query("cpu{server=\"sgp-07\"}");
    for (step_ms, want) in cases {
        query.step_ms = Some(step_ms);
        let answer = run(&topic.storage, "servers", &query).await.unwrap();
        assert_eq!(answer.tier, want, "{step_ms}");
        assert!(answer.lines[0].points.iter().all(|point| point.0 % step_ms == 0));
    }
    (query.step_ms, query.tier) = (Some(5 * MINUTE_MS), Some(Tier::Hour));
    let error = run(&topic.storage, "servers", &query).await.unwrap_err();
    assert_eq!(error.to_string(), "a step of 5m is not a multiple of the hour tier's 1h");
}

#[tokio::test]
async fn only_pages_that_can_match_are_read() {
    let topic = servers().await;
    // Raw files have 250 × 40 rows, those of a series side by side.
    let read = async |selector: &str, from: i64, to: i64| {
        let mut query = query(selector);
        (query.tier, query.step_ms) = (Some(Tier::Raw), Some(MINUTE_MS));
        (query.from_ms, query.to_ms) = (Some(BEGIN_MS + from), Some(BEGIN_MS + to));
        run(&topic.storage, "servers", &query).await.unwrap().read
    };
    let all = read("{}", 0, 6 * HOUR_MS).await;
    assert_eq!((all.files, all.rows, all.rows_read, all.rows_used), (5, 43_200, 43_200, 43_200));
    let one = read("{server=\"sgp-07\"}", 0, 6 * HOUR_MS).await;
    assert_eq!((one.files, one.rows, one.rows_used), (5, 43_200, 1080));
    assert!(one.rows_read <= 1080 + 5 * 2 * PAGE_ROWS as u64, "{one:?}");
    // One file of the five, one hour of its 83 minutes.
    let hour = read("{server=\"sgp-07\"}", 0, HOUR_MS).await;
    assert_eq!((hour.files, hour.rows, hour.rows_used), (1, 10_000, 180));
    assert!(hour.rows_read <= 180 + 3 * PAGE_ROWS as u64, "{hour:?}");
    // Ten minutes of all series: pages hold 64 rows of 20 s, row groups are of no help.
    let minutes = read("{}", 0, 10 * MINUTE_MS).await;
    assert_eq!(minutes.rows_used, 40 * 30);
    assert!(minutes.rows_read < 10_000 * 6 / 10, "{minutes:?}");
    // A series at either end: its row groups only.
    let ends = read("{server=~\"sgp-00|sgp-39\"}", 0, HOUR_MS).await;
    assert!(ends.rows_read <= 2 * ROW_GROUP_ROWS as u64, "{ends:?}");
}

#[tokio::test]
async fn the_range_is_widened_to_whole_steps_and_is_all_there_is_if_not_given() {
    let topic = servers().await;
    let mut query = query("cpu{server=\"sgp-07\"}");
    let answer = run(&topic.storage, "servers", &query).await.unwrap();
    assert_eq!((answer.from_ms, answer.to_ms), (BEGIN_MS, BEGIN_MS + 6 * HOUR_MS));
    assert_eq!((answer.step_ms, answer.lines[0].points.len()), (2 * MINUTE_MS, 180));
    (query.from_ms, query.to_ms) = (Some(BEGIN_MS + 61 * MINUTE_MS), Some(BEGIN_MS + 62 * MINUTE_MS));
    (query.step_ms, query.agg) = (Some(HOUR_MS), Agg::Count);
    let answer = run(&topic.storage, "servers", &query).await.unwrap();
    assert_eq!((answer.from_ms, answer.to_ms), (BEGIN_MS + HOUR_MS, BEGIN_MS + 2 * HOUR_MS));
    assert_eq!(answer.lines[0].points, [(BEGIN_MS + HOUR_MS, 180.0)]);
    // The end is not part of it.
    query.to_ms = Some(BEGIN_MS + 2 * HOUR_MS);
    assert_eq!(run(&topic.storage, "servers", &query).await.unwrap().to_ms, BEGIN_MS + 2 * HOUR_MS);
}

#[tokio::test]
async fn series_are_put_together_by_tags() {
    let topic = servers().await;
    let mut query = query("{server=~\"sgp-.*\"}");
    (query.step_ms, query.agg) = (Some(HOUR_MS), Agg::Count);
    let labels = async |by: &[&str]| -> Vec<(String, f64)> {
        let mut query = query.clone();
        query.by = Some(by.iter().map(|&tag| tag.to_owned()).collect());
        let answer: Answer = run(&topic.storage, "servers", &query).await.unwrap();
        assert_eq!(answer.series_count, 40);
        answer.lines.iter().map(|line| (line.label(), line.points[0].1)).collect()
    };
    assert_eq!(labels(&[]).await, [("{}".to_owned(), 7200.0)]);
    let by_az = [("{az=\"a\"}", 14.0), ("{az=\"b\"}", 13.0), ("{az=\"c\"}", 13.0)];
    assert_eq!(labels(&["az"]).await, by_az.map(|(label, series)| (label.to_owned(), series * 180.0)));
    let by_name = [("cpu", 5400.0), ("{\"disk.used\"}", 1800.0)];
    assert_eq!(labels(&["__name__"]).await, by_name.map(|(label, count)| (label.to_owned(), count)));
    assert_eq!(labels(&["server"]).await.len(), 40);
    assert_eq!(labels(&["nothing"]).await, [("{}".to_owned(), 7200.0)]);
}

#[tokio::test]
async fn nothing_found_says_what_there_is() {
    let topic = servers().await;
    let error = async |selector: &str| run(&topic.storage, "servers", &query(selector)).await.unwrap_err().to_string();
    let cases = [
        ("disk_used", "no series matches disk_used; the topic has 2 metrics: disk.used, cpu"),
        ("cpu{server=\"ams\"}", "server is one of: sgp-00, sgp-01, sgp-02, sgp-03, sgp-04, sgp-05, sgp-06, sgp-07, …"),
        ("cpu{region=\"eu\"}", "none of the 30 series of this metric has the tag region"),
    ];
    for (selector, want) in cases {
        let error = error(selector).await;
        assert!(error.contains(want), "{error}");
    }
    let mut query = query("cpu");
    (query.from_ms, query.to_ms) = (Some(0), Some(HOUR_MS));
    let error = run(&topic.storage, "servers", &query).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the 30 series of cpu have no measurements from 1970-01-01T00:00:00Z to 1970-01-01T01:00:00Z; they have some \
         from 2014-04-10T00:00:00Z to 2014-04-10T05:59:40Z"
    );
    // Only one bound, and all measurements on its other side.
    (query.from_ms, query.to_ms) = (Some(BEGIN_MS + 24 * HOUR_MS), None);
    let error = run(&topic.storage, "servers", &query).await.unwrap_err();
    assert!(matches!(error, QueryError::NoPoints { span_ms: Some(_), .. }), "{error}");
    query.to_ms = Some(BEGIN_MS);
    assert!(matches!(run(&topic.storage, "servers", &query).await, Err(QueryError::Range { .. })));
    let error = run(&topic.storage, "server", &query).await.unwrap_err();
    assert!(
        error.to_string().contains("topic server has no roll-ups in this storage, which has those of servers"),
        "{error}"
    );
}

#[tokio::test]
async fn limits_name_themselves() {
    let topic = servers().await;
    let mut query = query("cpu");
    query.step_ms = Some(MINUTE_MS);
    query.limits.points_max = 30 * 360;
    assert!(run(&topic.storage, "servers", &query).await.is_ok());
    query.limits.points_max -= 1;
    let error = run(&topic.storage, "servers", &query).await.unwrap_err().to_string();
    assert!(error.contains("more than 10799 values") && error.contains("longer than 1m"), "{error}");
    query.limits.lines_max = 29;
    let error = run(&topic.storage, "servers", &query).await.unwrap_err().to_string();
    assert!(error.contains("more than 29 lines") && error.contains("tags"), "{error}");
    query.by = Some(vec!["az".to_owned()]);
    assert!(run(&topic.storage, "servers", &query).await.is_ok());
}

#[tokio::test]
async fn a_rate_begins_before_the_range_and_starts_again_at_zero() {
    let mut topic = Topic::new("counters").await;
    let counted = [0.0, 60.0, 180.0, 30.0, 90.0];
    let rows =
        counted.into_iter().zip(0..).map(|(value, i)| ("served", [].as_slice(), BEGIN_MS + i * MINUTE_MS, value));
    topic.commit(&rows.collect::<Vec<_>>()).await;
    let mut query = query("served");
    (query.agg, query.step_ms) = (Agg::Rate, Some(MINUTE_MS));
    let rates = async |query: &Query| {
        let answer = run(&topic.storage, "counters", query).await.unwrap();
        answer.lines[0].points.iter().map(|&(time, rate)| ((time - BEGIN_MS) / MINUTE_MS, rate)).collect::<Vec<_>>()
    };
    assert_eq!(rates(&query).await, [(1, 1.0), (2, 2.0), (3, 0.5), (4, 1.0)]);
    query.from_ms = Some(BEGIN_MS + 2 * MINUTE_MS);
    assert_eq!(rates(&query).await, [(2, 2.0), (3, 0.5), (4, 1.0)]);
    query.step_ms = Some(HOUR_MS);
    let error = run(&topic.storage, "counters", &query).await.unwrap_err().to_string();
    assert!(error.contains("no series has values in two steps of 1h"), "{error}");
}

/// A counter that grows by 10 a second and starts again every 47 seconds, every second for two hours.
fn restarting() -> Vec<Measurement<'static>> {
    let counter = |second: i64| (second % 47 * 10) as f64;
    (0..7200).map(|second| ("served", [].as_slice(), BEGIN_MS + second * 1000, counter(second))).collect()
}

#[tokio::test]
async fn a_rate_counts_what_a_counter_gained_before_each_restart_inside_a_step() {
    let all = restarting();
    // 46 of 47 seconds: the gain between the last value and the restart was never recorded.
    let seen = 10.0 * 46.0 / 47.0;
    for cuts in [vec![], vec![1000, 3700, 3701]] {
        let mut topic = Topic::new("counters").await;
        let mut rest = all.as_slice();
        for cut in cuts {
            let (part, after) = rest.split_at(cut - (all.len() - rest.len()));
            topic.commit(part).await;
            rest = after;
        }
        topic.commit(rest).await;
        for (step_ms, tier) in [
            (10 * MINUTE_MS, Tier::Raw),
            (10 * MINUTE_MS, Tier::Minute),
            (HOUR_MS, Tier::Raw),
            (HOUR_MS, Tier::Minute),
            (HOUR_MS, Tier::Hour),
        ] {
            let mut query = query("served");
            (query.agg, query.step_ms, query.tier) = (Agg::Rate, Some(step_ms), Some(tier));
            let answer = run(&topic.storage, "counters", &query).await.unwrap();
            assert!(!answer.lines[0].points.is_empty());
            for (_, rate) in &answer.lines[0].points {
                assert!((rate - seen).abs() < 0.1, "{rate} instead of {seen} from {}", tier.name());
            }
        }
    }
}

/// The rates of each line by the steps' starts.
async fn rates(topic: &Topic, name: &str, query: &Query) -> Vec<Vec<(i64, f64)>> {
    match run(&topic.storage, name, query).await {
        Ok(answer) => answer.lines.into_iter().map(|line| line.points).collect(),
        Err(QueryError::NoRate { .. } | QueryError::NoPoints { .. }) => Vec::new(),
        Err(error) => panic!("{error}"),
    }
}

/// Counters that start again now and then, and whose exporter sends NaN for every tenth value, in any commits.
#[tokio::test]
async fn rates_of_counters_with_nan_are_the_same_from_every_tier() {
    let seed = 1;
    let mut random = fastrand::Rng::with_seed(seed);
    let mut compared = 0;
    for round in 0..20 {
        let mut topic = Topic::new("counters").await;
        let mut counters = [0.0_f64; 3];
        let names = ["a", "b", "c"];
        let mut time_ms = BEGIN_MS;
        let mut measurements: Vec<Measurement<'_>> = Vec::new();
        for _ in 0..600 {
            time_ms += random.i64(0..40_000);
            let which = random.usize(..3);
            counters[which] = if random.u8(..20) == 0 { 0.0 } else { counters[which] + f64::from(random.u8(..)) };
            let value = if random.u8(..10) == 0 { f64::NAN } else { counters[which] };
            measurements.push((names[which], &[], time_ms, value));
        }
        while !measurements.is_empty() {
            let part: Vec<_> = measurements.drain(..random.usize(1..=measurements.len())).collect();
            topic.commit(&part).await;
        }
        for step_ms in [HOUR_MS, 2 * HOUR_MS, MINUTE_MS, 5 * MINUTE_MS] {
            for from_ms in [None, Some(BEGIN_MS + random.i64(0..3 * HOUR_MS))] {
                let mut query = query("{__name__=~\".\"}");
                (query.agg, query.step_ms, query.from_ms) = (Agg::Rate, Some(step_ms), from_ms);
                query.tier = Some(Tier::Raw);
                let want = rates(&topic, "counters", &query).await;
                for tier in [Tier::Minute, Tier::Hour] {
                    if step_ms % tier.window_ms().unwrap() == 0 {
                        query.tier = Some(tier);
                        let got = rates(&topic, "counters", &query).await;
                        assert_eq!(got, want, "seed {seed}, round {round}: {step_ms} ms from {from_ms:?}, {tier:?}");
                        compared += got.iter().map(Vec::len).sum::<usize>();
                    }
                }
            }
        }
    }
    assert!(compared > 10_000, "{compared} rates");
}

/// A counter with gaps: the rate of a step is the same wherever the range begins and ends.
#[tokio::test]
async fn the_rate_of_a_step_does_not_depend_on_the_range() {
    let mut topic = Topic::new("gaps").await;
    let hours = [0, 2, 4, 6, 8, 17, 30, 31];
    let rows: Vec<Measurement<'_>> =
        hours.iter().map(|&hour| ("c", [].as_slice(), BEGIN_MS + hour * HOUR_MS, (hour * 100) as f64)).collect();
    topic.commit(&rows).await;
    let mut query = query("c");
    (query.agg, query.step_ms) = (Agg::Rate, Some(HOUR_MS));
    let hour = |time_ms: i64| (time_ms - BEGIN_MS) / HOUR_MS;
    let all = rates(&topic, "gaps", &query).await.remove(0);
    // A step counts from at most ten steps before: not over a gap of thirteen hours.
    assert_eq!(all.iter().map(|point| hour(point.0)).collect::<Vec<_>>(), [2, 4, 6, 8, 17, 31]);
    assert!(all.iter().all(|point| (point.1 - 100.0 / 3600.0).abs() < 1e-9), "{all:?}");
    for from in 0..32 {
        for to in from + 1..33 {
            (query.from_ms, query.to_ms) = (Some(BEGIN_MS + from * HOUR_MS), Some(BEGIN_MS + to * HOUR_MS));
            for tier in Tier::ALL {
                query.tier = Some(tier);
                let got = rates(&topic, "gaps", &query).await.pop().unwrap_or_default();
                let want: Vec<_> = all.iter().copied().filter(|point| (from..to).contains(&hour(point.0))).collect();
                assert_eq!(got, want, "{from} to {to}");
            }
        }
    }
    // Steps shorter than the distance of the values.
    (query.from_ms, query.to_ms, query.tier) = (None, None, None);
    query.step_ms = Some(20 * MINUTE_MS);
    assert_eq!(rates(&topic, "gaps", &query).await.remove(0).len(), 5);
    query.step_ms = Some(MINUTE_MS);
    let error = run(&topic.storage, "gaps", &query).await.unwrap_err().to_string();
    assert!(error.contains("two steps of 1m that are at most 10m apart"), "{error}");
    // Not at all in the range, though before it.
    (query.step_ms, query.from_ms, query.to_ms) =
        (Some(HOUR_MS), Some(BEGIN_MS + 9 * HOUR_MS), Some(BEGIN_MS + 10 * HOUR_MS));
    assert!(matches!(run(&topic.storage, "gaps", &query).await, Err(QueryError::NoPoints { .. })));
}

#[tokio::test]
async fn a_missing_tag_and_an_empty_one_are_one_group() {
    let mut topic = Topic::new("tags").await;
    topic.commit(&[("m", &[], 0, 1.0), ("m", &[("az", "")], 0, 2.0), ("m", &[("az", "a")], 0, 4.0)]).await;
    let mut query = query("m");
    (query.agg, query.by, query.step_ms) = ("sum".parse().unwrap(), Some(vec!["az".to_owned()]), Some(HOUR_MS));
    let answer = run(&topic.storage, "tags", &query).await.unwrap();
    let groups: Vec<_> = answer.lines.iter().map(|line| (line.label(), line.points[0].1)).collect();
    assert_eq!(groups, [("m".to_owned(), 3.0), ("m{az=\"a\"}".to_owned(), 4.0)]);
}

#[tokio::test]
async fn series_are_listed_in_order() {
    let topic = servers().await;
    let snapshot = Snapshot::load(&topic.storage, &topic.layout).await.unwrap();
    let selector = Selector::parse("{az=\"a\"}").unwrap();
    let all = list(&topic.storage, &topic.layout, &snapshot, &selector, 100).await.unwrap();
    assert_eq!((all.count, all.series.len()), (14, 14));
    assert!(all.series.is_sorted());
    assert_eq!(all.series[0].to_string(), "cpu{az=\"a\",server=\"sgp-00\"}");
    let span = all.spans[0].unwrap();
    assert_eq!((span.count, span.first_hour_ms, span.last_ms), (1080, BEGIN_MS, BEGIN_MS + 6 * HOUR_MS - 20_000));
    let some = list(&topic.storage, &topic.layout, &snapshot, &selector, 3).await.unwrap();
    assert_eq!((some.count, &some.series[..], &some.spans[..]), (14, &all.series[..3], &all.spans[..3]));
}

#[tokio::test]
async fn what_is_not_a_number_stays_so_and_gaps_stay_gaps() {
    let mut topic = Topic::new("odd").await;
    let at = |hours: i64| BEGIN_MS + hours * HOUR_MS;
    topic.commit(&[("odd", &[], at(0), f64::NAN), ("odd", &[], at(0) + 1, 2.0), ("odd", &[], at(3), f64::NAN)]).await;
    topic
        .commit(&[("odd", &[], at(0) + 1, -2.0), ("odd", &[], at(5), f64::INFINITY), ("odd", &[], at(-1), -0.0)])
        .await;
    let mut query = query("odd");
    query.step_ms = Some(HOUR_MS);
    for (agg, want) in [
        ("avg", "[(-1, 0.0), (0, NaN), (3, NaN), (5, inf)]"),
        ("min", "[(-1, 0.0), (0, -2.0), (3, NaN), (5, inf)]"),
        ("max", "[(-1, 0.0), (0, 2.0), (3, NaN), (5, inf)]"),
        ("count", "[(-1, 1.0), (0, 3.0), (3, 1.0), (5, 1.0)]"),
        // Of two at the same time, the one of the later offset.
        ("last", "[(-1, -0.0), (0, -2.0), (3, NaN), (5, inf)]"),
        ("p100", "[(-1, 0.0), (0, 2.0), (3, NaN), (5, inf)]"),
    ] {
        query.agg = agg.parse().unwrap();
        for tier in Tier::ALL {
            query.tier = Some(tier);
            let answer = run(&topic.storage, "odd", &query).await.unwrap();
            let points = answer.lines[0].points.iter().map(|point| ((point.0 - BEGIN_MS) / HOUR_MS, point.1));
            let got = format!("{:?}", points.collect::<Vec<_>>());
            assert_eq!(got, want, "{agg} from {}", tier.name());
        }
    }
}

#[tokio::test]
async fn expired_files_are_skipped_and_reported() {
    let mut topic = Topic::new("old").await;
    for hour in 0..6 {
        topic.commit(&[("cpu", &[], BEGIN_MS + hour * HOUR_MS, hour as f64)]).await;
    }
    let horizon = Horizon { raw_ms: Some(BEGIN_MS + 3 * HOUR_MS), ..Horizon::default() };
    put(&topic.storage, &topic.layout.horizon(), serde_json::to_vec(&horizon).unwrap()).await;
    let mut query = query("cpu");
    query.step_ms = Some(MINUTE_MS);
    let answer = run(&topic.storage, "old", &query).await.unwrap();
    assert_eq!((answer.lines[0].points.len(), answer.note), (6, None));
    query.step_ms = Some(20_000);
    let answer = run(&topic.storage, "old", &query).await.unwrap();
    let note = answer.note.unwrap();
    assert_eq!(answer.lines[0].points.len(), 3);
    assert!(note.contains("the raw tier is kept from about 2014-04-10T03:00:00Z on"), "{note}");
}

#[tokio::test]
async fn damaged_files_are_named() {
    let mut topic = Topic::new("t").await;
    topic.commit(&[("cpu", &[], BEGIN_MS, 1.0)]).await;
    let snapshot = Snapshot::load(&topic.storage, &topic.layout).await.unwrap();
    let file = topic.layout.file(&snapshot.commits[0].files.hour[0]);
    let mut query = query("cpu");
    query.step_ms = Some(HOUR_MS);
    let other = topic::parquet_bytes(
        rawline_measure::layout::raw_schema(),
        vec![
            std::sync::Arc::new(arrow_array::UInt32Array::from(vec![0])),
            std::sync::Arc::new(arrow_array::TimestampMillisecondArray::from(vec![0]).with_timezone("UTC")),
            std::sync::Arc::new(arrow_array::Float64Array::from(vec![0.0])),
        ],
    );
    let length = snapshot.commits[0].files.hour[0].bytes as usize;
    for bytes in [other, vec![0; length], b"PAR1".to_vec()] {
        put(&topic.storage, &file, bytes).await;
        let error = run(&topic.storage, "t", &query).await.unwrap_err();
        assert!(error.to_string().contains("hour/"), "{error}");
        assert!(
            matches!(error, QueryError::Measure(MeasureError::Damaged { .. } | MeasureError::Store { .. })),
            "{error:?}"
        );
    }
}
