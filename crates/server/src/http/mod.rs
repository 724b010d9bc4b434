//! The HTTP API over a broker: one file a verb, one that turns errors into answers.
