//! Expires old times of a topic's roll-ups by advancing its horizon.

use crate::MeasureError;
use crate::layout::{Horizon, Layout};
use crate::rollup::commit::json;
use crate::rollup::options::{Options, Retention};
use crate::snapshot::Snapshot;
use std::time::Duration;

/// Advances the horizon. Readers ignore files before it, and cleaning deletes them.
pub(crate) async fn advance_horizon(
    options: &Options,
    layout: &Layout,
    snapshot: &mut Snapshot,
) -> Result<(), MeasureError> {
    let Retention { raw, minute, hour } = options.retention;
    let now_ms = (options.now_ms)();
    let since = |kept: Option<Duration>, before: Option<i64>| {
        let since = kept.map(|kept| now_ms.saturating_sub(i64::try_from(kept.as_millis()).unwrap_or(i64::MAX)));
        // It never moves back, because files before it are deleted.
        since.max(before)
    };
    let horizon = Horizon {
        raw_ms: since(raw, snapshot.horizon.raw_ms),
        minute_ms: since(minute, snapshot.horizon.minute_ms),
        hour_ms: since(hour, snapshot.horizon.hour_ms),
    };
    if horizon != snapshot.horizon {
        options.storage.put(&layout.horizon(), json(&horizon)?.into()).await?;
        snapshot.horizon = horizon;
    }
    Ok(())
}
