//! How the other workers of a node (and its owner) reach a worker.
//!
//! A sender appends under a short lock; the owner swaps the whole list out. The system call that wakes the owner is made
//! only when it sleeps. Neither side may miss the other: the sender first sets `filled` and then looks at `sleeping`, the
//! owner first sets `sleeping` and then looks at `filled`, all in one total order (SeqCst), so at least one of them sees
//! what the other did.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use kernel::LocalMessage;
use mysql::Transport;
use types::{Incarnation, NodeId};

use crate::hello::Hello;
use crate::limits::INBOX_ITEMS_MAX;
use crate::stream::Stream;

pub enum Item {
    Local(LocalMessage),
    /// A MySQL client that worker 0 has accepted.
    Client(Stream, Transport),
    /// A link whose peer said a hello that was in order.
    Link {
        stream: Stream,
        hello: Hello,
    },
    /// For worker 0: whoever looks after the processes has reaped that of this boot.
    NodeDied {
        node: NodeId,
        incarnation: Incarnation,
    },
    /// For worker 0: one more record of the journal is durable.
    Durable,
}

pub struct Inbox {
    items: Mutex<Vec<Item>>,
    /// Items, kills or a change of the node's state wait to be looked at.
    filled: AtomicBool,
    sleeping: AtomicBool,
    waker: mio::Waker,
}

impl Inbox {
    pub fn new(waker: mio::Waker) -> Inbox {
        Inbox {
            items: Mutex::new(Vec::new()),
            filled: AtomicBool::new(false),
            sleeping: AtomicBool::new(false),
            waker,
        }
    }

    /// Appends everything in `items`.
    pub fn push_all(&self, items: impl Iterator<Item = Item>) {
        {
            let mut list = self.lock();
            list.extend(items);
            assert!(list.len() <= INBOX_ITEMS_MAX, "a worker does not take its messages any more");
        }
        self.notify();
    }
    pub fn push(&self, item: Item) {
        self.push_all(std::iter::once(item));
    }

    /// Makes the owner check the state that it shares with others.
    pub fn notify(&self) {
        self.filled.store(true, Ordering::SeqCst);
        if self.sleeping.swap(false, Ordering::SeqCst) {
            self.waker.wake().expect("a worker's event descriptor takes a wake-up");
        }
    }

    /// The owner: is there anything? Cheap enough for a spin.
    pub fn is_filled(&self) -> bool {
        self.filled.load(Ordering::SeqCst)
    }
    /// The owner: moves all items into the empty `taken`. False if no thread notified since the last time.
    pub fn take(&self, taken: &mut Vec<Item>) -> bool {
        assert!(taken.is_empty());
        if !self.filled.swap(false, Ordering::SeqCst) {
            return false;
        }
        std::mem::swap(taken, &mut *self.lock());
        true
    }
    /// The owner: may it sleep? If so, senders wake it from now on until [`Inbox::stop_sleeping`].
    pub fn may_sleep(&self) -> bool {
        self.sleeping.store(true, Ordering::SeqCst);
        if self.is_filled() {
            self.stop_sleeping();
            return false;
        }
        true
    }
    pub fn stop_sleeping(&self) {
        self.sleeping.store(false, Ordering::SeqCst);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Item>> {
        self.items.lock().expect("nobody panics while holding this lock and lives on")
    }
}
