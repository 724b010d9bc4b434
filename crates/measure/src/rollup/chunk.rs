//! The measurements of one commit, collected in the order of their offsets, then sorted by series.

pub(crate) use rawline_series::Columns;

/// One measurement of a known series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Milliseconds since the Unix epoch.
    pub time_ms: i64,
    /// Its value.
    pub value: f64,
}

/// Measurements sorted by series; those of one series in the order of their offsets.
#[derive(Debug)]
pub struct Chunk {
    pub(crate) samples: Vec<Sample>,
    /// The start of each series' samples, by id, and the end of the last series' samples.
    pub(crate) starts: Vec<u32>,
}

impl Chunk {
    /// Sorts the gathered rows; all series are below `series_end`.
    ///
    /// A counting sort, because ids are dense: every row is moved once.
    pub fn sort(pieces: Vec<Columns>, series_end: u32) -> Chunk {
        let mut places = vec![0_u32; series_end as usize + 1];
        for series in pieces.iter().flat_map(|piece| &piece.series) {
            if let Some(place) = places.get_mut(*series as usize) {
                *place += 1;
            }
        }
        let mut before = 0;
        for place in &mut places {
            before += std::mem::replace(place, before);
        }
        let mut samples = vec![Sample { time_ms: 0, value: 0.0 }; before as usize];
        for piece in pieces {
            for ((&series, &time_ms), &value) in piece.series.iter().zip(&piece.time_ms).zip(&piece.value) {
                if let Some(place) = places.get_mut(series as usize)
                    && let Some(sample) = samples.get_mut(*place as usize)
                {
                    *sample = Sample { time_ms, value };
                    *place += 1;
                }
            }
        }
        // Each place has moved to the start of the next series. After a shift they are the starts again.
        places.pop();
        places.insert(0, 0);
        Chunk { samples, starts: places }
    }

    /// Number of measurements.
    pub fn rows(&self) -> usize {
        self.samples.len()
    }

    /// Splits the chunk between series into parts of about `rows` rows.
    pub(crate) fn parts(&mut self, rows: usize) -> Vec<Part<'_>> {
        let mut parts = Vec::new();
        let mut rest = self.samples.as_mut_slice();
        let mut first = 0;
        let ends = self.starts.get(1..).unwrap_or_default();
        while first < ends.len() {
            let begin = self.starts.get(first).copied().unwrap_or_default();
            let wanted = begin.saturating_add(u32::try_from(rows).unwrap_or(u32::MAX).max(1));
            let count = ends.get(first..).unwrap_or_default().partition_point(|end| *end < wanted) + 1;
            let last = (first + count).min(ends.len());
            let starts = self.starts.get(first..=last).unwrap_or_default();
            let end = starts.last().copied().unwrap_or(begin);
            let (samples, after) = rest.split_at_mut((end - begin) as usize);
            rest = after;
            if !samples.is_empty() {
                parts.push(Part { series_first: first as u32, starts, samples });
            }
            first = last;
        }
        parts
    }
}

/// A part of a chunk's series.
pub(crate) struct Part<'a> {
    pub series_first: u32,
    /// The start of each series' samples in the chunk, and the end of the last series' samples.
    pub starts: &'a [u32],
    pub samples: &'a mut [Sample],
}

impl Part<'_> {
    /// Calls `each` with every series that has samples. Its samples are sorted by time, then by offset.
    pub(crate) fn each_series(&mut self, mut each: impl FnMut(u32, &[Sample])) {
        let mut rest = &mut *self.samples;
        for (series, bounds) in (self.series_first..).zip(self.starts.windows(2)) {
            let [begin, end] = bounds else { continue };
            let (samples, after) = rest.split_at_mut((end - begin) as usize);
            rest = after;
            if samples.is_empty() {
                continue;
            }
            if !samples.is_sorted_by_key(|sample| sample.time_ms) {
                samples.sort_by_key(|sample| sample.time_ms);
            }
            each(series, samples);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_comes_out_once_under_its_series() {
        let mut random = fastrand::Rng::with_seed(5);
        for _ in 0..200 {
            let series_end = random.u32(1..50);
            let mut want: Vec<(u32, i64, f64)> = Vec::new();
            let mut pieces = Vec::new();
            for _ in 0..random.usize(0..6) {
                let mut piece = Columns::default();
                for _ in 0..random.usize(0..100) {
                    let (series, time_ms, value) = (random.u32(0..series_end), random.i64(0..20), want.len() as f64);
                    piece.series.push(series);
                    piece.time_ms.push(time_ms);
                    piece.value.push(value);
                    want.push((series, time_ms, value));
                }
                pieces.push(piece);
            }
            // A stable sort: samples with the same time stay in the order of offsets.
            want.sort_by_key(|(series, time_ms, _)| (*series, *time_ms));
            let mut chunk = Chunk::sort(pieces, series_end);
            let rows = random.usize(1..200);
            let mut got = Vec::new();
            let mut parts = chunk.parts(rows);
            for part in &mut parts {
                part.each_series(|series, samples| {
                    got.extend(samples.iter().map(|sample| (series, sample.time_ms, sample.value)));
                });
            }
            assert_eq!(got, want);
        }
    }
}
