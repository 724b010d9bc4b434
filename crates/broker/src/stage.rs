//! The stages of an append, for a benchmark that records when each is reached. Otherwise one costs an atomic load.

/// The target of the events, by which a subscriber knows them.
pub const STAGES: &str = "rawline::stage";

/// Reports that an append has reached this stage; the stage is the event's name.
#[macro_export]
macro_rules! stage {
    ($name:literal) => {
        tracing::trace!(name: $name, target: $crate::STAGES, "")
    };
}
