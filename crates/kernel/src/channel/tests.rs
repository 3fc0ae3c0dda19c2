use super::*;
use protocol::envelope::{NO_GROUP, decode_header, decode_message};
use protocol::message::SnapshotRequest;
use types::{NodeId, WorkerId};

const RESEND_AFTER: Time = 50_000;
const TICK: Time = 10_000;

/// The boot of a node.
fn boot(node: u16) -> Incarnation {
    Incarnation(u64::from(node) * 11)
}

fn address(node: u16) -> Address {
    Address { node: NodeId(node), worker: WorkerId(0) }
}

fn end(node: u16, incarnation: u64) -> Channels {
    let identity = Identity {
        cluster: ClusterId(1),
        lineage: Lineage(1),
        address: address(node),
        incarnation: Incarnation(incarnation),
    };
    Channels::new(identity, ChannelConfig::new(RESEND_AFTER))
}

fn send(from: &mut Channels, to: u16, number: u64) {
    let message = Message::SnapshotRequest(SnapshotRequest { request: number });
    let boot = from.linked(address(to));
    from.send(address(to), boot, NO_GROUP, View(0), &message);
}

/// The frames that a step's end, a tick or a link that came up makes leave.
fn frames(act: impl FnOnce(&mut Outbox)) -> Vec<Vec<u8>> {
    let mut outbox = Outbox::default();
    act(&mut outbox);
    let mut frames = Vec::new();
    for (_, chunk) in outbox.frames {
        let mut rest = &chunk[..];
        while let Some((length, after)) = rest.split_first_chunk::<4>() {
            let (frame, after) = after.split_at(u32::from_le_bytes(*length) as usize);
            frames.push(frame.to_vec());
            rest = after;
        }
    }
    frames
}

fn flush(channels: &mut Channels) -> Vec<Vec<u8>> {
    frames(|outbox| channels.flush(0, outbox))
}

fn tick(channels: &mut Channels, now: Time) -> Vec<Vec<u8>> {
    frames(|outbox| {
        channels.on_tick(now, outbox);
        channels.flush(now, outbox);
    })
}

/// The numbers of the messages that a frame brings, itself and those that waited for it.
fn receive(at: &mut Channels, frame: &[u8]) -> Vec<u64> {
    receive_at(at, 0, frame)
}

fn receive_at(at: &mut Channels, now: Time, frame: &[u8]) -> Vec<u64> {
    let header = decode_header(frame).expect("made here");
    let message = decode_message(frame).expect("made here");
    match at.receive(now, 0, header, message) {
        Received::Nothing => Vec::new(),
        Received::OtherIncarnation => panic!("nobody restarted"),
        Received::Deliver(messages) => messages
            .into_iter()
            .map(|(_, message)| match message {
                Message::SnapshotRequest(request) => request.request,
                other => panic!("{other:?} was not sent"),
            })
            .collect(),
    }
}

fn is_acknowledgement(frame: &[u8]) -> bool {
    decode_header(frame).expect("made here").sequence == 0
}

/// The channel to the boot that the link leads to.
fn channel_to(channels: &Channels, peer: u16) -> &Channel {
    let peer = address(peer);
    &channels.channels[&(peer, channels.linked(peer))]
}

/// A generator (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((mixed >> 32) ^ mixed) % bound
    }
}

