//! Appends records with newlines or lengths between them. Short ones cost a few instructions each.

use rawline_batch::U32;

/// Records up to this size are copied with whatever follows them, by instructions whose number is fixed: a call of
/// `memcpy` takes longer.
const SHORT_BYTES: usize = 32;

/// How many records of these sizes have about so many bytes, at least one; and how many they have.
pub fn part(sizes: &[U32], bytes: usize) -> (usize, usize) {
    let (mut records, mut part_bytes) = (0, 0);
    for size in sizes {
        if part_bytes >= bytes {
            break;
        }
        (records, part_bytes) = (records + 1, part_bytes + size.get() as usize);
    }
    (records, part_bytes)
}

/// Appends the concatenated records of these sizes, each followed by a newline.
pub fn append_lines(out: &mut Vec<u8>, sizes: &[U32], data: &[u8]) {
    append::<0, 1>(out, sizes, data);
}

/// Appends the concatenated records of these sizes, each after its length (u32, little-endian).
pub fn append_length_prefixed(out: &mut Vec<u8>, sizes: &[U32], data: &[u8]) {
    append::<4, 0>(out, sizes, data);
}

fn append<const LENGTH: usize, const NEWLINE: usize>(out: &mut Vec<u8>, sizes: &[U32], data: &[u8]) {
    let begin = out.len();
    let end = begin + data.len() + sizes.len() * (LENGTH + NEWLINE);
    out.resize(end + SHORT_BYTES, 0);
    let (mut to, mut from) = (out.split_at_mut(begin).1, data);
    for size in sizes {
        let bytes = size.get() as usize;
        let (length, room) = to.split_at_mut(LENGTH);
        length.copy_from_slice(size.get().to_le_bytes().split_at(LENGTH).0);
        match (from.first_chunk::<SHORT_BYTES>(), room.first_chunk_mut::<SHORT_BYTES>()) {
            (Some(short), Some(room)) if bytes <= SHORT_BYTES => *room = *short,
            _ => room.split_at_mut(bytes).0.copy_from_slice(from.split_at(bytes).0),
        }
        let (newline, rest) = room.split_at_mut(bytes).1.split_at_mut(NEWLINE);
        newline.fill(b'\n');
        (to, from) = (rest, from.split_at(bytes).1);
    }
    assert!(from.is_empty(), "{} records end {} bytes before the end of their data", sizes.len(), from.len());
    out.truncate(end);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_all_sizes_are_framed() {
        let mut random = fastrand::Rng::with_seed(5);
        for _ in 0..500 {
            let sizes: Vec<usize> = (0..random.usize(0..20)).map(|_| random.usize(0..80)).collect();
            let records: Vec<Vec<u8>> = sizes.iter().map(|size| (0..*size).map(|_| random.u8(..)).collect()).collect();
            let sizes: Vec<U32> = sizes.iter().map(|size| U32::new(*size as u32)).collect();
            let (mut lines, mut prefixed) = (b"before".to_vec(), b"before".to_vec());
            let (mut want_lines, mut want_prefixed) = (lines.clone(), prefixed.clone());
            for record in &records {
                want_lines.extend(record.iter().chain(b"\n"));
                want_prefixed.extend((record.len() as u32).to_le_bytes().iter().chain(record));
            }
            let (data, part_bytes) = (records.concat(), random.usize(1..200));
            let (mut sizes, mut data) = (sizes.as_slice(), data.as_slice());
            while !sizes.is_empty() {
                let (records, bytes) = part(sizes, part_bytes);
                assert!(records > 0 && (bytes >= part_bytes || records == sizes.len()), "{records} records");
                append_lines(&mut lines, &sizes[..records], &data[..bytes]);
                append_length_prefixed(&mut prefixed, &sizes[..records], &data[..bytes]);
                (sizes, data) = (&sizes[records..], &data[bytes..]);
            }
            assert_eq!((lines, prefixed), (want_lines, want_prefixed));
        }
    }
}
