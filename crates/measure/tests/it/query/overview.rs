//! Lists of metrics and tags are complete, or say that they aren't.

use super::BEGIN_MS;
use super::topic::{Measurement, Topic};
use rawline_measure::query::{
    LISTED_BYTES_MAX, LISTED_TAGS_MAX, LISTED_VALUES_MAX, QueryError, list_metrics, list_tags, list_topics,
};
use rawline_measure::select::Selector;

async fn topic_of(series: &[(String, Vec<(String, String)>)]) -> Topic {
    let tags: Vec<Vec<(&str, &str)>> = series
        .iter()
        .map(|(_, tags)| tags.iter().map(|(tag, value)| (tag.as_str(), value.as_str())).collect())
        .collect();
    let measurements: Vec<Measurement<'_>> =
        series.iter().zip(&tags).map(|((metric, _), tags)| (metric.as_str(), tags.as_slice(), BEGIN_MS, 1.0)).collect();
    let mut topic = Topic::new("t").await;
    topic.commit(&measurements).await;
    topic
}

#[tokio::test]
async fn metrics_and_tags_are_listed_with_their_series() {
    let series = |metric: &str, tags: &[(&str, &str)]| {
        (metric.to_owned(), tags.iter().map(|(tag, value)| ((*tag).to_owned(), (*value).to_owned())).collect())
    };
    let topic =
        topic_of(&[series("b", &[("az", "2")]), series("Größe", &[]), series("b", &[("az", "1"), ("", "x")])]).await;
    assert_eq!(list_topics(&topic.storage).await.unwrap(), ["t"]);
    let list = list_metrics(&topic.storage, "t", "").await.unwrap();
    let listed: Vec<_> = list.metrics.iter().map(|metric| (metric.metric.as_str(), metric.series_count)).collect();
    assert_eq!((listed, list.series_count, list.is_complete), (vec![("Größe", 1), ("b", 2)], 3, true));
    let found = list_metrics(&topic.storage, "t", "GRÖ").await.unwrap();
    assert_eq!((found.metrics.len(), found.series_count, found.is_complete), (1, 1, true));
    assert_eq!(list_metrics(&topic.storage, "t", "none").await.unwrap().metrics, []);

    let tags = list_tags(&topic.storage, "t", &Selector::parse("b").unwrap()).await.unwrap();
    let listed: Vec<_> = tags.tags.iter().map(|tag| (tag.tag.as_str(), tag.values.as_slice())).collect();
    assert_eq!(listed, [("", ["x".to_owned()].as_slice()), ("az", &["1".to_owned(), "2".to_owned()])]);
    assert_eq!((tags.series_count, tags.is_complete), (2, true));
    let none = list_tags(&topic.storage, "t", &Selector::parse("c").unwrap()).await.unwrap_err();
    assert!(matches!(none, QueryError::NoSeries { .. }), "{none}");
    let none = list_metrics(&topic.storage, "other", "").await.unwrap_err();
    assert!(matches!(none, QueryError::NoTopic { .. }), "{none}");
}

#[tokio::test]
async fn a_list_stays_within_its_bytes() {
    const NAME_BYTES: usize = 15_000;
    let series: Vec<_> = (0..100).map(|number| (format!("{number:0NAME_BYTES$}"), Vec::new())).collect();
    let topic = topic_of(&series).await;
    let list = list_metrics(&topic.storage, "t", "").await.unwrap();
    assert_eq!(list.metrics.len(), LISTED_BYTES_MAX / NAME_BYTES);
    assert_eq!((list.series_count, list.is_complete), (100, false));
    // The search finds those for which there was no room.
    let found = list_metrics(&topic.storage, "t", "0099").await.unwrap();
    assert_eq!((found.metrics.len(), found.is_complete), (1, true));
}

#[tokio::test]
async fn a_list_has_so_many_tags_and_values() {
    let pair = |tag: String, value: usize| (tag, value.to_string());
    let mut series: Vec<_> = (0..=LISTED_VALUES_MAX).map(|i| ("m".to_owned(), vec![pair("host".into(), i)])).collect();
    series.push(("m".to_owned(), (0..LISTED_TAGS_MAX).map(|i| pair(format!("tag-{i:03}"), i)).collect()));
    let topic = topic_of(&series).await;
    let list = list_tags(&topic.storage, "t", &Selector::parse("m").unwrap()).await.unwrap();
    assert_eq!((list.tags.len(), list.is_complete), (LISTED_TAGS_MAX, false));
    let host = &list.tags[0];
    assert_eq!((host.tag.as_str(), host.values.len(), host.is_complete), ("host", LISTED_VALUES_MAX, false));
    assert!(list.tags[1..].iter().all(|tag| tag.values.len() == 1 && tag.is_complete));
}
