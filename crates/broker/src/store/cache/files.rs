//! The cache's files: names, writing, mapping, and reading without trusting that a mapped file keeps its length.

use super::copy::blocks_of;
use super::name::CopyName;
use super::ranges::Ranges;
use crate::store::mapping::Mappings;
use bytes::Bytes;
use memmap2::Mmap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// Pages are brought into memory by reads of this size.
const TOUCH_BYTES: usize = 64 << 10;

/// The directory of copies, `OBJECTS/TOPIC/FIRST_OFFSET-TAG.rwl`.
pub(super) struct Files {
    objects: PathBuf,
    mappings: Arc<Mappings>,
    /// Numbers the files that are being written.
    writes: AtomicU64,
}

impl Files {
    /// Uses `objects`, which exists.
    pub fn new(objects: PathBuf) -> Self {
        Files { objects, mappings: Arc::default(), writes: AtomicU64::new(0) }
    }

    pub fn mappings(&self) -> Arc<Mappings> {
        self.mappings.clone()
    }

    pub fn path(&self, name: &CopyName) -> PathBuf {
        self.objects.join(&name.topic).join(format!("{:020}-{:08x}.rwl", name.first_offset, name.tag))
    }

    /// Opens the file of a copy of an object of `bytes` bytes, and maps it. Returns what is there of it too.
    pub fn open(&self, name: &CopyName, bytes: u64) -> io::Result<(Bytes, Arc<File>, Ranges)> {
        let file = File::options().read(true).write(true).open(self.path(name))?;
        let found = file.metadata()?.len();
        if found != bytes {
            return Err(io::Error::other(format!("it has {found} bytes instead of {bytes}")));
        }
        let present = blocks_of(&file, bytes);
        let (whole, file) = self.map(file)?;
        Ok((whole, file, present))
    }

    /// Begins a copy of an object of `bytes` bytes: a file that is one hole, mapped.
    pub fn create(&self, name: &CopyName, bytes: u64) -> io::Result<(Bytes, Arc<File>)> {
        self.create_folder(name)?;
        // Not that of a copy that has this name: its readers would see it change.
        match fs::remove_file(self.path(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = File::options().read(true).write(true).create_new(true).open(self.path(name))?;
        file.set_len(bytes)?;
        self.map(file)
    }

    /// Maps a file of this directory.
    fn map(&self, file: File) -> io::Result<(Bytes, Arc<File>)> {
        // SAFETY: the file is in a directory that this process has locked, under a name that only this module writes.
        // Its length stays. A block is written before any of its bytes are handed out, and never again: bytes that are
        // borrowed don't change. A process that changes the file in spite of the lock can change bytes, which checksums
        // find, or truncate it, which `touch` and `is_whole` look for before its pages are used.
        let mapping = unsafe { Mmap::map(&file) }?;
        let file = Arc::new(file);
        Ok((self.mappings.share(mapping, file.clone()).into_whole(), file))
    }

    /// Whether the file of a mapping still has all its bytes. Touching a page after the end of a truncated file would
    /// kill the process.
    pub fn is_whole(&self, whole: &Bytes) -> bool {
        let Some(range) = self.mappings.find(whole) else { return true };
        let length = range.file.metadata().map_or(0, |metadata| metadata.len());
        length >= range.position + whole.len() as u64
    }

    /// Brings every page of bytes of a mapping into memory, by reading its file: an error or a truncated file is then
    /// an error, not a signal. Blocks.
    pub fn touch(&self, bytes: &Bytes) -> io::Result<()> {
        let Some(range) = self.mappings.find(bytes) else { return Ok(()) };
        let mut scratch = vec![0; TOUCH_BYTES.min(bytes.len())];
        let mut position = range.position;
        for piece in bytes.chunks(TOUCH_BYTES) {
            let to = scratch.get_mut(..piece.len()).unwrap_or_else(|| unreachable!("a piece of {}", piece.len()));
            range.file.read_exact_at(to, position)?;
            position += piece.len() as u64;
        }
        Ok(())
    }

    /// Begins a file for a copy that is written whole.
    pub fn draft(&self, name: &CopyName) -> io::Result<Draft> {
        debug_assert_eq!(
            self.path(name).file_name().and_then(|file| parse_name(file.to_str()?)),
            Some((name.first_offset, name.tag)),
            "a copy that no later process finds"
        );
        let number = self.writes.fetch_add(1, Ordering::Relaxed);
        let path = self.path(name).with_extension(format!("{number}.tmp"));
        self.create_folder(name)?;
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path)?;
        Ok(Draft { file, path, bytes: 0 })
    }

    fn create_folder(&self, name: &CopyName) -> io::Result<()> {
        let topic = self.objects.join(&name.topic);
        if topic.is_dir() {
            return Ok(());
        }
        // Not its parents: a cache that was deleted while it is open must not be recreated piece by piece.
        fs::create_dir(topic).or_else(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Ok(()),
            _ => Err(error),
        })
    }

    /// Gives a file its name, which holds a whole object of `bytes` bytes.
    pub fn keep(&self, draft: Draft, name: &CopyName, bytes: u64) -> io::Result<()> {
        assert_eq!(draft.bytes, bytes, "bytes of the copy {name:?}, written and of its object");
        draft.rename(&self.path(name))
    }

    pub fn unlink(&self, name: &CopyName) {
        let path = self.path(name);
        if let Err(error) = fs::remove_file(&path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(
                path = %path.display(), %error,
                "can't delete a copy; check the permissions of the cache's directory"
            );
        }
    }

