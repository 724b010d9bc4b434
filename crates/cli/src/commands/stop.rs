//! When a broker stops: at a signal, or when its stdin ends.

use super::CommandError;
use super::interrupt::Interrupt;
use super::log::Log;
use std::io;
use tokio::sync::{oneshot, watch};

/// Becomes true at the first signal, or at the end of stdin if `with_stdin`. A second signal exits the process.
pub fn stop(log: Log, mut interrupt: Interrupt, with_stdin: bool) -> Result<watch::Receiver<bool>, CommandError> {
    let (stop, stopped) = watch::channel(false);
    let stdin = with_stdin.then(stdin_end).transpose();
    let stdin = stdin.map_err(|error| CommandError::Failed(format!("can't start a thread: {error}")))?;
    tokio::spawn(async move {
        let has_signal = tokio::select! {
            () = interrupt.wait() => true,
            () = ended(stdin) => false,
        };
        log.say("stopping: no new connections, committing pending appends");
        stop.send_replace(true);
        if !has_signal {
            // The program that closed stdin may have sent one at the same time.
            interrupt.wait().await;
        }
        interrupt.wait().await;
        log.say("stopped at once");
        std::process::exit(1);
    });
    Ok(stopped)
}

/// Reads stdin to its end. On a separate thread, because at shutdown the runtime would wait for a read on one of its
/// threads.
fn stdin_end() -> io::Result<oneshot::Receiver<()>> {
    let (end, is_at_end) = oneshot::channel();
    let read = move || {
        // A stdin that can't be read has ended, too.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        let _ = end.send(());
    };
    std::thread::Builder::new().name("stdin".to_owned()).spawn(read)?;
    Ok(is_at_end)
}

async fn ended(stdin: Option<oneshot::Receiver<()>>) {
    match stdin {
        Some(stdin) => _ = stdin.await,
        None => std::future::pending().await,
    }
}
