//! The user's messages: JSON lines, all of them inspected and some of them measured.

use crate::error::LabError;
use crate::shape::{Seen, Shape};
use serde_json::Value as Json;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

/// Places of a huge file from which lines are taken.
const PLACES: u64 = 64;

/// Text of the measured messages: each library holds all of them as trees, which take many times as much.
const MEASURED_BYTES_MAX: usize = 16 << 20;

/// Limits of a sample.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Maximum bytes of lines to inspect.
    pub bytes_max: u64,
    /// Messages that are measured.
    pub messages_max: usize,
}

/// Messages to measure, and the common properties of all inspected messages.
#[derive(Debug)]
pub struct Sample {
    /// The measured messages.
    pub messages: Vec<Message>,
    /// Number of inspected messages.
    pub looked_at: u64,
    /// Their common properties.
    pub shape: Shape,
    /// A note for the user on the sampling.
    pub notes: Vec<String>,
}

/// One message.
#[derive(Debug, Clone)]
pub struct Message {
    /// Its position: `line 7`, or `byte 1048576` of a huge file.
    pub place: String,
    /// Its line.
    pub text: String,
    /// Its text.
    pub json: Json,
}

impl Sample {
    /// Takes a sample of the file; `-` is stdin.
    pub fn read(path: &Path, bounds: Bounds) -> Result<Sample, LabError> {
        let name = path.display().to_string();
        let failed = |source| LabError::File { path: name.clone(), source };
        let mut taken = Taken { name: &name, seen: Seen::default(), kept: Vec::new(), stride: 1, count: 0, bounds };
        let mut notes = Vec::new();
        if path == Path::new("-") {
            let read = taken.lines(&mut std::io::stdin().lock(), bounds.bytes_max)?;
            if read >= bounds.bytes_max {
                notes.push(format!("stdin is larger than {} MB: its begin was taken", bounds.bytes_max >> 20));
            }
        } else {
            let mut file = File::open(path).map_err(failed)?;
            let metadata = file.metadata().map_err(failed)?;
            if metadata.is_dir() {
                return Err(LabError::File { path: name.clone(), source: std::io::ErrorKind::IsADirectory.into() });
            }
            if metadata.is_file() && metadata.len() > bounds.bytes_max {
                taken.places(&mut file, metadata.len(), &failed)?;
                notes.push(format!(
                    "{name} has {} MB: {} messages were taken from {PLACES} places, {} MB together (--memory-mb)",
                    metadata.len() >> 20,
                    taken.count,
                    bounds.bytes_max >> 20
                ));
            } else {
                taken.lines(&mut BufReader::with_capacity(1 << 20, file), bounds.bytes_max)?;
            }
        }
        let Taken { seen, kept, count, .. } = taken;
        if count == 0 {
            return Err(LabError::Sample(format!("{name} has no message: write a JSON object a line")));
        }
        let messages = spread(kept, bounds.messages_max)
            .into_iter()
            .map(|(place, text)| match serde_json::from_str(&text) {
                Ok(json) => Ok(Message { place, text, json }),
                Err(error) => Err(LabError::Sample(format!("{name}, {place}: {error}"))),
            })
            .collect::<Result<Vec<Message>, LabError>>()?;
        if (messages.len() as u64) < count {
            notes.push(format!("{} of {count} messages were measured, spread evenly (--messages)", messages.len()));
        }
        Ok(Sample { messages, looked_at: count, shape: seen.shape(), notes })
    }
}

/// Evenly spread, up to the maximum, and fewer if they are large.
fn spread(mut messages: Vec<(String, String)>, count_max: usize) -> Vec<(String, String)> {
    let count = messages.len();
    let bytes: usize = messages.iter().map(|(_, text)| text.len()).sum();
    let affordable = (count as f64 * MEASURED_BYTES_MAX as f64 / bytes.max(1) as f64) as usize;
    let count_max = count_max.min(affordable.max(1));
    if count > count_max {
        let mut index = 0;
        messages.retain(|_| {
            let keep = index * count_max % count < count_max;
            index += 1;
            keep
        });
    }
    messages
}

