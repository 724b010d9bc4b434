//! Runs a query: finds the series, chooses the tier, reads the rows, aggregates them.

use crate::layout::{Layout, Tier};
use crate::query::agg::Agg;
use crate::query::answer::Answer;
use crate::query::cells::{Cells, columns};
use crate::query::error::QueryError;
use crate::query::groups::Groups;
use crate::query::nearby::nearby;
use crate::query::overview::list_topics;
use crate::query::scan::{Scan, SeriesSet};
use crate::query::select::Selector;
use crate::query::series_list::{SeriesList, list, spans};
use crate::query::spec::Query;
use crate::snapshot::Snapshot;
use crate::store::Storage;
use crate::time::{default_step_ms, format_time};
use crate::{Kind, MeasureError};

/// A rate counts from the newest value in this many steps before, so that a series with a gap, or with fewer values
/// than there are steps, has rates too.
const RATE_REACH_STEPS: i64 = 10;

/// It reaches at least this far, as PromQL looks back: series with a value a minute have rates in shorter steps.
const RATE_REACH_MS: i64 = 5 * 60 * 1000;

/// How long before a step the step may be from which its growth is counted: whole steps, and the same for each step,
/// wherever the range begins.
fn rate_reach_ms(step_ms: i64) -> i64 {
    let steps = (RATE_REACH_MS.saturating_add(step_ms - 1) / step_ms).max(RATE_REACH_STEPS);
    steps.saturating_mul(step_ms)
}

/// Maximum number of times that a query starts over because files were replaced while it ran.
const TRIES: usize = 3;

/// Runs a query.
pub async fn run(storage: &Storage, topic: &str, query: &Query) -> Result<Answer, QueryError> {
    let layout = Layout::new(&storage.prefix, topic);
    retried(async || answer(storage, &layout, &load(storage, &layout, topic).await?, query).await).await
}

/// Lists the series of a selector: the first `limit` by metric and tags.
pub async fn list_series(
    storage: &Storage,
    topic: &str,
    selector: &Selector,
    limit: usize,
) -> Result<SeriesList, QueryError> {
    let layout = Layout::new(&storage.prefix, topic);
    retried(async || {
        let snapshot = load(storage, &layout, topic).await?;
        let list = list(storage, &layout, &snapshot, selector, limit).await?;
        match list.count {
            0 => Err(nothing_matches(storage, &layout, &snapshot, selector).await),
            _ => Ok(list),
        }
    })
    .await
}

/// Starts over if files were replaced.
pub(crate) async fn retried<T>(once: impl AsyncFn() -> Result<T, QueryError>) -> Result<T, QueryError> {
    let mut tries_left = TRIES;
    loop {
        tries_left -= 1;
        match once().await {
            Err(QueryError::Measure(error)) if error.kind() == Kind::TryAgain && tries_left > 0 => {}
            done => return done,
        }
    }
}

/// The topic's commits; an error if it has none.
pub(crate) async fn load(storage: &Storage, layout: &Layout, topic: &str) -> Result<Snapshot, QueryError> {
    let snapshot = Snapshot::load(storage, layout).await?;
    if snapshot.commits.is_empty() {
        return Err(QueryError::NoTopic { topic: topic.to_owned(), others: list_topics(storage).await? });
    }
    Ok(snapshot)
}

