//! A single-threaded executor: tasks are polled when what they wait for has arrived.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Wake, Waker};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TaskId(u64);

/// Tasks of one worker, polled in the order in which they were woken.
#[derive(Default)]
pub struct Executor {
    tasks: BTreeMap<TaskId, Task>,
    task_last: u64,
    woken: Arc<Mutex<Vec<TaskId>>>,
}

struct Task {
    future: Pin<Box<dyn Future<Output = ()>>>,
    waker: Waker,
    state: Arc<TaskWaker>,
}

struct TaskWaker {
    id: TaskId,
    /// In `woken` already.
    queued: AtomicBool,
    woken: Arc<Mutex<Vec<TaskId>>>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }
    fn wake_by_ref(self: &Arc<Self>) {
        if !self.queued.swap(true, Ordering::AcqRel) {
            self.woken.lock().expect("nobody panics with the queue").push(self.id);
        }
    }
}

impl Executor {
    pub fn new() -> Executor {
        Executor::default()
    }

    /// Takes a task on; it is polled first by the next `run`.
    pub fn spawn(&mut self, future: Pin<Box<dyn Future<Output = ()>>>) -> TaskId {
        self.task_last += 1;
        let id = TaskId(self.task_last);
        let woken = Arc::clone(&self.woken);
        let state = Arc::new(TaskWaker { id, queued: AtomicBool::new(false), woken });
        let waker = Waker::from(Arc::clone(&state));
        waker.wake_by_ref();
        self.tasks.insert(id, Task { future, waker, state });
        id
    }

    /// Polls each task that is woken now, once; true if there was any. What they wake waits for the next call, so that a
    /// task that yields lets its driver look at the world in between.
    pub fn run(&mut self) -> bool {
        self.run_while(|| true)
    }

    /// The same, but only one task and then others as long as `goes_on` says; those that are left come first in the next call.
    pub fn run_while(&mut self, mut goes_on: impl FnMut() -> bool) -> bool {
        let mut woken = std::mem::take(&mut *self.lock_woken()).into_iter();
        let mut ran = false;
        while let Some(id) = woken.next() {
            self.poll(id);
            ran = true;
            if !woken.as_slice().is_empty() && !goes_on() {
                self.lock_woken().splice(0..0, woken);
                break;
            }
        }
        ran
    }

    fn lock_woken(&self) -> MutexGuard<'_, Vec<TaskId>> {
        self.woken.lock().expect("nobody panics with the queue")
    }

    fn poll(&mut self, id: TaskId) {
        let Some(task) = self.tasks.get_mut(&id) else { return };
        task.state.queued.store(false, Ordering::Release);
        let waker = task.waker.clone();
        if let Poll::Ready(()) = task.future.as_mut().poll(&mut Context::from_waker(&waker)) {
            self.tasks.remove(&id);
        }
    }

    /// Drops a task without polling it again.
    pub fn remove(&mut self, id: TaskId) {
        self.tasks.remove(&id);
    }

    pub fn is_finished(&self, id: TaskId) -> bool {
        !self.tasks.contains_key(&id)
    }
    pub fn len(&self) -> usize {
        self.tasks.len()
    }
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }
}

/// Lets the other tasks run once: for long loops.
pub async fn yield_now() {
    let mut yielded = false;
    std::future::poll_fn(|context| {
        if yielded {
            return Poll::Ready(());
        }
        yielded = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::rc::Rc;

    /// Tasks interleave at their yields, in the order they were spawned, and are gone when they are done.
    #[test]
    fn tasks_take_turns() {
        let order = Rc::new(RefCell::new(Vec::new()));
        let mut executor = Executor::new();
        for name in ["a", "b"] {
            let order = Rc::clone(&order);
            executor.spawn(Box::pin(async move {
                for turn in 0..2 {
                    order.borrow_mut().push(format!("{name}{turn}"));
                    yield_now().await;
                }
            }));
        }
        assert!(executor.run());
        assert_eq!(*order.borrow(), ["a0", "b0"]);
        while executor.run() {}
        assert_eq!(*order.borrow(), ["a0", "b0", "a1", "b1"]);
        assert!(executor.is_empty());
    }

    /// Where only some are run the others come next, before those that were woken meanwhile.
    #[test]
    fn tasks_that_were_left_come_first() {
        let order = Rc::new(RefCell::new(String::new()));
        let mut executor = Executor::new();
        for name in ['a', 'b', 'c', 'd'] {
            let order = Rc::clone(&order);
            executor.spawn(Box::pin(async move {
                for _ in 0..3 {
                    order.borrow_mut().push(name);
                    yield_now().await;
                }
            }));
        }
        for count in [1, 2, 1, 3, 1, 100] {
            let mut left = count;
            let goes_on = || {
                left -= 1;
                left > 0
            };
            assert!(executor.run_while(goes_on));
        }
        assert_eq!(*order.borrow(), "abcdabcdabcd");
        while executor.run() {}
        assert!(executor.is_empty() && !executor.run_while(|| panic!("nothing is to be run")));
    }
}
