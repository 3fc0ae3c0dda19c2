//! Threads for computations that would hold up a worker ([`client::Computers`]).

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use crate::limits::{COMPUTER_IDLE, STACK_SIZE};
use crate::server::Shared;

type Job = Box<dyn FnOnce() + Send>;

/// The threads of one node, which its workers share. They start when there are jobs, and end when there are none.
pub struct Pool {
    name: &'static str,
    threads_max: usize,
    state: Mutex<State>,
    queued: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    threads: usize,
    idle: usize,
}

/// The pool, as one worker uses it.
pub struct Computers {
    pub shared: Arc<Shared>,
    pub worker: usize,
}

impl client::Computers for Computers {
    fn run(&self, job: Job) {
        let (shared, worker) = (Arc::clone(&self.shared), self.worker);
        let pool = Arc::clone(&shared.pool);
        pool.run(Box::new(move || {
            job();
            shared.inboxes[worker].notify();
        }));
    }
}

impl Pool {
    /// `name` is that of the threads.
    pub fn new(name: &'static str, threads_max: usize) -> Arc<Pool> {
        let (state, queued) = (Mutex::default(), Condvar::new());
        Arc::new(Pool { name, threads_max, state, queued })
    }

    pub fn run(self: Arc<Pool>, job: Job) {
        let mut state = self.lock();
        state.jobs.push_back(job);
        if state.idle < state.jobs.len() && state.threads < self.threads_max {
            let pool = Arc::clone(&self);
            let builder = std::thread::Builder::new().name(self.name.into()).stack_size(STACK_SIZE);
            match builder.spawn(move || pool.work()) {
                Ok(_) => state.threads += 1,
                // Another thread takes the job when it has done its own.
                Err(_) if state.threads > 0 => {}
                Err(_) => {
                    let job = state.jobs.pop_back().expect("pushed above");
                    drop(state);
                    return job();
                }
            }
        }
        drop(state);
        self.queued.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("jobs run outside of the lock")
    }

    fn work(&self) {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                drop(state);
                job();
                state = self.lock();
                continue;
            }
            state.idle += 1;
            let waited = self.queued.wait_timeout(state, COMPUTER_IDLE);
            let (again, time) = waited.expect("jobs run outside of the lock");
            state = again;
            state.idle -= 1;
            if time.timed_out() && state.jobs.is_empty() {
                state.threads -= 1;
                return;
            }
        }
    }
}
