//! Which of several brokers owns which journal of a storage with three: while nothing else goes wrong, a broker that is
//! killed or started moves as few journals as possible.

use super::machine::Machine;
use bytes::Bytes;
use futures_util::future::{BoxFuture, ready};
use rawline_broker::cluster::{BrokerId, Card, Cluster, MemberState, Peers, Unanswered};
use rawline_broker::store::{MemberStore, MemoryStore, Storage, Store, StoreError};
use rawline_broker::{Broker, Clock, Config};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::{Instant, sleep};

const JOURNALS: usize = 3;

/// How often views are compared.
const STEP: Duration = Duration::from_millis(10);

/// How long brokers may take to agree: leases end, and unreachable brokers are asked again.
const AGREED: Duration = Duration::from_secs(60);

/// After this time, the lease of a killed broker is over, and the cards in the storage say what the others own.
const SETTLED: Duration = Duration::from_secs(15);

/// A request between two brokers takes this long.
const DELAY: Duration = Duration::from_millis(1);

/// Virtual time.
struct Virtual(Instant);

impl Clock for Virtual {
    fn now_us(&self) -> u64 {
        1_700_000_000_000_000 + self.0.elapsed().as_micros() as u64
    }
}

/// The brokers that run, by id.
type Running = Mutex<BTreeMap<BrokerId, (Arc<Machine>, Arc<Cluster>)>>;

/// A storage with three journals, and the brokers on it.
struct World {
    clock: Arc<Virtual>,
    journals: Vec<Arc<MemoryStore>>,
    cards: Mutex<BTreeMap<BrokerId, (Bytes, Instant)>>,
    running: Running,
}

/// A handle of the storage, or of the network between the brokers.
#[derive(Clone)]
struct In(Arc<World>);

impl In {
    fn storage(&self) -> Storage {
        let journals: Vec<_> = self.0.journals.iter().map(|journal| journal.clone() as Arc<dyn Store>).collect();
        let mut storage = Storage::shared(journals[0].clone(), Arc::new(self.clone()));
        storage.journals = journals;
        storage
    }
}

impl MemberStore for In {
    fn put(&self, id: BrokerId, card: Bytes) -> BoxFuture<'static, Result<(), StoreError>> {
        self.0.cards.lock().unwrap().insert(id, (card, Instant::now()));
        Box::pin(ready(Ok(())))
    }

    fn get(&self, id: BrokerId) -> BoxFuture<'static, Result<Option<(Bytes, Duration)>, StoreError>> {
        let found = self.0.cards.lock().unwrap().get(&id).cloned();
        // A bucket's dates have whole seconds.
        let found = found.map(|(card, stored)| (card, Duration::from_secs(stored.elapsed().as_secs())));
        Box::pin(ready(Ok(found)))
    }

    fn list(&self) -> BoxFuture<'static, Result<Vec<BrokerId>, StoreError>> {
        let found = self.0.cards.lock().unwrap().keys().copied().collect();
        Box::pin(ready(Ok(found)))
    }

    fn delete(&self, id: BrokerId) -> BoxFuture<'static, Result<(), StoreError>> {
        self.0.cards.lock().unwrap().remove(&id);
        Box::pin(ready(Ok(())))
    }
}

impl Peers for In {
    async fn ask(&self, to: &Card, me: Card, after: &[u64]) -> Result<Card, Unanswered> {
        sleep(DELAY).await;
        let found = self.0.running.lock().unwrap().get(&to.id).cloned();
        let (machine, cluster) = found.ok_or_else(|| Unanswered::now("no broker listens there"))?;
        let after = after.to_vec();
        // Ends with the machine.
        let response = machine.spawn(async move { cluster.answer(me, &after).await }).await;
        sleep(DELAY).await;
        response.map_err(|_| Unanswered::now("the connection broke"))
    }

    fn forget(&self, _: BrokerId) {}
}

impl World {
    fn new() -> Arc<World> {
        let clock = Arc::new(Virtual(Instant::now()));
        let journals = (0..JOURNALS).map(|_| Arc::new(MemoryStore::new(clock.clone()).dated())).collect();
        Arc::new(World { clock, journals, cards: Mutex::default(), running: Mutex::default() })
    }

