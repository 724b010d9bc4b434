//! What the rows were built from.

include!(concat!(env!("OUT_DIR"), "/versions.rs"));

/// The compiler, such as `rustc 1.95.0`.
pub const RUNTIME: &str = env!("LAB_RUSTC");

/// What made the code in `generated/rawline_lab_sbe`, whose version no lock file knows.
const SBE_TOOL: (&str, &str) = ("sbe-tool", "1.38.1");

/// The exact version of a row's library, from the lock file that the build used.
pub fn of(library: &str) -> &'static str {
    if library == SBE_TOOL.0 {
        return SBE_TOOL.1;
    }
    locked(library).unwrap_or("unknown")
}
