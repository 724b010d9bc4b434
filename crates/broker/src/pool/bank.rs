//! Decides which request gets the pool's blocks. Counts only: no buffers, no clock, no I/O.
//!
//! A body takes blocks as its bytes arrive, so it holds some while it waits for more. The banker's algorithm keeps that
//! free of deadlocks: a block is granted only if all bodies can still finish in some order, each with what is free and
//! what those before it return. Then the body nearest to its end can always grow. Everything else that holds blocks
//! (commits, responses) returns them without asking for more.
//!
//! One peer can use all blocks while no other wants them. While others wait, peers with less than a share of the
//! pool come first.

#![expect(clippy::indexing_slicing, reason = "a number of no account is our own mistake, and slab panics with it")]

use slab::Slab;
use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use tokio::sync::oneshot;

/// One peer's share of the pool is a half: two such peers can't stop a third by themselves.
const SHARES: usize = 2;

/// The accounts of one pool.
pub(super) struct Bank {
    /// Size of the pool in blocks.
    blocks: usize,
    /// Blocks that are neither held nor granted.
    free: usize,
    bodies: Slab<Body>,
    /// The blocks that all bodies hold.
    held: usize,
    /// The blocks that all bodies may still need.
    needs: usize,
    holders: Slab<Account>,
    holder_of: HashMap<IpAddr, usize>,
    queue: VecDeque<Waiter>,
    ticket_next: u64,
    /// The bodies that hold blocks, by need; kept for its memory.
    order: Vec<Step>,
}

/// A body that is being received.
struct Body {
    /// Blocks that it was granted.
    held: usize,
    /// Blocks that it may still request.
    need: usize,
    /// Reservations that share it.
    parts: usize,
}

/// The blocks that a peer holds.
struct Account {
    address: IpAddr,
    /// Blocks granted to it and not returned, whatever for.
    held: usize,
    /// Users of the account, such as open connections.
    users: usize,
}

struct Waiter {
    ticket: u64,
    request: Request,
    granted: oneshot::Sender<()>,
}

/// A request for blocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request {
    pub holder: usize,
    /// The body that grows; none for a request that never asks again.
    pub body: Option<usize>,
    pub blocks: usize,
}

/// One body in the order in which all of them can finish.
struct Step {
    need: usize,
    held: usize,
    /// Blocks that a body after this one may get.
    spare: usize,
}

impl Bank {
    pub fn new(blocks: usize) -> Bank {
        Bank {
            blocks,
            free: blocks,
            bodies: Slab::new(),
            held: 0,
            needs: 0,
            holders: Slab::new(),
            holder_of: HashMap::new(),
            queue: VecDeque::new(),
            ticket_next: 0,
            order: Vec::new(),
        }
    }

    pub fn free(&self) -> usize {
        self.free
    }

    /// Whether a request waits for blocks.
    pub fn is_scarce(&self) -> bool {
        !self.queue.is_empty()
    }

    /// The account of a peer, for one more user.
    pub fn open_holder(&mut self, address: IpAddr) -> usize {
        let holder = match self.holder_of.get(&address) {
            Some(&holder) => holder,
            None => {
                let holder = self.holders.insert(Account { address, held: 0, users: 0 });
                self.holder_of.insert(address, holder);
                holder
            }
        };
        self.holders[holder].users += 1;
        holder
    }

    /// A user of the account ends.
    pub fn close_holder(&mut self, holder: usize) {
        self.holders[holder].users -= 1;
        self.forget_if_idle(holder);
    }

    fn forget_if_idle(&mut self, holder: usize) {
        let account = &mut self.holders[holder];
        if account.held == 0 && account.users == 0 {
            let Account { address, .. } = self.holders.remove(holder);
            self.holder_of.remove(&address);
        }
    }

    /// A body begins that may need this many blocks.
    pub fn open_body(&mut self, need: usize) -> usize {
        assert!(need <= self.blocks, "a body of {need} blocks in a pool of {}", self.blocks);
        self.needs += need;
        self.bodies.insert(Body { held: 0, need, parts: 1 })
    }

    /// One more reservation shares the body.
    pub fn share_body(&mut self, body: usize) {
        self.bodies[body].parts += 1;
    }

    /// A reservation of the body ends, and with it the need for this many blocks.
    pub fn close_body(&mut self, body: usize, unneeded: usize) {
        let entry = &mut self.bodies[body];
        assert!(unneeded <= entry.need, "{unneeded} blocks are not needed of {}", entry.need);
        entry.need -= unneeded;
        entry.parts -= 1;
        self.needs -= unneeded;
        if entry.parts == 0 {
            let Body { held, need, .. } = self.bodies.remove(body);
            assert_eq!(need, 0, "a body has ended and needs blocks");
            self.held -= held;
        }
        self.serve();
    }

    /// Grants the blocks, if that is possible now and no request waits.
    pub fn try_grant(&mut self, request: Request) -> bool {
        if !self.queue.is_empty() || request.blocks > self.free {
            return false;
        }
        let is_safe = match request.body {
            None => true,
            // Enough for everyone at once. What bodies returned early counts as theirs until they end.
            Some(_) if self.free.min(self.blocks - self.held) >= self.needs => true,
            Some(body) => {
                self.plan();
                request.blocks <= self.spare(self.bodies[body].need)
            }
        };
        if is_safe {
            self.grant(request);
        }
        is_safe
    }