/// Whatever a link loses, doubles, delays and overtakes in both directions: each end gets all messages of the other, once
/// and in order, and acknowledged ones are forgotten.
#[test]
fn messages_arrive_once_and_in_order() {
    for seed in 0..200 {
        let mut random = Random(seed);
        let mut ends = [end(1, 11), end(2, 22)];
        for end in &mut ends {
            // Half of them so small that it is one chunk at a time.
            end.config.window_bytes = 1 + random.below(1000) as usize * random.below(2) as usize;
        }
        let mut under_way: [Vec<Vec<u8>>; 2] = Default::default();
        let mut arrived: [Vec<u64>; 2] = Default::default();
        let mut sent = [0, 0];
        let mut now = 0;
        for round in 0..600 {
            let sick = round < 400;
            let me = random.below(2) as usize;
            let other = 1 - me;
            if sick {
                for _ in 0..random.below(4) {
                    send(&mut ends[me], other as u16 + 1, sent[me]);
                    sent[me] += 1;
                }
            }
            let leaving = match random.below(if sick { 12 } else { 3 }) {
                0 => {
                    now += TICK;
                    tick(&mut ends[me], now)
                }
                1 if sick => frames(|outbox| {
                    ends[me].on_link_up(
                        now,
                        address(other as u16 + 1),
                        boot(other as u16 + 1),
                        outbox,
                    )
                }),
                _ => flush(&mut ends[me]),
            };
            for frame in leaving {
                match if sick { random.below(8) } else { 7 } {
                    0 => {}
                    1 => under_way[me].extend([frame.clone(), frame]),
                    _ => under_way[me].push(frame),
                }
            }
            let mut left = random.below(6) as usize;
            while left > 0 && !under_way[me].is_empty() {
                let place =
                    if sick { random.below(under_way[me].len() as u64) as usize } else { 0 };
                let frame = under_way[me].remove(place);
                arrived[other].extend(receive_at(&mut ends[other], now, &frame));
                left -= 1;
            }
        }
        // The rest, over a sound link: with the smallest window a chunk a round.
        for _ in 0..400 {
            now += RESEND_AFTER;
            for me in 0..2 {
                let mut leaving = std::mem::take(&mut under_way[me]);
                leaving.extend(tick(&mut ends[me], now));
                for frame in leaving {
                    let got = receive_at(&mut ends[1 - me], now, &frame);
                    arrived[1 - me].extend(got);
                }
            }
        }
        for me in 0..2 {
            let expected: Vec<u64> = (0..sent[1 - me]).collect();
            assert_eq!(arrived[me], expected, "seed {seed}, end {me}");
        }
        for (me, channels) in ends.iter().enumerate() {
            let channel = channel_to(channels, 2 - me as u16);
            assert!(channel.early.is_empty(), "seed {seed}");
            let kept = channel.unacked.iter().map(|chunk| chunk.bytes.len()).sum::<usize>();
            assert_eq!(channel.unacked_bytes, kept, "seed {seed}");
            assert!(kept < 200, "seed {seed}: {kept} bytes were acknowledged and are kept");
        }
    }
}

/// A message acknowledges the messages before it; without one, a bare acknowledgement follows at the next tick, or after
/// `ACK_FRAMES_MAX` frames, whichever is first.
#[test]
fn acknowledgements_ride_along_or_follow() {
    let (mut a, mut b) = (end(1, 11), end(2, 22));
    send(&mut a, 2, 0);
    for frame in flush(&mut a) {
        receive(&mut b, &frame);
    }
    send(&mut b, 1, 0);
    let answer = flush(&mut b);
    assert_eq!(decode_header(&answer[0]).map(|header| header.acknowledged), Ok(1));
    assert_eq!(tick(&mut b, TICK).len(), 0, "said already");

    send(&mut a, 2, 1);
    for frame in flush(&mut a) {
        receive(&mut b, &frame);
    }
    assert_eq!(flush(&mut b).len(), 0, "it waits for a message to travel with");
    let alone = tick(&mut b, 2 * TICK);
    assert!(alone.len() == 1 && is_acknowledgement(&alone[0]));

    for number in 0..ACK_FRAMES_MAX {
        send(&mut a, 2, 2 + number);
    }
    for frame in flush(&mut a) {
        receive(&mut b, &frame);
    }
    let early = flush(&mut b);
    assert!(early.len() == 1 && is_acknowledgement(&early[0]));
    assert_eq!(receive(&mut a, &early[0]), Vec::<u64>::new());
    assert_eq!(channel_to(&a, 2).unacked_bytes, 0);
}

/// A duplicate means that the acknowledgement was lost, so it is sent again; nothing else is.
#[test]
fn a_duplicate_is_acknowledged_again() {
    let (mut a, mut b) = (end(1, 11), end(2, 22));
    send(&mut a, 2, 0);
    let frame = flush(&mut a).remove(0);
    assert_eq!(receive(&mut b, &frame), [0]);
    assert_eq!(tick(&mut b, TICK).len(), 1);
    assert_eq!(receive(&mut b, &frame), Vec::<u64>::new());
    let again = tick(&mut b, 2 * TICK);
    assert!(again.iter().all(|frame| is_acknowledgement(frame)));
    assert_eq!(decode_header(&again[0]).map(|header| header.acknowledged), Ok(1));
}

