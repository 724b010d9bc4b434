//! The pool's rules: no request waits forever, a slow body delays no other, and no peer crowds out others.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::disallowed_methods)] // A test.

use rawline_broker::limits::BLOCK_BYTES;
use rawline_broker::pool::{Gathered, Holder, Pool, PoolError};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

/// Time is paused in these tests: it passes only when every task waits, so a deadlock ends it.
const WAIT: Duration = Duration::from_secs(5);
static BLOCK: [u8; BLOCK_BYTES] = [7; BLOCK_BYTES];

fn pool(blocks: usize) -> Arc<Pool> {
    Pool::new(blocks * BLOCK_BYTES)
}

fn peer(pool: &Arc<Pool>, number: u8) -> Arc<Holder> {
    pool.holder(IpAddr::V4(Ipv4Addr::new(192, 0, 2, number)))
}

fn blocks(count: usize) -> u64 {
    (count * BLOCK_BYTES) as u64
}

/// A body of at most `count` blocks.
fn body(holder: &Arc<Holder>, count: usize) -> Gathered {
    Gathered::new(holder.body(blocks(count)).unwrap())
}

/// Receives one more block.
async fn receive(body: &mut Gathered) -> Result<(), PoolError> {
    body.make_room(BLOCK_BYTES, WAIT).await?;
    assert!(body.push(&BLOCK));
    Ok(())
}

/// Lets every other task run until it waits.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

#[tokio::test(start_paused = true)]
async fn a_body_holds_what_has_arrived_of_it() {
    let pool = pool(10);
    let holder = peer(&pool, 1);
    let mut announced: Vec<Gathered> = (0..100).map(|_| body(&holder, 10)).collect();
    assert_eq!(pool.bytes_free(), pool.bytes());
    receive(&mut announced[0]).await.unwrap();
    assert_eq!(pool.bytes_free(), blocks(9));
    drop(announced);
    assert_eq!(pool.bytes_free(), pool.bytes());
    assert_eq!(
        holder.body(blocks(10) + 1).err(),
        Some(PoolError::TooLarge { bytes: blocks(10) + 1, pool_bytes: blocks(10) })
    );
}

/// Without the rule, both hold half of the pool, and each waits for the other.
#[tokio::test(start_paused = true)]
async fn the_body_nearest_to_its_end_can_always_grow() {
    let pool = pool(10);
    let (mut near, mut far) = (body(&peer(&pool, 1), 9), body(&peer(&pool, 2), 9));
    for _ in 0..5 {
        receive(&mut near).await.unwrap();
    }
    receive(&mut far).await.unwrap();
    assert!(!far.try_make_room(BLOCK_BYTES), "the four others are for the first");
    let waiting = tokio::spawn(async move {
        receive(&mut far).await.unwrap();
        far
    });
    settle().await;
    assert!(pool.is_scarce());
    for _ in 5..9 {
        receive(&mut near).await.unwrap();
    }
    assert_eq!(pool.bytes_free(), 0);
    settle().await;
    assert!(!waiting.is_finished());
    drop(near.freeze());
    let mut far = waiting.await.unwrap();
    for _ in 2..9 {
        receive(&mut far).await.unwrap();
    }
    assert!(!pool.is_scarce());
}

/// Issue 12: 2,000 slow senders of large bodies kept everyone else waiting until they got 503.
#[tokio::test(start_paused = true)]
async fn a_body_that_needs_no_more_than_is_free_begins_while_others_are_stalled() {
    let pool = pool(10);
    let (mut near, mut far) = (body(&peer(&pool, 1), 9), body(&peer(&pool, 2), 9));
    for _ in 0..3 {
        receive(&mut near).await.unwrap();
    }
    receive(&mut far).await.unwrap();
    let wait_for_one = |mut body: Gathered| {
        tokio::spawn(async move {
            body.make_room(BLOCK_BYTES, Duration::from_secs(3600)).await.unwrap();
            body
        })
    };
    // The six that are free are for the first.
    let far = wait_for_one(far);
    settle().await;
    let large = wait_for_one(body(&peer(&pool, 3), 9));
    settle().await;
    for _ in 0..3 {
        let mut small = body(&peer(&pool, 4), 2);
        receive(&mut small).await.unwrap();
        receive(&mut small).await.unwrap();
    }
    assert!(!far.is_finished() && !large.is_finished());
    for _ in 3..9 {
        receive(&mut near).await.unwrap();
    }
    drop(near);
    drop(far.await.unwrap());
    drop(large.await.unwrap());
    assert_eq!(pool.bytes_free(), pool.bytes());
}

