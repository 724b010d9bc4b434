//! Checks a journal.

use super::{Finding, Reopen, Unreadable, unreadable};
use crate::journal::copy::{Wanted, bytes_of};
use crate::journal::stored::StoredJournal;
use crate::limits::{CLOCKS_DIFFER_MAX, FINDINGS_MAX, VIEW_RETRY, VIEW_TRIES_MAX};
use crate::meter::Meter;
use crate::store::{Dated, Storage, Store};
use crate::store_error::StoreError;
use rawline_journal::{Listing, PartitionId, SnapshotName, SnapshotRoot, Source};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::time::Duration;
use tokio::time::sleep;

pub(super) async fn check(
    storage: &Storage,
    reopen: &Reopen<'_>,
    number: usize,
    name: &str,
    now_us: u64,
    meter: &Meter,
) -> Vec<Finding> {
    let Some(store) = storage.journals.get(number) else { unreachable!("journal {number} of a storage") };
    let mut findings = Vec::new();
    let listed = match store.list().await {
        Ok(listed) => listed,
        Err(error) => return vec![Finding::failed(name, error.message)],
    };
    if store.has_clock() {
        findings.push(clock(name, listed.date, now_us));
    }
    let view = match StoredJournal::load(store, number as u32).await {
        Ok(view) => view,
        Err(error) => {
            findings.push(Finding::failed(format!("{name}: snapshot"), error.message));
            return findings;
        }
    };
    findings.push(snapshot(name, &view));
    findings.extend(older_snapshots(&**store, name, &listed.found, &view).await);
    findings.push(chain(name, &view));
    let newest_us = view.state.times().newest_us();
    if newest_us > now_us + CLOCKS_DIFFER_MAX.as_micros() as u64 {
        let ahead = Duration::from_micros(newest_us - now_us);
        findings.push(Finding::warning(
            format!("{name}: times"),
            format!(
                "the newest object's time is {ahead:.1?} after this machine's: check the clocks of this machine and of \
                 the brokers; retention by age waits until the time is reached"
            ),
        ));
    }
    let pieces = view.pieces();
    let (count, bytes) = (pieces.len(), bytes_of(&pieces));
    let mut bad = unreadable(&**store, pieces, meter).await;
    if !bad.is_empty() {
        match still_unreadable(reopen, number, bad).await {
            Ok(left) => bad = left,
            Err(error) => {
                findings.push(Finding::failed(format!("{name}: records"), error.message));
                return findings;
            }
        }
    }
    findings.extend(records(name, &view, &**store, &bad, count, bytes));
    findings.push(unneeded(name, &listed, &view));
    findings
}

