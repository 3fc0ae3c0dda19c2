//! The free memory of each node for rows, and the pending writes that will take some of it
//! (rule R20).
//!
//! A backup cannot refuse a record of its primary. So a primary admits a write that every member
//! has room for beside the memory owed to that member: memory that transactions have taken at their
//! primaries and not yet at all members. If a primary checked its own memory only, two primaries of
//! a pair could each fill half of theirs, and both would be too full when both have committed.
//!
//! Counted are pages, and the blocks of these: a primary may write where others have left room in its pages while a member has given such
//! pages back; and a member may have blocks left only in pages of other tables.
//!
//! Each node reports its free and its owed memory to the others, from time to time and as soon as
//! either has changed by a part of its memory, or of the free rest. Memory used between two reports
//! is covered by the reserve that every node withholds from ordinary writes. A quarter of the
//! reserve is reported as free: a member with room only between its rows, which is not counted,
//! takes rows one by one. A row is reported as no less than its length: the primary may have found
//! room for it between others, where the member has none.
//!
//! A learner is not asked: it takes what there is, and ends itself when that is more than its memory.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};

use protocol::control::ControlState;
use protocol::message::{Memory, Message};
use storage::{BLOCK_SIZE, PAGE_SIZE, PagePool};
use types::{Address, NodeId, Space, WorkerId};

use crate::channel::Channels;
use crate::outbox::Outbox;
use crate::worker::Time;

/// A node reports when its free or owed memory has changed by its whole memory divided by this.
const NEWS: u64 = 256;
/// It also reports when the free memory has changed by the last reported value divided by this:
/// otherwise others would write again and again into the last page that they know of.
const NEWS_OF_LEFT: u64 = 4;
/// How often the log says that writes are refused.
const SAID_INTERVAL_US: Time = 60_000_000;

pub struct Memories {
    pool: Arc<PagePool>,
    owed: Arc<SharedSpace>,
    /// The last report of this node, apart from the periodic ones.
    own_told: Told,
    /// What others have said last.
    others: BTreeMap<NodeId, Told>,
    /// The node whose memory made this one refuse a write since the last look ([`Memories::to_say`]); 0: none.
    short: AtomicU16,
    say_next: AtomicU64,
}

#[derive(Default)]
struct Told {
    left: SharedSpace,
    owed: SharedSpace,
}

/// A [`Space`] that the workers of a node share.
#[derive(Default)]
struct SharedSpace {
    pages: AtomicU64,
    blocks: AtomicU64,
}

impl SharedSpace {
    fn get(&self) -> Space {
        let [pages, blocks] = [&self.pages, &self.blocks].map(|of| of.load(Ordering::Relaxed));
        Space { pages, blocks }
    }
    fn set(&self, space: Space) {
        self.pages.store(space.pages, Ordering::Relaxed);
        self.blocks.store(space.blocks, Ordering::Relaxed);
    }
    fn add(&self, more: Space) {
        self.pages.fetch_add(more.pages, Ordering::Relaxed);
        self.blocks.fetch_add(more.blocks, Ordering::Relaxed);
    }
    fn subtract(&self, less: Space) {
        self.pages.fetch_sub(less.pages, Ordering::Relaxed);
        self.blocks.fetch_sub(less.blocks, Ordering::Relaxed);
    }
}

impl Told {
    fn get(&self) -> Memory {
        Memory { left: self.left.get(), owed: self.owed.get() }
    }
    fn set(&self, memory: Memory) {
        self.left.set(memory.left);
        self.owed.set(memory.owed);
    }
}

impl Memories {
    pub fn new(
        here: NodeId,
        pool: &Arc<PagePool>,
        nodes: impl Iterator<Item = NodeId>,
    ) -> Memories {
        let others = nodes.filter(|node| *node != here);
        // Who has said nothing yet is taken for one with room: no member is waited for that has not said that it lives.
        let unknown = || {
            let told = Told::default();
            told.left.set(Space { pages: u64::MAX, blocks: u64::MAX });
            told
        };
        Memories {
            pool: Arc::clone(pool),
            owed: Arc::default(),
            own_told: Told::default(),
            others: others.map(|node| (node, unknown())).collect(),
            short: AtomicU16::new(0),
            say_next: AtomicU64::new(0),
        }
    }

