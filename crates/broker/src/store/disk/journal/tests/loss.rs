//! Segments and objects that are gone when a journal is opened.

use super::*;

/// A machine that goes down writes segments in any order.
#[tokio::test]
async fn a_lost_segment_ends_a_journal_whose_commits_are_not_synced() {
    for is_gone in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        create(&unsynced(dir.path()), 1, 1..200).await;
        let all = segments(dir.path());
        // Sealed by a start; a crash comes before that.
        let forget_seals = || {
            all.iter().for_each(|first| drop(fs::remove_file(segment(dir.path(), *first).with_extension("idx"))));
        };
        forget_seals();
        let lost = segment(dir.path(), all[2]);
        if is_gone {
            fs::remove_file(&lost).unwrap()
        } else {
            fs::write(&lost, vec![0; 4096]).unwrap()
        }
        let mut runs = vec![1; all[2] as usize - 1];
        let journal = unsynced(dir.path());
        assert_holds(&journal, &runs, "after the crash").await;
        let next = all[2];
        create(&journal, 2, next..next + 1).await;
        drop(journal);
        runs.push(2);
        assert_holds(&unsynced(dir.path()), &runs, "opened again").await;
        for first in &all[3..] {
            assert!(segment(dir.path(), *first).with_extension("torn").exists(), "a person can look at {first}");
        }
    }
    // Where commits are synced, it is a loss.
    let dir = tempfile::tempdir().unwrap();
    create(&open(dir.path()), 1, 1..200).await;
    let all = segments(dir.path());
    fs::remove_file(segment(dir.path(), all[2])).unwrap();
    for durability in Durability::ALL {
        let error = try_open(dir.path(), durability, System).err().unwrap();
        assert!(error.message.contains("missing"), "{durability}: {error}");
    }
}

/// Other segments stay, and so do the numbers of their objects.
#[tokio::test]
async fn a_lost_object_between_others_of_several_segments_can_be_given_up() {
    let dir = tempfile::tempdir().unwrap();
    create(&open(dir.path()), 1, 1..150).await;
    let all = segments(dir.path());
    let path = segment(dir.path(), all[1]);
    let whole = fs::read(&path).unwrap();
    let frames: Vec<_> = (0..whole.len()).step_by(8).filter(|at| whole[*at..].starts_with(b"RAWF")).collect();
    assert_eq!(frames.len() as u64, all[2] - all[1]);
    for lost in [1, frames.len() / 2, frames.len() - 1] {
        let mut damaged = whole.clone();
        damaged[frames[lost] + 50] ^= 1;
        let added = segment(dir.path(), all[1] + lost as u64);
        for path in [&path, &added] {
            let _ = fs::remove_file(path.with_extension("idx"));
            let _ = fs::remove_file(path.with_extension("accept"));
        }
        fs::write(&path, &damaged).unwrap();
        let error = try_open(dir.path(), Durability::Fsync, System).err().unwrap();
        assert!(error.message.contains(&format!("damaged at byte {} ", frames[lost])), "{error}");
        fs::write(path.with_extension("accept"), "").unwrap();
        for _ in 0..2 {
            let journal = open(dir.path());
            for number in 1..150 {
                let index = journal.index(Source::Journal(number)).await.unwrap().found.unwrap().index;
                assert_eq!(index.header.link.id, id(1, number));
                let piece = index.pieces().next().unwrap().1;
                assert_eq!(piece.first_offset, (number - 1) * RECORDS);
                let read = journal.bytes(piece.place, piece.place.batches()).await.unwrap();
                assert_eq!(read == batch(number).1, number != all[1] + lost as u64, "object {number}");
            }
        }
        assert!(fs::read(&path).unwrap() == damaged, "the damaged file stays for a person");
        fs::remove_file(added).unwrap();
    }
}

/// A crash may lose a segment's name and keep that of its seal.
#[tokio::test]
async fn a_seal_of_another_run_is_not_taken() {
    let dir = tempfile::tempdir().unwrap();
    create(&unsynced(dir.path()), 1, 1..5).await;
    drop(unsynced(dir.path()));
    let seal = segment(dir.path(), 1).with_extension("idx");
    let stale = fs::read(&seal).unwrap();
    fs::remove_dir_all(dir.path().join("journal")).unwrap();
    create(&unsynced(dir.path()), 2, 1..3).await;
    fs::write(&seal, stale).unwrap();
    assert_holds(&unsynced(dir.path()), &[2, 2], "with the seal of another run").await;
}
