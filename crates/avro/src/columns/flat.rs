//! The fast path for records of numbers, texts and maps of texts, such as most measurements and events.
//!
//! It reports no errors: a message that it can't read, valid or not, is read by the plan, which reports any fault.

use super::column::{Column, Data, ROOT, extend};
use super::texts::{Texts, read_entries, read_id, read_run, read_view};
use crate::cursor::Cursor;
use crate::plan::{Code, Plan, Scalar, Step};

/// How a field is read, and into which column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flat {
    column: u32,
    read: Read,
}

#[derive(Debug, Clone, Copy)]
enum Read {
    Boolean,
    Int,
    Long,
    Float,
    Double,
    Text,
    /// A map of texts, whose keys are this column.
    Texts {
        keys: u32,
    },
}

/// The plan's fields in the writer's order, if all are flat.
pub(super) fn flatten(plan: &Plan, columns: &[Column]) -> Option<Vec<Flat>> {
    let Some(Step { code: Code::Record { body, next, .. }, .. }) = plan.steps.first() else { return None };
    let Data::Record { first, .. } = &columns.get(ROOT as usize)?.data else { return None };
    // Two levels: the record, and a map in it.
    if plan.limits().depth_max < 2 {
        return None;
    }
    let mut flat = Vec::new();
    let mut at = *body;
    while at + 1 < *next {
        let Step { slot, code } = *plan.steps.get(at as usize)?;
        let column = first + slot;
        at += 1;
        let read = match (code, &columns.get(column as usize)?.data) {
            (Code::Read(Scalar::Boolean), Data::Boolean(_)) => Read::Boolean,
            (Code::Read(Scalar::Int), Data::Int(_)) => Read::Int,
            (Code::Read(Scalar::Long), Data::Long(_)) => Read::Long,
            (Code::Read(Scalar::Float), Data::Float(_)) => Read::Float,
            (Code::Read(Scalar::Double), Data::Double(_)) => Read::Double,
            (Code::Read(Scalar::String), Data::Runs(_) | Data::View(_) | Data::Id(_)) => Read::Text,
            (Code::Map { body, next, .. }, Data::Map { keys, .. }) => {
                let texts =
                    matches!(columns.get(*keys as usize + 1)?.data, Data::Runs(_) | Data::View(_) | Data::Id(_));
                let Step { code: Code::Read(Scalar::String), .. } = plan.steps.get(body as usize)? else { return None };
                if !texts {
                    return None;
                }
                at = next;
                Read::Texts { keys: *keys }
            }
            _ => return None,
        };
        flat.push(Flat { column, read });
    }
    Some(flat)
}

/// Appends the message's values. After `None`, the columns have additional rows and must be truncated.
#[inline]
pub(super) fn append(
    flat: &[Flat],
    columns: &mut [Column],
    texts: &mut Texts,
    message: &[u8],
    elements_max: u32,
) -> Option<()> {
    let mut cursor = Cursor::new(message);
    let mut viewed = false;
    let Data::Record { count, rows, .. } = &mut columns.get_mut(ROOT as usize)?.data else { return None };
    *rows += 1;
    let mut elements = *count as usize;
    if elements > elements_max as usize {
        return None;
    }
    for Flat { column, read } in flat {
        if let Read::Texts { keys } = read {
            let mut total = 0;
            loop {
                let (count, None) = cursor.block().ok()? else { return None };
                let count = usize::try_from(count).ok().filter(|count| *count <= cursor.rest().len())?;
                if count == 0 {
                    break;
                }
                total += count;
                elements += count;
                let pair = columns.get_mut(*keys as usize..)?.first_chunk_mut()?;
                let read = read_entries(pair, count, &mut cursor, message, texts, &mut viewed);
                if elements > elements_max as usize || !read.ok()? {
                    return None;
                }
            }
            let Data::Map { offsets, .. } = &mut columns.get_mut(*column as usize)?.data else { return None };
            if !extend(offsets, total as u32) {
                return None;
            }
            continue;
        }
        match (&mut columns.get_mut(*column as usize)?.data, read) {
            (Data::Long(values), Read::Long) => values.push(cursor.long().ok()?),
            (Data::Double(values), Read::Double) => values.push(cursor.double().ok()?),
            (Data::Int(values), Read::Int) => values.push(cursor.int().ok()?),
            (Data::Float(values), Read::Float) => values.push(cursor.float().ok()?),
            (Data::Boolean(values), Read::Boolean) => values.append(cursor.boolean().ok()?),
            (Data::Runs(runs), Read::Text) => {
                if !runs.reserve(1, cursor.rest().len()) {
                    return None;
                }
                read_run(runs, &mut cursor).ok()?;
            }
            (Data::View(views), Read::Text) => read_view(views, &mut cursor, message, texts, &mut viewed).ok()?,
            (Data::Id(ids), Read::Text) => read_id(ids, &mut cursor, texts).ok()?,
            _ => return None,
        }
    }
    cursor.finish().ok()?;
    if viewed {
        texts.block.extend_from_slice(message);
    }
    Some(())
}