    /// Finds the copies of an earlier process, the one written last at the end; deletes drafts.
    pub fn scan(&self) -> io::Result<Vec<Scanned>> {
        let mut found = Vec::new();
        for topic in fs::read_dir(&self.objects)? {
            let topic = topic?;
            if !topic.file_type()?.is_dir() {
                continue;
            }
            for file in fs::read_dir(topic.path())? {
                let file = file?;
                if file.path().extension().is_some_and(|extension| extension == "tmp") {
                    fs::remove_file(file.path())?;
                    continue;
                }
                let (Ok(topic), Ok(name)) = (topic.file_name().into_string(), file.file_name().into_string()) else {
                    continue;
                };
                let Some((first_offset, tag)) = parse_name(&name) else {
                    tracing::warn!(
                        path = %file.path().display(),
                        "not a file of the cache, which ignores it: give the cache a directory that nothing else uses"
                    );
                    continue;
                };
                let metadata = file.metadata()?;
                let written = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                // `st_blocks` counts units of 512 bytes.
                let bytes = metadata.len().min(metadata.blocks() * 512);
                let name = CopyName { topic, first_offset, tag };
                found.push((written, Scanned { name, bytes, is_whole: bytes == metadata.len() }));
            }
        }
        found.sort_by_key(|(written, _)| *written);
        Ok(found.into_iter().map(|(_, scanned)| scanned).collect())
    }
}

/// A copy of an earlier process.
pub(super) struct Scanned {
    pub name: CopyName,
    /// Size of what is there of it.
    pub bytes: u64,
    /// Whether all of it is there.
    pub is_whole: bool,
}

/// A file that is being written; unlinked unless it is renamed.
pub(super) struct Draft {
    file: File,
    path: PathBuf,
    /// Number of bytes written.
    bytes: u64,
}

impl Draft {
    pub fn write_all_vectored(&mut self, parts: &[Bytes]) -> io::Result<()> {
        let mut slices: Vec<io::IoSlice<'_>> =
            parts.iter().filter(|part| !part.is_empty()).map(|part| io::IoSlice::new(part)).collect();
        let mut left = slices.as_mut_slice();
        while !left.is_empty() {
            match self.file.write_vectored(left) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    self.bytes += written as u64;
                    io::IoSlice::advance_slices(&mut left, written);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn rename(mut self, to: &Path) -> io::Result<()> {
        fs::rename(&self.path, to)?;
        self.path = PathBuf::new();
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if self.path.as_os_str().is_empty() {
            return;
        }
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(
                path = %self.path.display(), %error,
                "can't delete an unfinished file; check the permissions of the cache's directory"
            );
        }
    }
}

fn parse_name(name: &str) -> Option<(u64, u32)> {
    let (offset, tag) = name.strip_suffix(".rwl")?.split_once('-')?;
    let is_sound = offset.len() == 20 && offset.bytes().all(|byte| byte.is_ascii_digit()) && tag.len() == 8;
    if !is_sound {
        return None;
    }
    Some((offset.parse().ok()?, u32::from_str_radix(tag, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::CACHE_BLOCK_BYTES;

    #[test]
    fn a_mapped_file_that_is_truncated_is_noticed_before_its_pages_are_used() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::new(dir.path().to_owned());
        let name = CopyName { topic: "t".to_owned(), first_offset: 0, tag: 1 };
        let mut draft = files.draft(&name).unwrap();
        draft.write_all_vectored(&[vec![7; 100_000].into()]).unwrap();
        files.keep(draft, &name, 100_000).unwrap();
        let (whole, _, present) = files.open(&name, 100_000).unwrap();
        assert!(present.contains(&(0..100_000)) && files.open(&name, 100_001).is_err());
        assert!(files.is_whole(&whole));
        files.touch(&whole).unwrap();
        File::options().write(true).open(files.path(&name)).unwrap().set_len(10_000).unwrap();
        assert!(!files.is_whole(&whole));
        assert!(files.touch(&whole).is_err());
        files.touch(&whole.slice(..10_000)).unwrap();
        assert!(files.touch(&whole.slice(9_999..10_001)).is_err());
    }

    #[test]
    fn the_blocks_that_were_written_are_found_again() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::new(dir.path().to_owned());
        let name = CopyName { topic: "t".to_owned(), first_offset: 0, tag: 1 };
        const BYTES: u64 = 10 * CACHE_BLOCK_BYTES + 77;
        let (whole, file) = files.create(&name, BYTES).unwrap();
        let block = vec![7; CACHE_BLOCK_BYTES as usize];
        // The third and the fourth block, and the last.
        file.write_all_at(&block, 2 * CACHE_BLOCK_BYTES).unwrap();
        file.write_all_at(&block, 3 * CACHE_BLOCK_BYTES).unwrap();
        file.write_all_at(&[7; 77], 10 * CACHE_BLOCK_BYTES).unwrap();
        let (again, _, present) = files.open(&name, BYTES).unwrap();
        let mut expected = Ranges::default();
        expected.add(&(2 * CACHE_BLOCK_BYTES..4 * CACHE_BLOCK_BYTES));
        expected.add(&(10 * CACHE_BLOCK_BYTES..BYTES));
        assert_eq!(present, expected);
        assert_eq!(whole, again);
        let scanned = files.scan().unwrap();
        assert!(!scanned[0].is_whole && (present.bytes()..BYTES / 2).contains(&scanned[0].bytes));
        // Another copy has another file.
        let (new, _) = files.create(&name, BYTES).unwrap();
        assert!(new.iter().all(|byte| *byte == 0) && whole[2 * CACHE_BLOCK_BYTES as usize] == 7);
    }

    #[test]
    fn names_are_read_back() {
        assert_eq!(parse_name("00000000000000000042-0000beef.rwl"), Some((42, 0xbeef)));
        for wrong in ["42-0000beef.rwl", "00000000000000000042.rwl", "00000000000000000042-beef.rwl", "x"] {
            assert_eq!(parse_name(wrong), None, "{wrong}");
        }
    }
}
