//! What is shown: the safety rules of Raft hold for 1, 3 and 5 voters under loss, repetition, reordering, partitions,
//! slow disks and crashes; the group makes progress once the faults end; a run is a function of its seed; and no
//! bytes make a voter panic. How: `world` runs whole groups in one thread and checks after every event; `rules` looks
//! at single rules; `hostile` lies to one voter.

mod hostile;
mod rules;
mod world;
