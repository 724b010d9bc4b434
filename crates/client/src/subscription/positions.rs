//! The position of a subscription: a state machine without I/O.

use rawline_contract::subscription::{Cursor, InTopic, ShortId};

/// The positions of a subscription's partitions.
#[derive(Debug, Default)]
pub(super) struct Positions {
    /// The position at which another connection continues.
    cursor: Cursor,
    /// The positions after the records that the caller got, against which messages are checked. The broker's cursors
    /// leave out partitions without records since their time; these don't.
    delivered: Cursor,
}

impl Positions {
    /// At a cursor.
    pub fn new(cursor: Cursor) -> Positions {
        Positions { delivered: cursor.clone(), cursor }
    }

    pub fn cursor(&self) -> &Cursor {
        &self.cursor
    }

    /// Offset of the next record of a partition, if that is known.
    pub fn next_offset(&self, topic: &str, partition: u32) -> Option<u64> {
        self.delivered.next_offset(topic, partition)
    }

    /// The caller gets the records of a partition before `offset`, or learns that they were skipped.
    pub fn advance(&mut self, topic: &str, partition: u32, offset: u64) {
        self.cursor.set(topic, partition, offset);
        self.delivered.set(topic, partition, offset);
    }

    /// The records that follow are of the topic with this id. If it isn't the one of before, it begins.
    pub fn identify(&mut self, topic: &str, id: ShortId) {
        self.cursor.identify(topic, id);
        self.delivered.identify(topic, id);
    }

    /// A topic was deleted: in another one of its name, offsets begin at 0 again.
    pub fn forget(&mut self, topic: &str) {
        self.cursor.remove(topic);
        self.delivered.remove(topic);
    }

    /// The broker says where the subscription is, after everything that the caller got.
    pub fn replace(&mut self, cursor: Cursor) {
        for (topic, InTopic { id, positions }) in &cursor.topics {
            if let Some(id) = id {
                self.delivered.identify(topic, *id);
            }
            for (partition, offset) in positions {
                self.delivered.set(topic, *partition, *offset);
            }
        }
        self.cursor = cursor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_brokers_cursor_is_taken_over_and_positions_stay_known() {
        let mut positions = Positions::new("5;dns/0=1,1=2".parse().unwrap());
        positions.advance("dns", 0, 7);
        positions.advance("ftp", 0, 3);
        assert_eq!(positions.cursor().to_string(), "5;dns/0=7,1=2;ftp/0=3");
        // With a filter, the broker has gone on in a partition of which nothing was delivered.
        positions.replace("9;dns/0=7,1=40".parse().unwrap());
        assert_eq!(positions.cursor().to_string(), "9;dns/0=7,1=40");
        assert_eq!((positions.next_offset("ftp", 0), positions.next_offset("dns", 1)), (Some(3), Some(40)));
        assert_eq!(positions.next_offset("ftp", 1), None);
        positions.advance("ftp", 0, 4);
        assert_eq!(positions.cursor().to_string(), "9;dns/0=7,1=40;ftp/0=4");
        positions.identify("ftp", ShortId(1));
        assert_eq!(positions.next_offset("ftp", 0), Some(4));
        positions.identify("ftp", ShortId(2));
        assert_eq!(positions.next_offset("ftp", 0), None, "another topic");
        positions.advance("ftp", 0, 4);
        positions.forget("dns");
        assert_eq!(
            (positions.cursor().to_string().as_str(), positions.next_offset("dns", 0)),
            ("9;ftp~00000002/0=4", None)
        );
    }
}