/// What is not acknowledged leaves again when its time is over, and not before; each time it takes twice as long. When the
/// link is up again it leaves at once, and its time begins anew.
#[test]
fn unacknowledged_frames_leave_again() {
    let mut a = end(1, 11);
    send(&mut a, 2, 0);
    let first = flush(&mut a);
    assert_eq!(tick(&mut a, RESEND_AFTER - 1).len(), 0);
    assert_eq!(tick(&mut a, RESEND_AFTER), first);
    assert_eq!(tick(&mut a, 3 * RESEND_AFTER - 1).len(), 0);
    assert_eq!(tick(&mut a, 3 * RESEND_AFTER), first);
    let now = 4 * RESEND_AFTER;
    assert_eq!(frames(|outbox| a.on_link_up(now, address(2), boot(2), outbox)), first);
    assert_eq!(tick(&mut a, now + RESEND_AFTER - 1).len(), 0);
    assert_eq!(tick(&mut a, now + RESEND_AFTER), first);
    assert_eq!(
        frames(|outbox| a.on_link_up(now, address(3), boot(3), outbox)).len(),
        0,
        "nothing was sent"
    );
}

/// A slow link is not buried: a resend is a bounded number of bytes, the oldest chunks; the rest follows upon acknowledgement.
#[test]
fn a_resend_is_bounded() {
    let (mut a, mut b) = (end(1, 11), end(2, 22));
    let state = types::wire::Bytes(vec![7; RESEND_BYTES_MAX]);
    for _ in 0..3 {
        let copy = protocol::message::ControlCopy { state: state.clone() };
        a.send(address(2), None, NO_GROUP, View(0), &Message::ControlCopy(copy));
        flush(&mut a);
    }
    let again = tick(&mut a, RESEND_AFTER);
    assert_eq!(again.len(), 1);
    let header = decode_header(&again[0]).expect("made here");
    assert_eq!(header.sequence, 1);
    let message = decode_message(&again[0]).expect("made here");
    assert!(
        matches!(b.receive(0, 0, header, message), Received::Deliver(messages) if messages.len() == 1)
    );
    for acknowledgement in tick(&mut b, RESEND_AFTER) {
        receive_at(&mut a, RESEND_AFTER, &acknowledgement);
    }
    let next = tick(&mut a, 2 * RESEND_AFTER);
    assert_eq!(next.len(), 1);
    assert_eq!(decode_header(&next[0]).map(|header| header.sequence), Ok(2));
    assert_eq!(
        frames(|outbox| a.on_link_up(0, address(2), boot(2), outbox)).len(),
        2,
        "all of it at once"
    );
}

/// What one step says is handed over in pieces, so that a link never has much more than a window, whatever a step sends.
#[test]
fn chunks_are_bounded() {
    let mut a = end(1, 11);
    a.config.window_bytes = 1;
    let state = types::wire::Bytes(vec![7; CHUNK_BYTES_MAX]);
    for _ in 0..3 {
        let copy = protocol::message::ControlCopy { state: state.clone() };
        a.send(address(2), None, NO_GROUP, View(0), &Message::ControlCopy(copy));
    }
    assert_eq!(flush(&mut a).len(), 1);
    assert_eq!(channel_to(&a, 2).unacked.len(), 3);
}

/// Frames of another boot than the first are refused, and change nothing for the first.
#[test]
fn a_channel_is_with_one_boot() {
    let (mut a, mut other, mut b) = (end(1, 11), end(1, 12), end(2, 22));
    send(&mut a, 2, 7);
    let first = flush(&mut a);
    assert_eq!(receive(&mut b, &first[0]), [7]);
    assert_eq!(b.linked(address(1)), Some(Incarnation(11)));
    for _ in 0..2 {
        send(&mut other, 2, 8);
    }
    for frame in flush(&mut other) {
        let header = decode_header(&frame).expect("made here");
        let message = decode_message(&frame).expect("made here");
        assert!(matches!(b.receive(0, 0, header, message), Received::OtherIncarnation));
    }
    send(&mut a, 2, 9);
    let next = flush(&mut a);
    assert_eq!(receive(&mut b, &next[0]), [9]);
}

/// Frames ahead of a missing one are kept up to a bound; those beyond are sent again like lost ones.
#[test]
fn frames_ahead_are_bounded() {
    let (mut a, mut b) = (end(1, 11), end(2, 22));
    let count = CHANNEL_EARLY_MAX as u64 + 10;
    for number in 0..=count {
        send(&mut a, 2, number);
    }
    let sent = flush(&mut a);
    for frame in &sent[1..] {
        assert_eq!(receive(&mut b, frame), Vec::<u64>::new());
    }
    assert_eq!(channel_to(&b, 1).early.len(), CHANNEL_EARLY_MAX);
    assert_eq!(receive(&mut b, &sent[0]).len(), 1 + CHANNEL_EARLY_MAX);
    let rest: Vec<u64> =
        tick(&mut a, RESEND_AFTER).iter().flat_map(|f| receive(&mut b, f)).collect();
    let expected: Vec<u64> = (CHANNEL_EARLY_MAX as u64 + 1..=count).collect();
    assert_eq!(rest, expected);
}

