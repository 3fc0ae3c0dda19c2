//! Boundaries that keep a panic of one statement away from the rest of the node.
//!
//! The problem: parser, binder, executor and expressions are large, and a fault in them is found by the first client
//! that meets it. Such a panic must end that statement; a node that ended would be ended again by each retry. The idea:
//! code that works on data of its own runs inside [`contain`] (or [`contained`], for a future), which catches the panic
//! and drops its data. Code that changes what others share runs [`outside`], even when a statement calls it: there
//! a panic is a broken invariant and ends the process, because the state may be half changed.
//!
//! ```text
//! worker ── step of the kernel ── evaluation of an expression on a row      contain
//!        └─ poll of a session ─── statement                                 contained
//!                                 └─ read of a row in the node's replica    outside
//!                                    └─ the statement's view of the row     contain, resumed behind the read
//! ```
//!
//! The process decides what a panic does before it unwinds: its panic hook asks [`is_contained`], writes the backtrace to
//! its log, and names the entry by [`record`]. That name is what the client gets. Without a hook (in the simulator and in
//! tests) the name is empty.
//!
//! docs/decisions/0020-a-panic-ends-its-statement.md lists the code inside, and why that is safe.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

thread_local! {
    /// Boundaries around the code that runs now; 0 while it is outside.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// A panic has left [`outside`]: no boundary may stop it.
    static IS_FATAL: Cell<bool> = const { Cell::new(false) };
    /// The log's name of the panic that is unwinding.
    static RECORD: RefCell<String> = const { RefCell::new(String::new()) };
}

/// A panic that a boundary has stopped.
pub struct Panicked {
    /// What the log of the process calls it; empty where no hook has recorded it.
    pub id: String,
    payload: Box<dyn Any + Send>,
}

impl std::fmt::Debug for Panicked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Panicked").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Panicked {
    /// Unwinds on to the next boundary. The hook does not run again.
    pub fn resume(self) -> ! {
        RECORD.with(|record| *record.borrow_mut() = self.id);
        resume_unwind(self.payload)
    }
    /// As a client sees it: error 1815.
    pub fn message(&self) -> String {
        let reference = match self.id.as_str() {
            "" => String::new(),
            id => format!(" The node's log has the cause under the id {id}."),
        };
        format!(
            "Internal error: a fault of the server ended this statement and rolled back its transaction.{reference}"
        )
    }
}

/// Raises the depth for as long as it lives. The functions of this guard and of [`Outside`] are not
/// inlined: inlined into another crate they would call an accessor for each use of `DEPTH`.
struct Inside;

impl Inside {
    #[inline(never)]
    fn enter() -> Inside {
        DEPTH.set(DEPTH.get() + 1);
        Inside
    }
}

impl Drop for Inside {
    #[inline(never)]
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

/// Keeps the depth at 0 for as long as it lives.
struct Outside {
    depth: u32,
    has_returned: bool,
}

impl Outside {
    #[inline(never)]
    fn enter() -> Outside {
        Outside { depth: DEPTH.replace(0), has_returned: false }
    }
}

impl Drop for Outside {
    #[inline(never)]
    fn drop(&mut self) {
        DEPTH.set(self.depth);
        if !self.has_returned {
            IS_FATAL.set(true);
        }
    }
}

/// Runs `f` and stops a panic of it. `f` must leave nothing half changed that anybody uses after an `Err`.
pub fn contain<T>(f: impl FnOnce() -> T) -> Result<T, Panicked> {
    let inside = Inside::enter();
    let result = catch_unwind(AssertUnwindSafe(f));
    drop(inside);
    result.map_err(caught)
}

#[cold]
fn caught(payload: Box<dyn Any + Send>) -> Panicked {
    if IS_FATAL.get() {
        resume_unwind(payload);
    }
    Panicked { id: RECORD.take(), payload }
}

/// Contains every poll of the future in `slot`, and drops the future at once when a poll panics. The
/// caller owns the slot: the future of a statement has some KiB, and passed by value it would be
/// copied twice per statement.
pub fn contained<F: Future>(slot: Pin<&mut Option<F>>) -> Contained<'_, F> {
    Contained { slot }
}

