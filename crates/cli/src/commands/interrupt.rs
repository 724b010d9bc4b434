//! The signals that end a command: SIGINT, which ctrl-c sends, and SIGTERM. Records already read are written first,
//! offsets are committed, members leave.

use super::CommandError;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Both signals. From here on, neither ends the process by itself.
pub struct Interrupt {
    interrupt: Signal,
    terminate: Signal,
}

impl Interrupt {
    /// Begins to listen.
    pub fn new() -> Result<Interrupt, CommandError> {
        let listen =
            |kind| signal(kind).map_err(|error| CommandError::Failed(format!("can't listen for signals: {error}")));
        Ok(Interrupt { interrupt: listen(SignalKind::interrupt())?, terminate: listen(SignalKind::terminate())? })
    }

    /// Waits for the next one. Cancel-safe.
    pub async fn wait(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