/// The host has a window of bytes at most, also when the link comes back; later bytes follow in order as the peer
/// acknowledges.
#[test]
fn the_window_bounds_what_the_host_has() {
    const COUNT: u64 = 20;
    let (mut a, mut b) = (end(1, 11), end(2, 22));
    send(&mut a, 2, 0);
    let size = frames_size(&flush(&mut a));
    a.config.window_bytes = 3 * size;
    let mut handed = Vec::new();
    for number in 1..COUNT {
        send(&mut a, 2, number);
        handed.extend(flush(&mut a));
    }
    assert_eq!(handed.len(), 2, "three with the first");
    let mut arrived = Vec::new();
    for round in 1.. {
        // Each time the link breaks, and what the host had is lost but for the last round's first frame.
        let again = frames(|outbox| a.on_link_up(round, address(2), boot(2), outbox));
        assert!(again.len() <= 3, "{} frames at once", again.len());
        let Some(first) = again.first() else { break };
        arrived.extend(receive(&mut b, first));
        for acknowledgement in tick(&mut b, round * TICK) {
            receive(&mut a, &acknowledgement);
        }
        let more = flush(&mut a);
        assert!(more.len() <= 1, "one was acknowledged, so there is room for one");
    }
    assert_eq!(arrived, (0..COUNT).collect::<Vec<_>>());
}

/// Both ends with full windows: acknowledgements do not queue behind waiting data, or neither end would ever continue.
#[test]
fn full_windows_do_not_hold_acknowledgements_back() {
    const COUNT: u64 = 50;
    let mut ends = [end(1, 11), end(2, 22)];
    let mut under_way: [Vec<Vec<u8>>; 2] = Default::default();
    let mut arrived: [Vec<u64>; 2] = Default::default();
    for me in 0..2 {
        ends[me].config.window_bytes = 1;
        for number in 0..COUNT {
            send(&mut ends[me], 2 - me as u16, number);
            under_way[me].extend(flush(&mut ends[me]));
        }
        assert_eq!(under_way[me].len(), 1);
    }
    for round in 0..2 * COUNT {
        for me in 0..2 {
            for frame in std::mem::take(&mut under_way[me]) {
                arrived[1 - me].extend(receive(&mut ends[1 - me], &frame));
            }
            under_way[1 - me].extend(tick(&mut ends[1 - me], round * 10));
        }
    }
    for numbers in arrived {
        assert_eq!(numbers, (0..COUNT).collect::<Vec<_>>());
    }
}

fn frames_size(frames: &[Vec<u8>]) -> usize {
    frames.iter().map(|frame| frame.len() + 4).sum()
}

/// A peer that acknowledges nothing is named when too much is kept for it, until it has caught up.
#[test]
fn a_silent_peer_is_named() {
    let (mut a, mut b) = (end(1, 11), end(3, 33));
    send(&mut a, 2, 0);
    send(&mut a, 3, 0);
    let sent = flush(&mut a);
    assert_eq!(a.overloaded(), None);
    let boot = a.linked(address(3));
    assert!(!a.is_half_full(address(3), boot));
    a.config.unacked_bytes_max = frames_size(&sent[..1]);
    // Before it is too much, and of this boot only: data kept for an ended boot does not count for the next.
    assert!(a.is_half_full(address(3), boot) && !a.is_piling_up());
    assert!(!a.is_half_full(address(3), Some(Incarnation(99))));
    send(&mut a, 3, 1);
    let more = flush(&mut a);
    assert_eq!(a.overloaded(), Some(address(3)));
    for frame in [&sent[1], &more[0]] {
        receive(&mut b, frame);
    }
    for acknowledgement in tick(&mut b, TICK) {
        receive(&mut a, &acknowledgement);
    }
    flush(&mut a);
    assert_eq!(a.overloaded(), None);
    assert!(!a.is_half_full(address(3), boot));
}