    fn start(self: &Arc<Self>, id: BrokerId) {
        let (machine, handle, clock) = (Machine::new(), In(self.clone()), self.clock.clone());
        let on = machine.clone();
        machine.spawn(async move {
            let broker = Broker::open(handle.storage(), clock, Config::new(id.0)).await.unwrap();
            let url = Some(format!("http://broker-{id}"));
            broker.join(|card| Card { url, ..card }).await.unwrap();
            let cluster = broker.cluster().unwrap().clone();
            handle.0.running.lock().unwrap().insert(id, (on, cluster.clone()));
            cluster.exchange(&handle).await;
        });
    }

    fn kill(&self, id: BrokerId) {
        let (machine, _) = self.running.lock().unwrap().remove(&id).unwrap();
        machine.kill();
    }

    /// The owners as each running broker sees them, with the number of brokers that it takes for live.
    fn views(&self) -> Vec<(usize, Vec<Option<BrokerId>>)> {
        let view = |(_, cluster): &(Arc<Machine>, Arc<Cluster>)| {
            let brokers = cluster.brokers();
            let live = brokers.members.iter().filter(|member| member.state == MemberState::Live).count();
            (live, brokers.owners.clone())
        };
        self.running.lock().unwrap().values().map(view).collect()
    }

    /// The owners, once so many brokers run, see each other, agree, and act for what they own. Until then, `is_right`
    /// holds of what each of them sees.
    async fn agreed(&self, count: usize, is_right: impl Fn(&[Option<BrokerId>]) -> bool) -> Vec<BrokerId> {
        let began = Instant::now();
        loop {
            let views = self.views();
            for (_, owners) in &views {
                assert!(is_right(owners), "{owners:?} after {:?}", began.elapsed());
            }
            let owners: Option<Vec<BrokerId>> = views.first().and_then(|(_, owners)| owners.iter().copied().collect());
            let same: BTreeSet<_> = views.iter().collect();
            if let Some(owners) = owners
                && views.len() == count
                && same.len() == 1
                && views[0].0 == count
                && self.act(&owners)
            {
                return owners;
            }
            assert!(began.elapsed() < AGREED, "{views:?}");
            sleep(STEP).await;
        }
    }

    /// Whether the cards of these owners say that they own their journals.
    fn act(&self, owners: &[BrokerId]) -> bool {
        let running = self.running.lock().unwrap();
        (0..).zip(owners).all(|(journal, owner)| running[owner].1.me().owns.contains(&journal))
    }
}

#[tokio::test(start_paused = true)]
async fn the_journal_of_a_broker_that_is_killed_moves_and_no_other() {
    for seed in 0..10 {
        let mut random = fastrand::Rng::with_seed(seed);
        let world = World::new();
        (0..JOURNALS).for_each(|_| world.start(BrokerId(random.u64(..))));
        let before = world.agreed(3, |_| true).await;
        assert_eq!(before.iter().collect::<BTreeSet<_>>().len(), 3, "{before:?}");

        let killed = random.usize(0..JOURNALS);
        world.kill(before[killed]);
        let others_stay = |owners: &[Option<BrokerId>]| {
            (0..JOURNALS).all(|journal| journal == killed || owners[journal] == Some(before[journal]))
        };
        let after = world.agreed(2, others_stay).await;
        assert_ne!(after[killed], before[killed]);

        // It comes back as another broker, and gets its share again: one of the two journals that one broker has.
        sleep(SETTLED).await;
        world.start(BrokerId(random.u64(..)));
        let again = world.agreed(3, |_| true).await;
        assert_eq!(again.iter().collect::<BTreeSet<_>>().len(), 3, "{again:?}");
        let moved = (0..JOURNALS).filter(|&journal| again[journal] != after[journal]).count();
        assert_eq!(moved, 1, "seed {seed}: {after:?}, then {again:?}");
        let running: Vec<BrokerId> = world.running.lock().unwrap().keys().copied().collect();
        running.into_iter().for_each(|id| world.kill(id));
    }
}