pub struct Contained<'s, F> {
    slot: Pin<&'s mut Option<F>>,
}

impl<F: Future> Future for Contained<'_, F> {
    type Output = Result<F::Output, Panicked>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let future = self.slot.as_mut().as_pin_mut().expect("not polled after its end");
        match contain(|| future.poll(context)) {
            Ok(poll) => poll.map(Ok),
            Err(panicked) => {
                // Destructors of what the statement held may panic as well: that is the same fault.
                let _ = contain(|| self.slot.set(None));
                Poll::Ready(Err(panicked))
            }
        }
    }
}

/// Runs `f` outside of all boundaries around it: a panic of it passes them.
pub fn outside<T>(f: impl FnOnce() -> T) -> T {
    let mut outside = Outside::enter();
    let result = f();
    outside.has_returned = true;
    result
}

/// Whether a boundary will stop a panic of the code that runs now. For the panic hook.
pub fn is_contained() -> bool {
    DEPTH.get() > 0
}

/// Names the panic that is about to unwind. For the panic hook.
pub fn record(id: String) {
    RECORD.with(|record| *record.borrow_mut() = id);
}

static TESTS_MAY_PANIC: AtomicBool = AtomicBool::new(false);

/// Lets statements panic on purpose: from now on this process has the SQL functions `SKARV_PANIC(value)`, which panics
/// where it is evaluated, `SKARV_PANIC_BINDER()` and `SKARV_PANIC_PARSER()`.
pub fn let_tests_panic() {
    TESTS_MAY_PANIC.store(true, Ordering::Relaxed);
}

/// Does this process have functions that panic?
pub fn may_tests_panic() -> bool {
    TESTS_MAY_PANIC.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::pin;
    use std::task::Waker;

    use super::*;

    fn message(panicked: &Panicked) -> &str {
        panicked.payload.downcast_ref::<&str>().copied().unwrap_or_default()
    }

    #[test]
    fn a_panic_ends_at_the_innermost_boundary() {
        let outer = contain(|| {
            let inner = contain(|| -> u32 { panic!("inner") });
            assert_eq!(message(&inner.unwrap_err()), "inner");
            assert!(is_contained());
            7
        });
        assert_eq!(outer.unwrap(), 7);
        assert!(!is_contained());
    }

    #[test]
    fn a_panic_outside_passes_every_boundary() {
        let passed = catch_unwind(|| {
            let _ = contain(|| {
                let _ = contain(|| outside(|| -> u32 { panic!("shared state") }));
                unreachable!("the boundary has stopped a fatal panic");
            });
        });
        assert_eq!(passed.unwrap_err().downcast_ref::<&str>(), Some(&"shared state"));
        assert!(!is_contained());
        IS_FATAL.set(false);
    }

    #[test]
    fn a_boundary_outside_contains_again_and_resumes_behind_it() {
        let outer = contain(|| {
            let view = outside(|| {
                assert!(!is_contained());
                contain(|| -> u32 {
                    record("id 1".into());
                    panic!("the view")
                })
            });
            view.map_err(Panicked::resume)
        });
        let panicked = outer.unwrap_err();
        assert_eq!((message(&panicked), panicked.id.as_str()), ("the view", "id 1"));
        assert!(panicked.message().contains("id 1"));
    }

    #[test]
    fn a_future_is_dropped_when_it_panics() {
        struct Dropped<'a>(&'a Cell<bool>);
        impl Drop for Dropped<'_> {
            fn drop(&mut self) {
                self.0.set(true);
                panic!("in the destructor, too");
            }
        }
        let is_dropped = Cell::new(false);
        let guard = Dropped(&is_dropped);
        let mut polls = 0;
        let mut slot = pin!(Some(poll_fn(move |_| {
            let _owned = &guard;
            polls += 1;
            assert!(polls < 2, "the second poll");
            Poll::<()>::Pending
        })));
        let mut future = contained(slot.as_mut());
        let mut poll = || Pin::new(&mut future).poll(&mut Context::from_waker(Waker::noop()));
        assert!(poll().is_pending() && !is_dropped.get());
        let Poll::Ready(Err(panicked)) = poll() else { panic!("the panic was lost") };
        assert!(is_dropped.get() && panicked.id.is_empty());
    }
}
