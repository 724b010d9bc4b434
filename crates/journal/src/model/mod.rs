//! The rules explored by a model checker: every order of events of a small world, with writers that lose races, crash
//! and sleep, requests that arrive late and responses that never do, and an eager deleter.

mod checks;
mod world;