    /// This node's.
    pub fn own(&self) -> Memory {
        Memory { left: self.pool.left_for_writes(), owed: self.owed.get() }
    }
    /// The same, if it has changed enough since the last report to be reported now.
    pub fn news(&self) -> Option<Memory> {
        let own = self.own();
        self.is_news(own, self.own_told.get()).then(|| {
            self.own_told.set(own);
            own
        })
    }
    /// A report may be lost, or overtaken by an older report of another worker: whether the present
    /// values differ from the ones that nodes have that received nothing since.
    pub fn has_news_since(&self, told: Memory) -> bool {
        self.is_news(self.own(), told)
    }
    fn is_news(&self, own: Memory, told: Memory) -> bool {
        let step = self.pool.limit() / NEWS;
        let bytes =
            |space: Space| [space.pages * PAGE_SIZE as u64, space.blocks * BLOCK_SIZE as u64];
        let is_much = |now: Space, before: Space, steps: [u64; 2]| {
            let (now, before) = (bytes(now), bytes(before));
            (0..2).any(|of| steps[of] < now[of].abs_diff(before[of]))
        };
        let steps_of_left = bytes(told.left).map(|left| step.min(left / NEWS_OF_LEFT));
        is_much(own.left, told.left, steps_of_left) || is_much(own.owed, told.owed, [step; 2])
    }
    /// Who leads shards of this node's group hears soon what there is room for here, and what will come.
    pub(crate) fn tell(
        &self,
        here: NodeId,
        state: &ControlState,
        channels: &Channels,
        outbox: &mut Outbox,
    ) {
        let Some(group) = state.group_of_node(here) else { return };
        let Some(memory) = self.news() else { return };
        let message = Message::MemoryLeft(memory);
        for member in state.group(group).active().filter(|member| *member != here) {
            let to = Address { node: member, worker: WorkerId(0) };
            channels.send_unnumbered(to, &message, outbox);
        }
    }
    pub fn learn(&self, node: NodeId, memory: Memory) {
        if let Some(told) = self.others.get(&node) {
            told.set(memory);
        }
    }
    fn of(&self, node: NodeId) -> Memory {
        self.others.get(&node).map_or_else(|| self.own(), Told::get)
    }

    /// A write is refused here because that node has no memory left for it.
    pub fn note_short(&self, node: NodeId) {
        self.short.store(node.0, Ordering::Relaxed);
    }
    /// The node that writes are refused for, now and then while they are. Asked by one worker.
    pub fn to_say(&self, now: Time) -> Option<NodeId> {
        if now < self.say_next.load(Ordering::Relaxed) {
            return None;
        }
        let short = self.short.swap(0, Ordering::Relaxed);
        (short != 0).then(|| {
            self.say_next.store(now + SAID_INTERVAL_US, Ordering::Relaxed);
            NodeId(short)
        })
    }

    /// The first of a group's members that has not left what the others owe it.
    pub fn first_short(&self, members: impl Iterator<Item = NodeId>) -> Option<NodeId> {
        let members: Vec<(NodeId, Memory)> = members.map(|node| (node, self.of(node))).collect();
        let mut owed_by_all = Space::NONE;
        members.iter().for_each(|(_, memory)| owed_by_all += memory.owed);
        let is_short = |(_, memory): &&(NodeId, Memory)| {
            let mut to_come = owed_by_all;
            to_come -= memory.owed;
            !memory.left.holds(to_come)
        };
        members.iter().find(is_short).map(|(node, _)| *node)
    }
}

/// What rows have taken here, and not at every member yet. What is dropped is owed no more.
#[derive(Default)]
pub(crate) struct Owed {
    space: Space,
    /// That of the node; there is one when there is space.
    total: Option<Arc<SharedSpace>>,
}

impl Owed {
    pub fn add(&mut self, more: Space, memories: &Memories) {
        if more != Space::NONE {
            self.space += more;
            self.total.get_or_insert_with(|| Arc::clone(&memories.owed)).add(more);
        }
    }
    /// So much of it is another's now.
    pub fn take(&mut self, space: Space) -> Owed {
        self.space -= space;
        Owed { space, total: self.total.clone() }
    }
}