/// An idle channel says nothing after its last acknowledgement: a bare acknowledgement is no message to be sent again.
#[test]
fn an_idle_channel_is_silent() {
    let (mut a, mut b) = (end(1, 11), end(2, 22));
    send(&mut b, 1, 0);
    for frame in flush(&mut b) {
        receive(&mut a, &frame);
    }
    send(&mut a, 2, 0);
    for frame in flush(&mut a) {
        receive(&mut b, &frame);
    }
    // From here on neither end sends a message.
    let mut acknowledgements = 0;
    for round in 1..100 {
        let now = round * RESEND_AFTER;
        for frame in tick(&mut b, now) {
            assert!(is_acknowledgement(&frame));
            receive_at(&mut a, now, &frame);
            acknowledgements += 1;
        }
        for frame in tick(&mut a, now) {
            receive_at(&mut b, now, &frame);
        }
    }
    assert_eq!(acknowledgements, 1);
}

/// A link that comes up with another boot of the peer: nothing that was for the boot before goes to it, be it queued here or with
/// the host already in the same turn. With the same boot everything goes again, once.
#[test]
fn another_boot_begins_anew() {
    let mut a = end(1, 11);
    for again in [boot(2), Incarnation(99)] {
        let mut outbox = Outbox::default();
        a.on_link_up(0, address(2), boot(2), &mut outbox);
        send(&mut a, 2, 1);
        a.flush(0, &mut outbox);
        send(&mut a, 2, 2);
        a.on_link_up(0, address(2), again, &mut outbox);
        a.flush(0, &mut outbox);
        let left: Vec<_> = outbox.frames.iter().filter(|(to, _)| *to == address(2)).collect();
        assert_eq!(left.is_empty(), again != boot(2), "{again:?}");
        assert_eq!(a.linked(address(2)), Some(again));
        send(&mut a, 2, 3);
        let sequence = decode_header(&flush(&mut a)[0]).expect("made here").sequence;
        assert_eq!(sequence, if again == boot(2) { 3 } else { 1 });
        a = end(1, 11);
    }
}

/// Another boot takes the link for a moment, and sends a message: the first boot's channel continues where it was, in both
/// directions, when that boot is back. Messages to it from meanwhile arrive then.
#[test]
fn who_takes_the_link_does_not_take_the_channel() {
    let (mut a, mut b, mut twin) = (end(1, 11), end(2, 22), end(2, 33));
    let link = |end: &mut Channels, peer: u16, boot: u64| {
        frames(|outbox| end.on_link_up(0, address(peer), Incarnation(boot), outbox))
    };
    let say = |from: &mut Channels, boot: u64, number: u64| {
        let message = Message::SnapshotRequest(SnapshotRequest { request: number });
        from.send(address(2), Some(Incarnation(boot)), NO_GROUP, View(0), &message);
        flush(from)
    };
    link(&mut a, 2, 22);
    link(&mut b, 1, 11);
    assert_eq!(receive(&mut b, &say(&mut a, 22, 1)[0]), [1]);
    send(&mut b, 1, 2);
    assert_eq!(receive(&mut a, &flush(&mut b)[0]), [2]);

    link(&mut a, 2, 33);
    link(&mut twin, 1, 11);
    assert!(say(&mut a, 22, 3).is_empty(), "the link does not lead there");
    assert_eq!(receive(&mut twin, &say(&mut a, 33, 4)[0]), [4]);
    send(&mut twin, 1, 5);
    assert_eq!(receive(&mut a, &flush(&mut twin)[0]), [5]);

    let waited = link(&mut a, 2, 22);
    link(&mut b, 1, 11);
    let arrived: Vec<u64> = waited.iter().flat_map(|frame| receive(&mut b, frame)).collect();
    assert_eq!(arrived, [3], "and nothing twice");
    send(&mut b, 1, 6);
    assert_eq!(receive(&mut a, &flush(&mut b)[0]), [6]);
}

/// However many boots of a peer come and go, few of them are remembered, and the one that takes part always is.
#[test]
fn boots_are_bounded() {
    let mut a = end(1, 11);
    a.set_members(&BTreeMap::from([(NodeId(2), Incarnation(100))]));
    for boot in 100..200 {
        frames(|outbox| a.on_link_up(0, address(2), Incarnation(boot), outbox));
        send(&mut a, 2, boot);
        assert_eq!(flush(&mut a).len(), 1);
        assert!(a.channels.len() <= BOOTS_KEPT_MAX + 2);
    }
    assert!(a.channels.contains_key(&(address(2), Some(Incarnation(100)))), "it takes part");
}