struct Taken<'n> {
    name: &'n str,
    seen: Seen,
    /// Places and lines.
    kept: Vec<(String, String)>,
    /// One of this many messages is kept. It doubles when twice the wanted number is kept.
    stride: u64,
    count: u64,
    bounds: Bounds,
}

impl Taken<'_> {
    /// Reads lines until the input ends or the limit is reached; returns the bytes.
    fn lines(&mut self, input: &mut dyn BufRead, bytes_max: u64) -> Result<u64, LabError> {
        let mut read = 0;
        let mut line = Vec::new();
        for number in 1u64.. {
            let length = self.line(input, &mut line)?;
            if length == 0 {
                break;
            }
            read += length;
            self.message(&line, || format!("line {number}"))?;
            if read >= bytes_max {
                break;
            }
        }
        Ok(read)
    }

    /// Reads lines from places spread over a file that is larger than the limit.
    fn places(
        &mut self,
        file: &mut File,
        length: u64,
        failed: &dyn Fn(std::io::Error) -> LabError,
    ) -> Result<(), LabError> {
        let mut line = Vec::new();
        for place in 0..PLACES {
            let begin = length / PLACES * place;
            file.seek(SeekFrom::Start(begin)).map_err(failed)?;
            let mut input = BufReader::with_capacity(1 << 16, &mut *file);
            let mut at = begin;
            if place > 0 {
                // The bytes before the first line's end are the rest of a line.
                at += self.line(&mut input, &mut line)?;
            }
            let end = begin + self.bounds.bytes_max / PLACES;
            while at < end {
                let read = self.line(&mut input, &mut line)?;
                if read == 0 {
                    break;
                }
                self.message(&line, || format!("byte {at}"))?;
                at += read;
            }
        }
        Ok(())
    }

    /// One line without its end; returns the bytes read, 0 at the input's end.
    fn line(&self, input: &mut dyn BufRead, line: &mut Vec<u8>) -> Result<u64, LabError> {
        line.clear();
        let source = |source| LabError::File { path: self.name.to_owned(), source };
        let read = input.take(self.bounds.bytes_max + 1).read_until(b'\n', line).map_err(source)? as u64;
        if read > self.bounds.bytes_max {
            return Err(LabError::Sample(format!(
                "{} has a line longer than {} MB: write a JSON object a line, or raise --memory-mb",
                self.name,
                self.bounds.bytes_max >> 20
            )));
        }
        Ok(read)
    }

    fn message(&mut self, line: &[u8], place: impl Fn() -> String) -> Result<(), LabError> {
        let line = line.trim_ascii();
        if line.is_empty() {
            return Ok(());
        }
        let bad = |why: String| LabError::Sample(format!("{}, {}: {why}", self.name, place()));
        let text = std::str::from_utf8(line).map_err(|_| bad("it is not UTF-8".to_owned()))?;
        let json: Json = serde_json::from_str(text)
            .map_err(|error| bad(format!("it is not JSON: {}; write a JSON object a line", of_line(&error))))?;
        if !json.is_object() {
            return Err(bad("it is no object; write a JSON object a line, {\"name\": value, …}".to_owned()));
        }
        self.seen.add(&json);
        if self.count.is_multiple_of(self.stride) {
            self.kept.push((place(), text.to_owned()));
            if self.kept.len() >= 2 * self.bounds.messages_max {
                let mut index = 0;
                self.kept.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
                self.stride *= 2;
            }
        }
        self.count += 1;
        Ok(())
    }
}

/// The parser's message without the line number, which is always 1.
fn of_line(error: &serde_json::Error) -> String {
    error.to_string().replace(" at line 1 column", " at column")
}