impl Drop for Owed {
    fn drop(&mut self) {
        if let Some(total) = &self.total {
            total.subtract(self.space);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: u64 = PAGE_SIZE as u64;

    fn memories() -> (Arc<PagePool>, Memories) {
        let pool = PagePool::new(100 * PAGE);
        let memories = Memories::new(NodeId(2), &pool, [1, 2, 3, 4].map(NodeId).into_iter());
        (pool, memories)
    }
    fn pages(pages: u64) -> Space {
        Space { pages, blocks: 8 * pages }
    }
    fn told(left: u64, owed: u64) -> Memory {
        Memory { left: pages(left), owed: pages(owed) }
    }

    /// What is owed is the sum of what transactions owe, wherever their parts have gone, until these are dropped.
    #[test]
    fn owed_until_dropped() {
        let (_, memories) = memories();
        let mut owed = Owed::default();
        owed.add(Space::NONE, &memories);
        owed.add(pages(5), &memories);
        owed.add(Space { pages: 0, blocks: 2 }, &memories);
        assert_eq!(memories.own().owed, Space { pages: 5, blocks: 42 });
        let part = owed.take(Space { pages: 3, blocks: 30 });
        assert_eq!(memories.own().owed, Space { pages: 5, blocks: 42 });
        drop(owed);
        assert_eq!(memories.own().owed, Space { pages: 3, blocks: 30 });
        drop(part);
        assert_eq!(memories.own(), told(92, 0));
    }

    /// A member is short when the others owe it more than it has free; its own debt it has taken already. Nodes that are no
    /// members do not matter.
    #[test]
    fn members_are_short_of_what_they_are_owed() {
        let (pool, memories) = memories();
        let group = || [2, 3].map(NodeId).into_iter();
        let (mut mine, mut taken) = (Owed::default(), Vec::new());
        assert_eq!(memories.first_short(group()), None, "who has said nothing has room");
        let mut take = |count: usize| {
            taken.extend((0..count).map(|_| pool.try_allocate().expect("there is room")));
            mine.add(pages(count as u64), &memories);
        };
        take(45);
        memories.learn(NodeId(3), told(45, 44));
        assert_eq!(memories.first_short(group()), None);
        take(1);
        assert_eq!(memories.first_short(group()), Some(NodeId(3)), "it has 45 left and is owed 46");
        memories.learn(NodeId(3), told(80, 47));
        assert_eq!(memories.first_short(group()), Some(NodeId(2)), "this node has 46 left");
        memories.learn(NodeId(3), told(80, 46));
        assert_eq!(memories.first_short(group()), None);
        for left in [Space { pages: 45, blocks: 500 }, Space { pages: 60, blocks: 367 }] {
            memories.learn(NodeId(3), Memory { left, owed: pages(44) });
            assert_eq!(memories.first_short(group()), Some(NodeId(3)), "both count: {left:?}");
        }
        memories.learn(NodeId(3), told(80, 44));
        memories.learn(NodeId(4), told(0, 80));
        assert_eq!(memories.first_short(group()), None, "it has none of these rows");
        let three = || [2, 3, 4].map(NodeId).into_iter();
        assert_eq!(memories.first_short(three()), Some(NodeId(2)));
        memories.learn(NodeId(4), told(89, 0));
        assert_eq!(memories.first_short(three()), Some(NodeId(4)), "both others owe it something");
        let anything = Space { pages: u64::MAX, blocks: u64::MAX };
        memories.learn(NodeId(4), Memory { left: anything, owed: anything });
        assert_eq!(memories.first_short(three()), Some(NodeId(2)));
    }

    /// The reported free memory is never much more than the real one: the use of the last page is reported.
    #[test]
    fn the_last_pages_are_told() {
        let pool = PagePool::new(10_000 * PAGE);
        let memories = Memories::new(NodeId(2), &pool, [2, 3].map(NodeId).into_iter());
        let (mut taken, mut told, mut times) = (Vec::new(), Space::NONE, 0);
        loop {
            let own = memories.own();
            if let Some(news) = memories.news() {
                (told, times) = (news.left, times + 1);
            }
            assert!(told.pages / 4 * 3 <= own.left.pages, "{told:?} {own:?}");
            if own.left.pages == 0 {
                break;
            }
            taken.push(pool.allocate_reserved());
        }
        assert_eq!(told, Space::NONE);
        assert!(times < 9_250 / (10_000 / 256) + 30, "{times}");
    }

    /// News is a change by more than a 256th of the memory, free or owed, in pages or in blocks, where much is free.
    #[test]
    fn changes_that_others_hear_of() {
        let (pool, memories) = memories();
        assert_eq!(memories.news(), Some(told(92, 0)));
        assert_eq!(memories.news(), None, "it is told once");
        let page = pool.try_allocate().unwrap();
        assert_eq!(memories.news(), Some(told(91, 0)));
        let mut owed = Owed::default();
        owed.add(Space { pages: 0, blocks: 3 }, &memories);
        assert_eq!(memories.news(), None);
        owed.add(Space { pages: 0, blocks: 1 }, &memories);
        let now = Memory { left: pages(91), owed: Space { pages: 0, blocks: 4 } };
        assert_eq!(memories.news(), Some(now));
        assert!(!memories.has_news_since(now) && memories.has_news_since(told(92, 0)));
        drop((page, owed));
        assert_eq!(memories.news(), Some(told(92, 0)));
    }
}
