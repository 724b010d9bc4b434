//! The versions of the rows' libraries.

include!(concat!(env!("OUT_DIR"), "/versions.rs"));

/// The compiler, such as `rustc 1.95.0`.
pub const RUNTIME: &str = env!("LAB_RUSTC");

/// The generator of the SBE code, which is in no Cargo.lock; build.rs takes its version from lab/java/pom.xml.
const SBE_TOOL: (&str, &str) = ("sbe-tool", env!("LAB_SBE"));

/// The exact version of a row's library, from the lock file that the build used.
pub fn of(library: &str) -> &'static str {
    if library == SBE_TOOL.0 {
        return SBE_TOOL.1;
    }
    locked(library).unwrap_or("unknown")
}
