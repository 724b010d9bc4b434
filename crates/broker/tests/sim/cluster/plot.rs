//! What happens in a world: what goes wrong, for a minute or two of virtual time, and then what must be well.

use super::world::{Bug, History, Slot, World};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

/// How long brokers may take to answer everything once all is well.
const CALM: Duration = Duration::from_secs(300);

/// How long a broker may take to see what others have stored when all is well.
const FRESH: Duration = Duration::from_secs(5);

/// How long brokers may take to agree on the owner when all is well: leases end, and unreachable brokers are asked
/// again.
const AGREED: Duration = Duration::from_secs(60);

/// What happens in a world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plot {
    /// Everything that can go wrong.
    Chaos,
    /// The same, and the clients are members of groups.
    Groups,
    /// Nothing but that one broker after the other stops, and another starts in its place.
    RollingRestart,
}

/// Runs the world of a seed.
pub fn run(seed: u64, bug: Option<Bug>) -> History {
    let mut random = fastrand::Rng::with_seed(seed ^ 0xc105_7e12);
    let (machines, partitions) = (random.usize(2..=4), random.u32(1..=2));
    let world = |random| live(seed, bug, random, machines, partitions, Plot::Chaos);
    runtime().block_on(world(random))
}

/// Runs the world of a seed, with groups as its clients.
pub fn run_groups(seed: u64, bug: Option<Bug>) -> History {
    let mut random = fastrand::Rng::with_seed(seed ^ 0x9e37_6f01);
    let (machines, partitions) = (random.usize(1..=3), random.u32(2..=4));
    runtime().block_on(live(seed, bug, random, machines, partitions, Plot::Groups))
}

/// Restarts three brokers one after the other.
pub fn restart_all(seed: u64) -> History {
    runtime().block_on(live(seed, None, fastrand::Rng::with_seed(seed), 3, 1, Plot::RollingRestart))
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap()
}

async fn live(
    seed: u64,
    bug: Option<Bug>,
    mut random: fastrand::Rng,
    machines: usize,
    partitions: u32,
    plot: Plot,
) -> History {
    let world = World::new(seed, bug, machines, partitions);
    if plot == Plot::RollingRestart {
        world.store.calm();
    }
    (0..machines).for_each(|number| world.start(number));
    let chaos = (plot != Plot::RollingRestart).then(|| tokio::spawn(world.clone().chaos()));
    world.create(partitions).await;
    let clients = match plot {
        Plot::Groups => world.members(partitions),
        _ => world.clients(&mut random, partitions),
    };
    match chaos {
        Some(chaos) => {
            sleep(Duration::from_secs(random.u64(30..120))).await;
            chaos.abort();
        }
        None => world.restart_each().await,
    }
    world.calm().await;
    match timeout(CALM, futures_util::future::join_all(clients)).await {
        Ok(ended) => {
            for ended in ended.into_iter().filter_map(Result::err) {
                world.broken(format!("a client panicked: {ended}"));
            }
            sleep(FRESH).await;
            world.agree().await;
        }
        Err(_) => world.stuck("a client waits although all is well".to_owned()),
    }
    world.end()
}

impl World {
    /// What goes wrong.
    async fn chaos(self: Arc<Self>) {
        let count = self.machines();
        loop {
            sleep(Duration::from_millis(self.store.random(|random| random.u64(200..7_000)))).await;
            let (event, at, other, milliseconds) = self.store.random(|random| {
                (random.u8(0..20), random.usize(0..count), random.usize(1..count.max(2)), random.u64(500..25_000))
            });
            let (other, time) = ((at + other) % count, Duration::from_millis(milliseconds));
            let is_running = self.slots.lock().unwrap()[at].running.is_some();
            match event {
                _ if !is_running => self.start(at),
                0..2 => self.kill(at),
                2..5 => self.pause(at, time),
                5..7 => self.stop(at),
                7..14 if count == 1 => {}
                7..9 => self.cut(at, other, time),
                9..11 => {
                    self.cut(at, other, time);
                    self.cut(other, at, time);
                }
                11..14 => {
                    for other in (0..count).filter(|other| *other != at) {
                        self.cut(at, other, time);
                        self.cut(other, at, time);
                    }
                }
                14..17 => self.cut_bucket(at, time),
                _ => {}
            }
        }
    }

    /// From now on all is well.
    async fn calm(self: &Arc<Self>) {
        self.store.note(|| "all is well".to_owned());
        self.is_over.store(true, Ordering::Relaxed);
        self.store.calm();
        self.cuts.heal();
        for slot in self.slots.lock().unwrap().iter() {
            slot.running.iter().for_each(|machine| machine.resume());
            slot.bucket_from.iter().for_each(|from| *from.lock().unwrap() = Instant::now());
        }
        while self.slots.lock().unwrap().iter().any(|slot| slot.is_stopping) {
            sleep(Duration::from_millis(100)).await;
        }
        for number in 0..self.machines() {
            let is_running = self.slots.lock().unwrap()[number].running.is_some();
            if !is_running {
                self.start(number);
            }
        }
    }

    /// Every broker, and a new one, sees everything and agrees on the owner.
    async fn agree(self: &Arc<Self>) {
        let newcomer = self.machines();
        self.slots.lock().unwrap().push(Slot::default());
        self.start(newcomer);
        sleep(AGREED).await;
        let logs = self.logs();
        let mut owners = Vec::new();
        for machine in 0..=newcomer {
            let Some(node) = self.node(machine) else {
                self.stuck(format!("machine {machine} has no broker when all is well"));
                continue;
            };
            owners.push(node.owner());
            for (partition, log) in (0..).zip(&logs) {
                let (found, end) = (node.end(partition).await, log.len() as u64);
                if found != Some(end) {
                    self.stuck(format!("machine {machine} sees {found:?} of {end} records of {partition}"));
                }
                self.read_all(machine, partition, end).await;
            }
        }
        if owners.iter().any(|owner| *owner != owners[0]) || owners[0].is_none() {
            self.stuck(format!("brokers see the owners {owners:?} when all is well"));
        }
    }

    /// Starts the clients.
    fn clients(self: &Arc<Self>, random: &mut fastrand::Rng, partitions: u32) -> Vec<JoinHandle<()>> {
        let mut clients = Vec::new();
        for name in 0..random.usize(2..=5) {
            let partition = name as u32 % partitions;
            clients.push(if name % 2 == 0 {
                tokio::spawn(self.clone().append_once(name, partition))
            } else {
                tokio::spawn(self.clone().append_plainly(name, partition))
            });
        }
        for partition in 0..partitions {
            clients.push(tokio::spawn(self.clone().read_anywhere(partition)));
            clients.push(tokio::spawn(self.clone().ask_owners(partition)));
            (0..2).for_each(|_| clients.push(tokio::spawn(self.clone().tail(partition))));
        }
        clients
    }

    /// Stops each broker, and starts another in its place.
    async fn restart_each(self: &Arc<Self>) {
        for number in 0..self.machines() {
            sleep(Duration::from_secs(5)).await;
            self.stop(number);
            while self.slots.lock().unwrap()[number].running.is_some() {
                sleep(Duration::from_millis(100)).await;
            }
            self.start(number);
        }
        sleep(Duration::from_secs(5)).await;
    }
}
