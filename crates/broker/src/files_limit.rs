//! The number of files that this process may open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit on open files to the hard limit, and returns the limit that now holds: `usize::MAX` if there
/// is no limit. A failure is logged.
///
/// The soft limit is often 1,024, for programs that use `select`. A broker holds a descriptor for each connection and
/// several for each topic.
pub fn raise_files_limit() -> usize {
    let mut limit = getrlimit(Resource::Nofile);
    // `None` is unlimited.
    if limit.current.is_some() && limit.current != limit.maximum {
        let raised = Rlimit { current: limit.maximum, ..limit };
        match setrlimit(Resource::Nofile, raised) {
            Ok(()) => limit = raised,
            Err(error) => tracing::warn!(%error, "can't raise the limit on open files; raise it with `ulimit -n`"),
        }
    }
    limit.current.and_then(|files| usize::try_from(files).ok()).unwrap_or(usize::MAX)
}