async fn answer(storage: &Storage, layout: &Layout, snapshot: &Snapshot, query: &Query) -> Result<Answer, QueryError> {
    let groups = Groups::find(storage, layout, snapshot, query).await?;
    if groups.lines.is_empty() {
        return Err(nothing_matches(storage, layout, snapshot, &query.selector).await);
    }
    let no_points = |from: i64, to: i64, span: Option<(i64, i64)>| QueryError::NoPoints {
        selector: query.selector.to_string(),
        series_count: groups.set.len(),
        from_ms: from,
        to_ms: to,
        span_ms: span,
    };
    let (from, to) = match (query.from_ms, query.to_ms) {
        (Some(from), Some(to)) => (from, to),
        (from, to) => {
            let Some((first, last)) = extent(storage, layout, snapshot, &groups.set).await? else {
                return Err(no_points(from.unwrap_or(0), to.unwrap_or(0), None));
            };
            (from.unwrap_or(first), to.unwrap_or(last.saturating_add(1)))
        }
    };
    if from >= to {
        // Only one bound was given, and all measurements are on the other side of it.
        if query.from_ms.is_none() || query.to_ms.is_none() {
            let span = extent(storage, layout, snapshot, &groups.set).await?;
            return Err(no_points(from.min(to), from.max(to), span));
        }
        return Err(QueryError::Range { from_ms: from, to_ms: to });
    }
    let step_ms = query.step_ms.unwrap_or_else(|| default_step_ms(to.saturating_sub(from))).max(1);
    let tier = choose_tier(query.tier, step_ms)?;
    let from_ms = from.div_euclid(step_ms).saturating_mul(step_ms);
    let to_ms = to.saturating_sub(1).div_euclid(step_ms).saturating_add(1).saturating_mul(step_ms);
    let reach_ms = rate_reach_ms(step_ms);
    let mut cells = Cells::new(query, &groups, step_ms, from_ms);
    let scan = Scan {
        storage,
        layout,
        snapshot,
        tier,
        series: &groups.set,
        from_ms: if query.agg == Agg::Rate { from_ms.saturating_sub(reach_ms) } else { from_ms },
        to_ms,
        columns: columns(tier, query.agg),
    };
    let read = scan.run(|batch| cells.add(tier, batch)).await?;
    let has_rows = cells.has_rows();
    let (lines, series_count) = (cells.lines(reach_ms), groups.set.len());
    if lines.is_empty() && has_rows {
        return Err(QueryError::NoRate { selector: query.selector.to_string(), step_ms, reach_ms });
    }
    if lines.is_empty() {
        let span = extent(storage, layout, snapshot, &groups.set).await?;
        return Err(no_points(from, to, span));
    }
    Ok(Answer {
        selector: query.selector.to_string(),
        agg: query.agg,
        by: query.by.clone(),
        from_ms,
        to_ms,
        step_ms,
        tier,
        read,
        series_count,
        lines,
        note: note(snapshot, tier, from_ms),
    })
}

/// First and last time of the series' measurements; the first is rounded down to the hour.
async fn extent(
    storage: &Storage,
    layout: &Layout,
    snapshot: &Snapshot,
    series: &SeriesSet,
) -> Result<Option<(i64, i64)>, MeasureError> {
    let (spans, _) = spans(storage, layout, snapshot, series).await?;
    let known = || spans.iter().flatten();
    let first = known().map(|span| span.first_hour_ms).min();
    Ok(first.zip(known().map(|span| span.last_ms).max()))
}

/// The requested tier, or the coarsest tier whose windows divide the steps. Both start at multiples of their length.
pub fn choose_tier(requested: Option<Tier>, step_ms: i64) -> Result<Tier, QueryError> {
    let fits = |tier: Tier| tier.window_ms().is_none_or(|window_ms| step_ms % window_ms == 0);
    match requested {
        None => Ok(Tier::ALL.into_iter().rev().find(|&tier| fits(tier)).unwrap_or(Tier::Raw)),
        Some(tier) if fits(tier) => Ok(tier),
        Some(tier) => Err(QueryError::Tier { tier, step_ms }),
    }
}

/// A note if part of the range is no longer kept in this tier.
fn note(snapshot: &Snapshot, tier: Tier, from_ms: i64) -> Option<String> {
    let horizon_ms = snapshot.horizon.of(tier).filter(|&horizon_ms| from_ms < horizon_ms)?;
    Some(format!("the {} tier is kept from about {} on", tier.name(), format_time(horizon_ms)))
}

/// The error for a selector that matches nothing, with suggestions.
pub(crate) async fn nothing_matches(
    storage: &Storage,
    layout: &Layout,
    snapshot: &Snapshot,
    selector: &Selector,
) -> QueryError {
    match nearby(storage, layout, snapshot, selector).await {
        Ok(nearby) => QueryError::NoSeries { selector: selector.to_string(), nearby: Box::new(nearby) },
        Err(error) => error.into(),
    }
}
