//! The limit on open files, raised at the start of the broker.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Raises the soft limit on open files to the hard limit. The soft limit is often 1024, for programs that use
/// select(2), and the broker holds a descriptor for each connection and several for each topic.
pub fn raise_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    // `None` is unlimited.
    if limit.current.is_some() && limit.current != limit.maximum {
        limit.current = limit.maximum;
        if let Err(error) = setrlimit(Resource::Nofile, limit) {
            tracing::warn!(%error, "can't raise the limit on open files; raise it with `ulimit -n`");
        }
    }
}
