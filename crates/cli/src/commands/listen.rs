//! Addresses on which the broker listens.

use super::CommandError;
use std::net::SocketAddr;
use tokio::net::TcpSocket;

/// Maximum number of connections that wait to be accepted.
pub const LISTEN_BACKLOG: u32 = 1024;

/// Reserves an address without listening on it yet: fails early if another process has it.
pub fn bind(address: SocketAddr, flag: &str) -> Result<TcpSocket, CommandError> {
    let bound = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        Ok(socket)
    };
    bound().map_err(|error| cannot_listen(address, flag, &error))
}

/// Names the flag that the address was given with.
pub fn cannot_listen(address: SocketAddr, flag: &str, error: &std::io::Error) -> CommandError {
    CommandError::Failed(format!(
        "cannot listen on {address}: {error}; is a broker already running there? choose another address with {flag}"
    ))
}
