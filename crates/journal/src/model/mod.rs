//! The rules explored by a model checker: every order of events of a small world, with writers that lose races, crash
//! sleep and merge, requests that arrive late and responses that never do, and an eager deleter.

mod checks;
mod merging;
mod world;
