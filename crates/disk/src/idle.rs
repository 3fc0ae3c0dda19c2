//! Compression while no other thread wants the core.
//!
//! Compression is most of the work of a checkpoint, and no session waits for it. A thread that the
//! system runs only while no other wants the core compresses for the thread that writes: that
//! thread waits, and no lock that another thread takes is held by one that may get no core for
//! long. Blocks that it has not received after a while it compresses itself.

use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::segment::{self, Packed};
use crate::store::{BecomeIdle, lock, thread, wait};

/// A block takes less than a millisecond of a core.
const WAIT_MAX: Duration = Duration::from_millis(100);

pub struct IdleCompressor {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    slot: Mutex<Slot>,
    changed: Condvar,
}

#[derive(Default)]
struct Slot {
    /// Blocks that were given so far.
    given: u64,
    /// The last of them, until it is taken.
    block: Option<Arc<Vec<u8>>>,
    /// Of the block of this number.
    packed: Option<(u64, std::io::Result<Packed>)>,
    is_closed: bool,
}

impl IdleCompressor {
    /// The thread calls `become_idle` first.
    pub fn start(become_idle: BecomeIdle) -> std::io::Result<IdleCompressor> {
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        let thread = thread("compress", move || {
            become_idle();
            of_thread.run();
        })?;
        Ok(IdleCompressor { shared, thread: Some(thread) })
    }

    /// Returns the buffer, too, if no other thread has it any more.
    pub fn pack(&self, raw: Vec<u8>) -> std::io::Result<(Packed, Option<Vec<u8>>)> {
        let raw = Arc::new(raw);
        let until = Instant::now() + WAIT_MAX;
        let mut slot = lock(&self.shared.slot);
        slot.given += 1;
        slot.block = Some(Arc::clone(&raw));
        self.shared.changed.notify_all();
        let given = slot.given;
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            if let Some((_, packed)) = slot.packed.take_if(|(number, _)| *number == given) {
                return Ok((packed?, Arc::into_inner(raw)));
            }
            let waited = self.shared.changed.wait_timeout(slot, left);
            slot = waited.expect("nobody panics while holding this lock").0;
        }
        slot.block = None;
        drop(slot);
        Ok((segment::pack(&raw)?, Arc::into_inner(raw)))
    }
}

impl Drop for IdleCompressor {
    fn drop(&mut self) {
        lock(&self.shared.slot).is_closed = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // It panics for nothing, and its panic would have been told.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn run(&self) {
        loop {
            let mut slot = lock(&self.slot);
            while slot.block.is_none() {
                if slot.is_closed {
                    return;
                }
                slot = wait(&self.changed, slot);
            }
            let (block, number) = (slot.block.take().expect("just seen"), slot.given);
            drop(slot);
            let packed = segment::pack(&block);
            // Before the other one looks whether it has the block alone.
            drop(block);
            lock(&self.slot).packed = Some((number, packed));
            self.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever has it keeps a thread from its core.
    static CORE: Mutex<()> = Mutex::new(());

    /// The thread compresses the last given block, and where it gets no core the caller does. The buffer comes back.
    #[test]
    fn blocks_are_compressed() {
        let check = |idle: &IdleCompressor, number: u8| {
            let (packed, buffer) = idle.pack(vec![number; 5_000]).unwrap();
            let raw = segment::decompress(&packed.bytes, packed.raw_length).unwrap();
            assert_eq!(raw, vec![number; 5_000]);
            buffer.is_some_and(|buffer| buffer.capacity() >= 5_000)
        };
        let idle = IdleCompressor::start(|| ()).unwrap();
        // It may have the last block still where it got no core for long.
        assert!((0..100).filter(|number| check(&idle, *number)).count() > 0);
        drop(idle);
        let core = lock(&CORE);
        let idle = IdleCompressor::start(|| drop(lock(&CORE))).unwrap();
        assert!((0..3).all(|number| check(&idle, number)));
        drop(core);
        assert!((0..100).filter(|number| check(&idle, *number)).count() > 0);
    }
}
