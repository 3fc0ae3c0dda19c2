//! Long computations, beside the worker.
//!
//! A worker that computes for long neither sends heartbeats nor answers other sessions. What a statement computes for longer
//! than a worker may be held up runs on threads of [`Computers`], which the driver of the client has; the statement waits for
//! it as for a reply. Without them (in the simulator, and in tests) it runs at once.

use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

use types::contain::{Panicked, contain};

use crate::driver::Client;

/// Threads for computations.
pub trait Computers: Send + Sync {
    /// Runs `job` on some thread, and has the caller's worker look at its tasks when `job` has returned.
    fn run(&self, job: Box<dyn FnOnce() + Send>);
}

/// What the job and the statement share. The statement owns it: a job whose statement has ended does not begin.
struct Cell<T> {
    result: Option<Result<T, Panicked>>,
    waker: Option<Waker>,
}

impl Client {
    /// The value of `compute`, which may take seconds; a panic in it is contained.
    pub async fn compute<T: Send + 'static>(
        &self,
        compute: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Panicked> {
        let Some(computers) = self.computers() else { return contain(compute) };
        on_thread(|job| computers.run(job), compute).await
    }
}

/// The value of `work`, which `run` runs on some thread; a panic in it is contained.
pub(crate) async fn on_thread<T: Send + 'static>(
    run: impl FnOnce(Box<dyn FnOnce() + Send>),
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Panicked> {
    let cell = Arc::new(Mutex::new(Cell { result: None, waker: None }));
    let of_job = Arc::downgrade(&cell);
    run(Box::new(move || {
        if of_job.strong_count() == 0 {
            return;
        }
        let result = contain(work);
        let Some(cell) = of_job.upgrade() else { return };
        let waker = {
            let mut cell = cell.lock().expect("nobody panics with the cell");
            cell.result = Some(result);
            cell.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }));
    std::future::poll_fn(|context| {
        let mut cell = cell.lock().expect("nobody panics with the cell");
        match cell.result.take() {
            Some(result) => Poll::Ready(result),
            None => {
                cell.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    })
    .await
}