fn plural(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Compares this machine's clock with the store's, which has seconds.
fn clock(name: &str, date: u64, now_us: u64) -> Finding {
    let (subject, now) = (format!("{name}: clock"), now_us / 1_000_000);
    let off = date.abs_diff(now);
    if off <= CLOCKS_DIFFER_MAX.as_secs() {
        return Finding::ok(subject, format!("this machine's clock and the bucket's differ by {off} s"));
    }
    let text = format!(
        "this machine's clock and the bucket's differ by {off} s: synchronize it (NTP); brokers use the bucket's, and \
         requests are refused if they differ by 15 minutes"
    );
    Finding::warning(subject, text)
}

fn snapshot(name: &str, view: &StoredJournal) -> Finding {
    let subject = format!("{name}: snapshot");
    let Some(found) = view.snapshot else {
        return Finding::ok(subject, "none yet: a start reads the objects from the first on");
    };
    let topics = view.state.topics().count() as u64;
    Finding::ok(
        subject,
        format!(
            "the newest covers the objects before {}; {}, {}",
            found.next,
            plural(found.parts, "separate part"),
            plural(topics, "topic")
        ),
    )
}

/// Snapshots that no start reads while the newest is there.
async fn older_snapshots(store: &dyn Store, name: &str, listing: &Listing, view: &StoredJournal) -> Vec<Finding> {
    let mut findings = Vec::new();
    let newest = view.snapshot.map_or(0, |snapshot| snapshot.next);
    for key in listing.snapshots.iter().filter(|key| key.number < newest) {
        let snapshot = SnapshotName::root(key.number);
        let why = match store.snapshot(snapshot).await {
            // Deleted meanwhile.
            Ok(None) => continue,
            Ok(Some(root)) => match SnapshotRoot::parse(&root) {
                Ok(_) => continue,
                Err(error) => error.to_string(),
            },
            Err(error) => error.message,
        };
        let text = format!("{snapshot} is damaged: {why}; a start reads a newer one, so delete it");
        findings.push(Finding::warning(format!("{name}: older snapshot"), text));
    }
    findings
}

fn chain(name: &str, view: &StoredJournal) -> Finding {
    let subject = format!("{name}: chain");
    let last = view.state.chain().next() - 1;
    if let Some(error) = &view.lost {
        return Finding::failed(subject, format!("whole up to object {last}, then: {}", error.message));
    }
    let void = if view.void > 0 { format!(" ({} of writers that were too late)", view.void) } else { String::new() };
    let after = if view.snapshot.is_some() { " after the snapshot" } else { "" };
    Finding::ok(subject, format!("{}{after}{void}, up to {last}; none is missing", plural(view.valid, "object")))
}

/// Leaves out the pieces that the storage doesn't need any more, because a broker has deleted or merged them, and those
/// that it has elsewhere now.
async fn still_unreadable(
    reopen: &Reopen<'_>,
    number: usize,
    mut bad: Vec<Unreadable>,
) -> Result<Vec<Unreadable>, StoreError> {
    for _ in 0..VIEW_TRIES_MAX {
        let storage = reopen().await?;
        let Some(store) = storage.journals.get(number) else { unreachable!("journal {number} of the same storage") };
        let view = StoredJournal::load(store, number as u32).await?;
        let bad_ones: BTreeSet<_> = bad.iter().flat_map(|bad| &bad.pieces).map(key).collect();
        let mut needed = view.pieces();
        needed.retain(|wanted| bad_ones.contains(&key(wanted)));
        bad = unreadable(&**store, needed, &Meter::default()).await;
        // What is damaged stays so, and what is gone may be the work of a broker.
        if bad.iter().all(|bad| !bad.error.is_gone) {
            break;
        }
        sleep(VIEW_RETRY).await;
    }
    Ok(bad)
}

fn key((partition, piece, _): &Wanted) -> (PartitionId, u64, Source) {
    (*partition, piece.first_offset, piece.place.source)
}

fn records(
    name: &str,
    view: &StoredJournal,
    store: &dyn Store,
    bad: &[Unreadable],
    pieces: usize,
    bytes: u64,
) -> Vec<Finding> {
    let subject = format!("{name}: records");
    if bad.is_empty() {
        let objects = view.sources().len() as u64;
        let text = format!(
            "{bytes} bytes in {} of {}: every checksum matches",
            plural(pieces as u64, "piece"),
            plural(objects, "object")
        );
        return vec![Finding::ok(subject, text)];
    }
    let mut findings: Vec<Finding> = (bad.iter().take(FINDINGS_MAX))
        .map(|Unreadable { pieces, error }| {
            let mut text = format!("{}. Affected: ", error.message);
            affected(view, pieces, &mut text);
            if let Some((_, piece, _)) = pieces.first().filter(|_| error.is_gone) {
                let _ = write!(text, ". To give them up, {}", store.give_up_hint(piece.place.source));
            }
            Finding::failed(subject.clone(), text)
        })
        .collect();
    if bad.len() > FINDINGS_MAX {
        let text = format!("{} more objects can't be read", bad.len() - FINDINGS_MAX);
        findings.push(Finding::failed(subject, text));
    }
    findings
}

/// Which records these pieces have.
fn affected(view: &StoredJournal, pieces: &[Wanted], text: &mut String) {
    for (at, (partition, piece, next_offset)) in pieces.iter().take(FINDINGS_MAX).enumerate() {
        let topic = view.topic_name(partition.topic);
        let comma = if at > 0 { ", " } else { "" };
        let _ = write!(
            text,
            "{comma}{topic}, partition {}, offsets {} to {}",
            partition.number,
            piece.first_offset.max(view.state.first_offset(*partition)),
            next_offset - 1
        );
    }
    if pieces.len() > FINDINGS_MAX {
        let _ = write!(text, ", and {} more", pieces.len() - FINDINGS_MAX);
    }
}

/// Objects that nothing refers to.
fn unneeded(name: &str, listed: &Dated<Listing>, view: &StoredJournal) -> Finding {
    let sources = view.sources();
    let covered = view.snapshot.map_or(1, |snapshot| snapshot.next);
    let objects = listed.found.objects.iter().map(|key| key.number).filter(|number| *number < covered);
    let objects = objects.map(Source::Journal).chain(listed.found.merged.iter().map(|key| Source::Merged(key.number)));
    let count = objects.filter(|source| !sources.contains(source)).count() as u64;
    Finding::ok(
        format!("{name}: garbage"),
        format!("{} without a record that is needed; a broker deletes them", plural(count, "object")),
    )
}
