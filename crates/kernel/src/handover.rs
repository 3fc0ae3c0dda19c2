//! Planned changes: a data node hands over shards that it leads, and no session loses anything by it (rule R15).
//!
//! A primary that dies takes locks with it. A node that is to stop, or gives back shards that it
//! led for another, waits for a moment without locks: no transaction begins while the control state
//! has a handover, and when the transactions that have begun have ended everywhere, the views
//! change. Sessions notice a pause.
//!
//! ```text
//!   control log        every worker of a data node        the node that hands over          control log
//!   BeginHandover -->  new transactions are held back
//!                      all that had begun has ended   --> Drained, of all of them
//!                      its shards are at rest: sealed <-- AllDrained
//!                      Quiet                          --> Quiet, of all of them --> Ready --> EndHandover, done
//! ```
//! The two rounds are needed because a session may get its commit's answer before the shards have
//! finished it, and because a shard at rest proves nothing while another node may still send it
//! work. If it takes too long, the leader gives it up ([`control`]): the transactions held back
//! begin, and another attempt comes later.
//!
//! [`control`]: crate::control

use std::collections::BTreeSet;

use protocol::Message;
use protocol::control::Handover;
use protocol::message::{Handover as HandoverMessage, HandoverStep};
use types::{Address, NodeId, WorkerId};

use crate::coordinator::Coordinator;
use crate::limits::RESEND_INTERVAL_US;
use crate::node::Mutation;
use crate::participant;
use crate::worker::{Context, Time};

/// A worker's part in the handover that was begun last.
#[derive(Default)]
pub(crate) struct HandoverBlock {
    begun: u64,
    told_drained: bool,
    all_drained: bool,
    told_quiet: bool,

    // On the first worker of the node that hands over.
    drained: BTreeSet<Address>,
    quiet: BTreeSet<Address>,
    ready_next: Time,
}

impl HandoverBlock {
    /// Forgets the handover before. A step may come before this worker has heard of the handover.
    fn turn_to(&mut self, begun: u64) {
        if begun > self.begun {
            *self = HandoverBlock { begun, ..HandoverBlock::default() };
        }
    }

    pub fn on_step(&mut self, from: Address, message: &HandoverMessage, context: &mut Context<'_>) {
        self.turn_to(message.begun);
        if message.begun != self.begun {
            return;
        }
        match message.step {
            HandoverStep::Drained => {
                self.drained.insert(from);
                if is_all(&self.drained, context) {
                    self.tell_workers(HandoverStep::AllDrained, context);
                }
            }
            HandoverStep::AllDrained => {
                self.all_drained = true;
                self.seal(context);
            }
            HandoverStep::Quiet => {
                self.quiet.insert(from);
                self.tell_ready(context);
            }
            HandoverStep::Ready => unreachable!("the worker gives it to the control block"),
        }
    }

    pub fn on_tick(&mut self, coordinator: &mut Coordinator, context: &mut Context<'_>) {
        let Some(handover) = current(context) else { return };
        self.turn_to(handover.begun);
        let mutant = context.node.mutation == Mutation::HandoverNotDrained;
        if !self.told_drained && (coordinator.drain(handover.begun) || mutant) {
            self.told_drained = true;
            self.tell_node(handover, HandoverStep::Drained, context);
        }
        self.seal(context);
        self.tell_ready(context);
    }

    /// Seals the shards of this worker that are at rest, and says so when all are.
    fn seal(&mut self, context: &mut Context<'_>) {
        let Some(handover) = current(context).filter(|handover| handover.begun == self.begun)
        else {
            return;
        };
        let mutant = context.node.mutation == Mutation::HandoverNotQuiet;
        if self.all_drained
            && !self.told_quiet
            && (mutant || participant::seal(handover.begun, context))
        {
            self.told_quiet = true;
            self.tell_node(handover, HandoverStep::Quiet, context);
        }
    }

    /// Tells the voters that nothing is under way, again and again until they have done what they are to do.
    fn tell_ready(&mut self, context: &mut Context<'_>) {
        let is_current = current(context).is_some_and(|handover| handover.begun == self.begun);
        if !is_current || !is_all(&self.quiet, context) || context.now < self.ready_next {
            return;
        }
        self.ready_next = context.now + RESEND_INTERVAL_US;
        for voter in context.node.config.voters() {
            let to = Address { node: voter, worker: WorkerId(0) };
            self.send(to, HandoverStep::Ready, context);
        }
    }

    fn tell_node(&self, handover: Handover, step: HandoverStep, context: &mut Context<'_>) {
        self.send(Address { node: handover.node, worker: WorkerId(0) }, step, context);
    }

    fn tell_workers(&self, step: HandoverStep, context: &mut Context<'_>) {
        for to in workers(context) {
            self.send(to, step, context);
        }
    }

    fn send(&self, to: Address, step: HandoverStep, context: &mut Context<'_>) {
        let message = HandoverMessage { begun: self.begun, step };
        context.send(to, Message::Handover(message));
    }
}

/// The handover that the control state speaks of, if this node is one that takes part in it.
fn current(context: &Context<'_>) -> Option<Handover> {
    let here = context.address.node;
    context.state.handover.filter(|_| context.state.data_nodes().contains(&here))
}

/// Of all data nodes.
fn workers(context: &Context<'_>) -> Vec<Address> {
    let nodes: Vec<NodeId> = context.state.data_nodes();
    nodes.into_iter().flat_map(|node| context.workers_of(node)).collect()
}

fn is_all(told: &BTreeSet<Address>, context: &Context<'_>) -> bool {
    !told.is_empty() && workers(context).iter().all(|worker| told.contains(worker))
}