#[tokio::test(start_paused = true)]
async fn bodies_of_all_sizes_finish_whatever_their_order() {
    for seed in 0..20u64 {
        let pool = pool(32);
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut random = move |limit: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % limit
        };
        let tasks: Vec<_> = (0..60)
            .map(|number| {
                let (holder, count, pause) = (peer(&pool, number % 5), random(32) as usize + 1, random(5));
                let whole = random(4) == 0;
                tokio::spawn(async move {
                    // A minute of waits in line, far less than the test has; a deadlock lasts.
                    let wait = Duration::from_secs(3600);
                    let held = if whole {
                        Gathered::new(holder.reserve(blocks(count), wait).await.unwrap())
                    } else {
                        let mut body = body(&holder, count);
                        for _ in 0..count {
                            body.make_room(BLOCK_BYTES, wait).await.unwrap();
                            assert!(body.push(&BLOCK));
                            tokio::time::sleep(Duration::from_millis(pause)).await;
                        }
                        body
                    };
                    let stored = held.freeze();
                    tokio::time::sleep(Duration::from_millis(pause)).await;
                    drop(stored);
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(pool.bytes_free(), pool.bytes(), "seed {seed}");
        assert!(!pool.is_scarce(), "seed {seed}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_peer_above_its_share_comes_after_those_within_theirs() {
    let pool = pool(10);
    let (greedy, modest) = (peer(&pool, 1), peer(&pool, 2));
    let mut held = Vec::new();
    for _ in 0..10 {
        held.push(greedy.reserve(blocks(1), WAIT).await.unwrap());
    }
    let reserve = |holder: &Arc<Holder>| {
        let holder = holder.clone();
        tokio::spawn(async move { holder.reserve(blocks(1), WAIT).await })
    };
    let more: Vec<_> = (0..3).map(|_| reserve(&greedy)).collect();
    settle().await;
    let other = reserve(&modest);
    settle().await;
    held.pop();
    let other = other.await.unwrap().unwrap();
    assert!(more.iter().all(|more| !more.is_finished()));
    drop(held);
    for more in more {
        more.await.unwrap().unwrap();
    }
    drop(other);
}

#[tokio::test(start_paused = true)]
async fn who_gives_up_leaves_nothing_reserved() {
    let pool = pool(4);
    let holder = peer(&pool, 1);
    let all = holder.reserve(blocks(4), WAIT).await.unwrap();
    assert_eq!(holder.reserve(1, WAIT).await.err(), Some(PoolError::Exhausted));
    assert!(!pool.is_scarce());
    let mut part = body(&holder, 3);
    // Cancelled while it waits, and in the moment in which it gets its block.
    let mut cancelled = Box::pin(receive(&mut part));
    assert!(futures_util::poll!(&mut cancelled).is_pending());
    drop(cancelled);
    assert!(!pool.is_scarce());
    let mut cancelled = Box::pin(receive(&mut part));
    assert!(futures_util::poll!(&mut cancelled).is_pending());
    drop(all);
    assert_eq!(pool.bytes_free(), blocks(3), "it was granted");
    drop(cancelled);
    assert_eq!(pool.bytes_free(), blocks(4));
    receive(&mut part).await.unwrap();
    drop((part, holder));
    assert_eq!(pool.bytes_free(), blocks(4));
}