    /// Joins the queue. The receiver gets a message when the blocks are granted.
    pub fn enqueue(&mut self, request: Request) -> (u64, oneshot::Receiver<()>) {
        let (granted, receiver) = oneshot::channel();
        let ticket = self.ticket_next;
        self.ticket_next += 1;
        self.queue.push_back(Waiter { ticket, request, granted });
        self.serve();
        (ticket, receiver)
    }

    /// Leaves the queue. False if the blocks have been granted already.
    pub fn leave(&mut self, ticket: u64) -> bool {
        let Some(place) = self.queue.iter().position(|waiter| waiter.ticket == ticket) else { return false };
        self.queue.remove(place);
        // Those after it may fit.
        self.serve();
        true
    }

    /// Takes back blocks that were granted for `request`, as if it had never been made.
    pub fn revoke(&mut self, request: Request) {
        if let Some(body) = request.body {
            let body = &mut self.bodies[body];
            body.held -= request.blocks;
            body.need += request.blocks;
            self.held -= request.blocks;
            self.needs += request.blocks;
        }
        self.give_back(request.holder, request.blocks);
    }

    /// Blocks of a peer are free again.
    pub fn give_back(&mut self, holder: usize, blocks: usize) {
        let account = &mut self.holders[holder];
        assert!(account.held >= blocks, "{blocks} blocks come back of {}", account.held);
        account.held -= blocks;
        self.free += blocks;
        assert!(self.free <= self.blocks, "{} of {} blocks are free", self.free, self.blocks);
        self.forget_if_idle(holder);
        self.serve();
    }

    fn grant(&mut self, Request { holder, body, blocks }: Request) {
        assert!(blocks <= self.free, "{blocks} blocks granted of {}", self.free);
        self.free -= blocks;
        self.holders[holder].held += blocks;
        if let Some(body) = body {
            let body = &mut self.bodies[body];
            assert!(blocks <= body.need, "{blocks} blocks granted to a body that needs {}", body.need);
            body.held += blocks;
            body.need -= blocks;
            self.held += blocks;
            self.needs -= blocks;
        }
    }

    /// Grants blocks to waiting requests, as long as some fit.
    fn serve(&mut self) {
        while self.free > 0 && !self.queue.is_empty() {
            let Some(waiter) = self.next().and_then(|place| self.queue.remove(place)) else { return };
            self.grant(waiter.request);
            // A waiting request leaves the queue first.
            assert!(waiter.granted.send(()).is_ok(), "blocks are granted to a request that has ended");
        }
    }

    /// The place in the queue of the next to get blocks: bodies that hold some before new requests, and peers within
    /// their share before others. Of a peer above its share, only the body nearest to its end grows.
    ///
    /// While a body can't grow, new ones begin only if all that they may need is free: they end whatever the others do.
    /// So many slow bodies, which are stalled most of the time, don't keep small ones waiting.
    fn next(&mut self) -> Option<usize> {
        self.plan();
        let (mut above, mut above_need) = (None, usize::MAX);
        let mut is_growth_stalled = false;
        // The first new request of each kind, and whether it can have its blocks. Those after it wait in line.
        let (mut new, mut new_ending, mut new_above) = (None, None, None);
        for (place, Waiter { request, .. }) in self.queue.iter().enumerate() {
            let body = request.body.map(|body| &self.bodies[body]);
            let fits = request.blocks <= self.free && body.is_none_or(|body| request.blocks <= self.spare(body.need));
            let held = self.holders[request.holder].held;
            let is_within = held == 0 || held + request.blocks <= self.blocks / SHARES;
            match (body.filter(|body| body.held > 0), is_within) {
                (Some(_), true) if fits => return Some(place),
                (Some(_), true) => is_growth_stalled = true,
                (Some(body), false) if fits && body.need < above_need => (above, above_need) = (Some(place), body.need),
                (Some(_), false) => {}
                (None, true) => {
                    new = new.or(Some((place, fits)));
                    let can_end = request.body.is_none_or(|body| self.bodies[body].need <= self.free);
                    new_ending = new_ending.or(can_end.then_some((place, fits)));
                }
                (None, false) => new_above = new_above.or(Some((place, fits))),
            }
        }
        let begins = if is_growth_stalled { new_ending } else { new };
        if let Some((place, _)) = begins.filter(|&(_, fits)| fits) {
            return Some(place);
        }
        let new_above = new_above.filter(|&(_, fits)| fits && new.is_none() && !is_growth_stalled);
        above.or(new_above.map(|(place, _)| place))
    }

    /// Finds an order in which all bodies that hold blocks can finish: by what they need. Asserts that it exists.
    fn plan(&mut self) {
        self.order.clear();
        let holding = self.bodies.iter().map(|(_, body)| body).filter(|body| body.held > 0);
        self.order.extend(holding.map(|body| Step { need: body.need, held: body.held, spare: 0 }));
        self.order.sort_unstable_by_key(|step| step.need);
        let (mut work, mut spare) = (self.blocks - self.held, usize::MAX);
        for step in &mut self.order {
            assert!(step.need <= work, "a body needs {} blocks and can get {work}", step.need);
            spare = spare.min(work - step.need);
            step.spare = spare;
            work += step.held;
        }
    }

    /// How many blocks a body that needs `need` can get so that those before it in the order can still finish. Those
    /// after it get its blocks back when it ends, so they are not affected.
    fn spare(&self, need: usize) -> usize {
        let before = self.order.partition_point(|step| step.need < need);
        before.checked_sub(1).and_then(|before| self.order.get(before)).map_or(usize::MAX, |step| step.spare)
    }
}
