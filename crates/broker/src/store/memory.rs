//! Objects in memory: for tests and for topics that may be lost.
