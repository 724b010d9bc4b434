//! A topic of measurements becomes roll-ups in Parquet, and answers to queries.
