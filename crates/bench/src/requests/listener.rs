//! Finds the process that listens on a port of this machine, to measure its CPU time.

use crate::usage::Meter;
use procfs::net::{TcpNetEntry, TcpState};
use procfs::process::{FDTarget, all_processes};
use std::collections::HashSet;
use std::net::SocketAddr;

/// The CPU time of the process that listens there. `None` if the address isn't this machine's loopback, or if this
/// process may not look into the other one.
pub fn meter(server: SocketAddr) -> Option<Meter> {
    if !server.ip().is_loopback() {
        return None;
    }
    let listens = |entry: &TcpNetEntry| entry.state == TcpState::Listen && entry.local_address.port() == server.port();
    let entries = procfs::net::tcp().into_iter().chain(procfs::net::tcp6()).flatten();
    let inodes: HashSet<u64> = entries.filter(listens).map(|entry| entry.inode).collect();
    all_processes().ok()?.flatten().find_map(|process| {
        let mut sockets = process.fd().ok()?.flatten().filter_map(|descriptor| match descriptor.target {
            FDTarget::Socket(inode) => Some(inode),
            _ => None,
        });
        let is_listener = sockets.any(|inode| inodes.contains(&inode));
        is_listener.then(|| Meter::of(u32::try_from(process.pid).ok()?)).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_of_a_port_is_found() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let found = meter(address).unwrap().memory().peak_rss_bytes;
        assert!(found > 0 && found <= Meter::own().unwrap().memory().peak_rss_bytes);
        drop(listener);
        assert!(meter(address).is_none(), "nothing listens any more");
        assert!(meter(SocketAddr::from(([192, 0, 2, 1], 1))).is_none());
    }
}
