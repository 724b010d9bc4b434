//! The metadata of consumers that join a group of the protocol type `consumer`, and the assignment that their leader
//! computes. To the group's coordinator both are opaque bytes.

use super::body::Body;
use super::structure::*;

structures! {
    /// A consumer's metadata: the topics that it wants. Later versions have more fields after them.
    struct ConsumerSubscription {
        topics: Vec<String> [0..],
        user_data: Option<Bytes> [0..],
    }

    /// A consumer's share.
    struct ConsumerAssignment {
        assigned_partitions: Vec<ConsumerPartitions> [0..],
        user_data: Option<Bytes> [0..],
    }

    /// A consumer's share of one topic.
    struct ConsumerPartitions {
        topic: String [0..],
        partitions: Vec<i32> [0..],
    }
}

/// The type of groups whose members say this about themselves.
pub const CONSUMER_PROTOCOL: &str = "consumer";

/// The version that is written. All clients read it.
const VERSION: i16 = 0;

macro_rules! versioned {
    ($($message:ident)*) => {$(
        impl $message {
            /// Reads it, of any version. What later versions have after the fields of the first is ignored.
            pub fn parse(bytes: &[u8]) -> Result<$message, WireError> {
                let mut from = Body::new(bytes, false);
                i16::read(&mut from, VERSION)?;
                $message::read(&mut from, VERSION)
            }

            /// Its bytes, in the first version.
            pub fn to_bytes(&self) -> Bytes {
                let mut to = Writer::new(false);
                VERSION.write(&mut to, VERSION);
                self.write(&mut to, VERSION);
                to.into_bytes().into()
            }
        }
    )*};
}

versioned! { ConsumerSubscription ConsumerAssignment }

#[cfg(test)]
mod tests {
    use super::*;

    /// Made by Kafka 4.3.1's `ConsumerProtocol`: version 3 with an owned partition, generation 5 and the rack `r`.
    const SUBSCRIPTION: &[u8] =
        b"\0\x03\0\0\0\x02\0\x01a\0\x01b\xff\xff\xff\xff\0\0\0\x01\0\x01a\0\0\0\x01\0\0\0\x07\0\0\0\x05\0\x01r";
    const ASSIGNMENT: &[u8] = b"\0\x03\0\0\0\x01\0\x01a\0\0\0\x02\0\0\0\0\0\0\0\x01\xff\xff\xff\xff";

    #[test]
    fn what_kafkas_clients_write_is_read() {
        let subscription = ConsumerSubscription::parse(SUBSCRIPTION).unwrap();
        assert_eq!(subscription, ConsumerSubscription { topics: vec!["a".into(), "b".into()], user_data: None });
        let partitions = vec![ConsumerPartitions { topic: "a".into(), partitions: vec![0, 1] }];
        let assignment = ConsumerAssignment { assigned_partitions: partitions, user_data: None };
        assert_eq!(ConsumerAssignment::parse(ASSIGNMENT), Ok(assignment.clone()));
        // The fields of the first version are the same.
        assert_eq!((&assignment.to_bytes()[..2], &assignment.to_bytes()[2..]), (&b"\0\0"[..], &ASSIGNMENT[2..]));
        assert_eq!(ConsumerSubscription::parse(&subscription.to_bytes()), Ok(subscription));
    }

    #[test]
    fn lying_lengths_are_errors() {
        // Up to the end of the user data.
        for length in 0..16 {
            assert!(ConsumerSubscription::parse(&SUBSCRIPTION[..length]).is_err(), "{length} bytes");
        }
        assert!(ConsumerSubscription::parse(&SUBSCRIPTION[..16]).is_ok());
        let mut lying = SUBSCRIPTION.to_vec();
        lying[2] = 0x7f;
        assert!(ConsumerSubscription::parse(&lying).is_err());
        lying[2] = 0xff;
        assert!(ConsumerSubscription::parse(&lying).is_err());
    }
}
