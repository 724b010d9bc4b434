//! Errors of system calls: what failed, and what to do about it.

use crate::store_error::StoreError;
use rustix::io::Errno;
use std::io;
use std::path::Path;

/// The error of a system call on this path.
pub(super) fn io_error(action: &str, path: &Path, error: &io::Error) -> StoreError {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    let path = path.display();
    match error.kind() {
        _ if is_out_of_files(error) => StoreError::wait(format!(
            "could not {action} {path}: {error}; wait until other connections are closed and send the request again \
             (nothing of it was stored), or raise the number of files that the process may open"
        )),
        StorageFull | QuotaExceeded | FileTooLarge => StoreError::wait(format!(
            "could not {action} {path}: {error}; free disk space or delete old records, then send the request again \
             (nothing of it was stored)"
        )),
        _ => StoreError::human(format!(
            "could not {action} {path}: {error}; check the disk and the directory's permissions"
        )),
    }
}

/// Whether the process or the system may not open one more file.
pub(super) fn is_out_of_files(error: &io::Error) -> bool {
    let is = |errno: Errno| error.raw_os_error() == Some(errno.raw_os_error());
    is(Errno::MFILE) || is(Errno::NFILE)
}
