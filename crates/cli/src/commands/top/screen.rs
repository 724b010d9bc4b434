//! A terminal as a screen: lines to show, keys that are pressed.

use super::frame::Size;
use crate::commands::{CommandError, stdout_failed};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::io::{IsTerminal, Write};
use terminal_size::{Height, Width, terminal_size_of};
use tokio::io::AsyncReadExt;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Another screen, without a cursor; and back.
const OPEN: &str = "\x1b[?1049h\x1b[?25l";
const CLOSE: &str = "\x1b[?25h\x1b[?1049l";

/// A key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    Quit,
    Sort,
    /// Scroll by so many lines.
    Lines(isize),
    Pages(isize),
    Other,
}

/// The terminal on stdout. It is as before when the value is dropped.
pub struct Screen {
    /// The settings of stdin before; `None` if it isn't a terminal.
    before: Option<Termios>,
}

/// The keys of the terminal on stdin, and changes of the screen's size.
pub struct Events {
    /// `None` if it isn't a terminal.
    stdin: Option<tokio::io::Stdin>,
    /// Bytes of keys that were read.
    read: Vec<u8>,
    resizes: Signal,
}

impl Events {
    pub fn new() -> Result<Events, CommandError> {
        let failed = |error| CommandError::Failed(format!("can't listen for the terminal's size: {error}"));
        let stdin = std::io::stdin().is_terminal().then(tokio::io::stdin);
        let resizes = signal(SignalKind::window_change()).map_err(failed)?;
        Ok(Events { stdin, read: Vec::new(), resizes })
    }

    /// Waits for a key, or until the screen has another size. Cancel-safe.
    pub async fn next(&mut self) -> Key {
        let Events { stdin, read, resizes } = self;
        if read.is_empty() {
            tokio::select! {
                () = wait(stdin.as_mut(), read) => {}
                _ = resizes.recv() => return Key::Other,
            }
        }
        let rest = read.split_off(key_bytes(read));
        key_of(&std::mem::replace(read, rest))
    }
}

/// Waits for keys; forever without a terminal.
async fn wait(stdin: Option<&mut tokio::io::Stdin>, read: &mut Vec<u8>) {
    if let Some(stdin) = stdin
        && stdin.read_buf(read).await.is_ok_and(|bytes| bytes > 0)
    {
        return;
    }
    std::future::pending().await
}

impl Screen {
    pub fn open() -> Result<Screen, CommandError> {
        let before = std::io::stdin().is_terminal().then(|| tcgetattr(std::io::stdin()).ok()).flatten();
        if let Some(before) = &before {
            let mut settings = before.clone();
            // Each key at once and not shown. ctrl-c stays a signal.
            settings.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &settings);
        }
        let screen = Screen { before };
        write(OPEN)?;
        Ok(screen)
    }

    pub fn size(&self) -> Size {
        let (Width(columns), Height(rows)) = terminal_size_of(std::io::stdout()).unwrap_or((Width(80), Height(24)));
        Size { columns: usize::from(columns).max(1), rows: usize::from(rows).max(1) }
    }

    /// Replaces what is shown. Names of columns are bold.
    pub fn draw(&self, lines: &[String]) -> Result<(), CommandError> {
        let mut text = String::from("\x1b[H");
        for (number, line) in lines.iter().enumerate() {
            if number > 0 {
                text.push_str("\r\n");
            }
            let is_head = line.starts_with("TOPIC ") || line.starts_with("GROUP ");
            let (bold, plain) = if is_head { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
            // The rest of the line is cleared first: at the last column, it would clear what was written there.
            text.push_str("\x1b[K");
            text.push_str(bold);
            text.push_str(line);
            text.push_str(plain);
        }
        if lines.len() < self.size().rows {
            text.push_str("\r\n\x1b[0J");
        }
        write(&text)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = write(CLOSE);
        if let Some(before) = &self.before {
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, before);
        }
    }
}

fn write(text: &str) -> Result<(), CommandError> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(|error| stdout_failed(&error))
}

/// The length of the first key: one byte, or the escape and what follows it up to a letter or ~.
fn key_bytes(bytes: &[u8]) -> usize {
    match bytes {
        [0x1b, b'[' | b'O', sequence @ ..] => {
            let end = sequence.iter().position(|byte| (b'@'..=b'~').contains(byte));
            end.map_or(bytes.len(), |end| 2 + end + 1)
        }
        bytes => bytes.len().min(1),
    }
}

/// The key that a terminal sends as these bytes.
fn key_of(bytes: &[u8]) -> Key {
    match bytes {
        b"q" | b"Q" | b"\x1b" => Key::Quit,
        b"s" => Key::Sort,
        b"j" | b"\x1b[B" | b"\x1bOB" => Key::Lines(1),
        b"k" | b"\x1b[A" | b"\x1bOA" => Key::Lines(-1),
        b" " | b"\x1b[6~" => Key::Pages(1),
        b"b" | b"\x1b[5~" => Key::Pages(-1),
        _ => Key::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_of_pagers() {
        let mut bytes = b"x\x1b[A\x1b[6~s\x1b[1;5Cj q\x04".as_slice();
        let mut keys = Vec::new();
        while !bytes.is_empty() {
            let (key, rest) = bytes.split_at(key_bytes(bytes));
            keys.push(key_of(key));
            bytes = rest;
        }
        let (other, quit) = (Key::Other, Key::Quit);
        let (up, down, page) = (Key::Lines(-1), Key::Lines(1), Key::Pages(1));
        assert_eq!(keys, [other, up, page, Key::Sort, other, down, page, quit, other]);
        assert_eq!((key_bytes(b"\x1b[1;"), key_of(b"\x1b")), (4, quit));
    }
}
