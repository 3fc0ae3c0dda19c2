//! Histories as text, a transaction a line:
//!
//! `session level outcome called-returned: statement | statement`
//!
//! with levels RC, RR and SR, outcomes C, A and U (not heard: `called-`), and operations `x+1` (append), `x=1,2` (read at a
//! snapshot), `x?1,2` (read of the latest version), `x!1,2` (read under a lock). A statement that begins with `~` was
//! undone; `@7` says when it was called, otherwise statements follow each other right after the transaction's beginning.

use std::collections::BTreeMap;

use super::*;
use crate::random::Random;

/// Events between two that the text can name, for the statements.
const STEP: u64 = 100;

fn list(text: &str) -> Vec<Element> {
    text.split(',').filter(|part| !part.is_empty()).map(|part| part.parse().expect("1,2")).collect()
}

fn operation(text: &str) -> Operation {
    let object = Object::from(text.as_bytes()[0]);
    let rest = &text[2..];
    let read = |view| Operation::Read { object, seen: list(rest), view };
    match text.as_bytes()[1] {
        b'+' => Operation::Append { object, element: rest.parse().expect("x+1") },
        b'=' => read(View::Snapshot),
        b'?' => read(View::Latest),
        b'!' => read(View::Locked),
        other => panic!("operation {:?} of {text}", char::from(other)),
    }
}

fn transaction(line: &str) -> Transaction {
    let (head, body) = line.split_once(':').expect("head: body");
    let head: Vec<&str> = head.split_whitespace().collect();
    let [session, level, outcome, events] = head[..] else { panic!("{line}") };
    let (called, returned) = events.split_once('-').expect("called-returned");
    let called = STEP * called.parse::<u64>().expect("a number");
    let returned = returned.parse::<u64>().ok().map(|event| STEP * event);
    let mut statements = Vec::new();
    let mut at = called;
    for text in body.split('|') {
        let mut operations = Vec::new();
        let mut undone = false;
        for word in text.split_whitespace() {
            if word == "~" {
                undone = true;
            } else if let Some(event) = word.strip_prefix('@') {
                at = STEP * event.parse::<u64>().expect("@7");
            } else {
                operations.push(operation(word));
            }
        }
        statements.push(Statement { called: at, returned: Some(at + 1), undone, operations });
        at += 2;
    }
    Transaction {
        session: session.parse().expect("a number"),
        level: match level {
            "RC" => Level::ReadCommitted,
            "RR" => Level::RepeatableRead,
            "SR" => Level::Serializable,
            _ => panic!("{line}"),
        },
        outcome: match outcome {
            "C" => Outcome::Committed,
            "A" => Outcome::Aborted,
            "U" => Outcome::Unknown,
            _ => panic!("{line}"),
        },
        called,
        returned,
        statements,
    }
}

/// The name of the anomaly: the first line of the message up to its first colon.
fn verdict(history: &str, left: Option<&str>, order: Order) -> String {
    let lines = history.lines().map(str::trim).filter(|line| !line.is_empty());
    let transactions: Vec<Transaction> = lines.map(transaction).collect();
    let left = left.map(|left| {
        let part = |part: &str| (Object::from(part.as_bytes()[0]), list(&part[2..]));
        left.split_whitespace().map(part).collect::<BTreeMap<Object, Vec<Element>>>()
    });
    match check(&transactions, left.as_ref(), order) {
        Ok(()) => "ok".into(),
        Err(error) => {
            let line = error.lines().next().expect("an error says something");
            line.split(':').next().expect("a line has a beginning").into()
        }
    }
}

#[track_caller]
fn expect(expected: &str, order: Order, history: &str) {
    assert_eq!(verdict(history, None, order), expected, "{history}");
}

/// What must not happen at any level, each next to a history that may.
#[test]
fn phenomena_of_every_level() {
    use Order::Data;
    for level in ["RC", "RR", "SR"] {
        let expect = |expected: &str, history: &str| {
            expect(expected, Data, &history.replace("L ", &format!("{level} ")));
        };
        expect("ok", "1 L C 1-2: x+1 | y+2\n 2 L C 3-4: x+3 | y+4\n 3 RC C 5-6: x=1,3 | y=2,4");
        expect("G0", "1 L C 1-4: x+1 | y+2\n 2 L C 2-5: x+3 | y+4\n 3 RC C 6-7: x=1,3 | y=4,2");
        expect("G0", "1 L C 1-4: x+1 | x+2\n 2 L C 2-5: x+3\n 3 RC C 6-7: x=1,3,2");
        expect("ok", "1 L A 1-4: x+1\n 2 L C 2-5: x=");
        expect("G1a", "1 L A 1-4: x+1\n 2 L C 2-5: x=1");
        expect("G1a", "1 L A 1-4: x+1\n 2 L A 2-5: x=1");
        expect("G1a", "1 L C 1-4: ~ x+1 | y+2\n 2 L C 2-5: x=1");
        expect("ok", "1 L U 1-: x+1\n 2 L C 2-5: x=1");
        expect("ok", "1 L C 1-4: x+1 | x+2\n 2 L C 2-5: x=1,2");
        expect("G1b", "1 L C 1-4: x+1 | x+2\n 2 L C 2-5: x=1");
        expect("G1c", "1 L C 1-4: x+1 | y!2\n 2 L C 2-5: y+2 | x!1");
        expect("G1c", "1 L C 1-4: x+1 | y?2\n 2 L C 2-5: y+2 | x?1");
        expect("G1c", "1 L C 1-4: x+1 | y=2\n 2 L C 2-5: y+2 | x=1");
        expect("G1c", "1 L U 1-: x+1 | y=2\n 2 L C 2-5: y+2 | x=1");
        expect(
            "incompatible order of object 120",
            "1 L C 1-2: x=1,2\n 1 L C 3-4: x=2,1\n 2 RC C 1-9: x+1\n 3 RC C 1-9: x+2",
        );
        expect("element 1 is twice in object 120", "1 L C 1-2: x+1\n 2 L C 3-4: x=1,1");
        expect("element 1, which nobody appended, read from object 120", "2 L C 3-4: x=1");
        expect("T0 read [] from object 120, to which it had appended [1]", "1 L C 1-4: x+1 | x=");
        // The order of its own session, which data alone does not tell.
        expect("ok", "1 L C 1-2: x+1\n 1 L C 3-4: x=");
    }
}

/// What one level forbids and another does not.
#[test]
fn levels_differ() {
    let cases: &[(&str, [&str; 3])] = &[
        // Read skew: half of a transaction.
        ("1 RC C 1-4: x+1 | y+2\n 2 L C 2-5: x= | y=2", ["ok", "G-single", "G-single"]),
        // In one statement.
        ("1 RC C 1-4: x+1 | y+2\n 2 L C 2-5: x= y=2", ["G-single", "G-single", "G-single"]),
        // Rolled back later, it has seen it all the same.
        ("1 RC C 1-4: x+1 | y+2\n 2 L A 2-5: x= y=2", ["G-single", "G-single", "G-single"]),
        // Each read of a statement that waits in between is alone.
        ("1 RC C 1-4: x+1 | y+2\n 2 L C 2-5: x? z+3 y?2", ["ok", "ok", "G-single"]),
        // The same list, shorter.
        ("1 RC C 1-4: x+1\n 2 L C 2-5: x=1 | x=", ["G-single", "G-single", "G-single"]),
        ("1 RC C 1-4: x+1\n 2 L C 2-5: x= | x=1", ["ok", "G-single", "G-single"]),
        // Lost update.
        ("1 L C 1-4: x= | x+1\n 2 L C 2-5: x= | x+2\n 3 RC C 6-7: x=1,2", ["ok", "ok", "G-single"]),
        // Write skew, by plain reads and by reads under locks.
        ("1 L C 1-4: x= | y+1\n 2 L C 2-5: y= | x+2", ["ok", "ok", "G2"]),
        ("1 L C 1-4: x! | y+1\n 2 L C 2-5: y! | x+2", ["G2", "G2", "G2"]),
        // Two readers disagree on the order of two writers.
        (
            "1 RC C 1-9: x+1\n 2 RC C 1-9: y+2\n 3 L C 1-9: x=1 y=\n 4 L C 1-9: x= y=2",
            ["G2", "G2", "G2"],
        ),
        // The snapshot of a transaction that wrote before: its own write is seen, and no other newer one.
        ("1 RC C 1-4: x+1 | y+2\n 2 L C 2-9: z+3 | z=3 y= | x=1", ["ok", "G-single", "G-single"]),
    ];
    for (history, expected) in cases {
        for (level, expected) in ["RC", "RR", "SR"].into_iter().zip(expected) {
            expect(expected, Order::Data, &history.replace("L ", &format!("{level} ")));
        }
    }
}

/// What only the order of a session, or of time, tells.
#[test]
fn orders_differ() {
    let cases: &[(&str, [&str; 3])] = &[
        // A stale read, of another session and of one's own.
        ("1 RC C 1-2: x+1\n 2 RC C 3-4: x?", ["ok", "ok", "G-single-realtime"]),
        ("1 RC C 1-2: x+1\n 1 RC C 3-4: x?", ["ok", "G-single-session", "G-single-session"]),
        ("1 RC C 1-2: x+1\n 2 RR C 3-4: x=", ["ok", "ok", "G-single-realtime"]),
        ("1 RC C 1-3: x+1\n 2 RC C 2-4: x?", ["ok", "ok", "ok"]),
        // The end was not heard: it may come late, if it comes.
        ("1 RC U 1-: x+1\n 1 RC C 3-4: x?\n 2 RC C 5-6: x?1", ["ok", "ok", "ok"]),
        ("1 RC U 1-: x+1\n 2 RC C 3-4: x?1\n 3 RC C 5-6: x?", ["ok", "ok", "G-single-realtime"]),
        // Writes in the wrong order.
        ("1 RC C 1-2: x+1\n 2 RC C 3-4: x+2\n 3 RC C 5-6: x?2,1", ["ok", "ok", "G0-realtime"]),
        // A snapshot that shows a transaction that began after it was taken.
        ("1 RR C 1-9: x= | @6 y=2\n 2 RC C 3-4: y+2", ["ok", "ok", "G1c-realtime"]),
        ("1 RC C 1-9: x= | @6 y=2\n 2 RC C 3-4: y+2", ["ok", "ok", "ok"]),
        // The statement that took the snapshot was refused.
        ("1 RR C 1-9: ~ x= | @6 y=\n 2 RC C 3-4: y+2", ["ok", "ok", "ok"]),
        // A commit under way that a snapshot has and a later read of the latest version misses, as it may.
        (
            "1 RC C 1-20: x+1\n 2 RC C 3-4: y+2\n 3 RR C 2-30: y= | @12 x=1\n 4 RC C 5-6: y?2\n 4 RC C 7-8: x?",
            ["ok", "ok", "ok"],
        ),
        // But not once it was told.
        (
            "1 RC C 1-2: x+1\n 2 RC C 3-4: y+2\n 4 RC C 5-6: y?2\n 4 RC C 7-8: x?",
            ["ok", "ok", "G-single-realtime"],
        ),
    ];
    for (history, expected) in cases {
        let orders = [Order::Data, Order::Sessions, Order::RealTime];
        for (order, expected) in orders.into_iter().zip(expected) {
            expect(expected, order, history);
        }
    }
}

/// What is left at the end is part of the history.
#[test]
fn what_is_left() {
    let cases: &[(&str, &str, &str)] = &[
        ("ok", "x:1,2", "1 RC C 1-2: x+1\n 2 RC C 3-4: x+2"),
        ("G0-realtime", "x:2,1", "1 RC C 1-2: x+1\n 2 RC C 3-4: x+2"),
        ("element 2 of T1 is lost", "x:1", "1 RC C 1-2: x+1\n 2 RC C 3-4: x+2"),
        ("elements are lost", "x:1", "1 RC C 1-2: x+1 x+2\n 2 RC C 3-4: x?1,2"),
        ("G1a", "x:1", "1 RC A 1-2: x+1"),
        ("G1a", "x:1,2", "1 RC C 1-2: ~ x+1 | x+2"),
        ("ok", "x:1 y:2", "1 RC U 1-: x+1 | y+2"),
        ("ok", "", "1 RC U 1-: x+1 | y+2"),
        ("element 2 of T0 is missing, other elements are seen", "x:1", "1 RC U 1-: x+1 | y+2"),
        ("element 1, which was appended to 120, left in object 121", "y:1", "1 RC C 1-2: x+1"),
        // A lost update of a transaction that reads under locks, shown by the order that is left.
        ("G-single", "x:1,2", "1 SR C 1-5: x= | x+1\n 2 SR C 2-6: x= | x+2"),
    ];
    for (expected, left, history) in cases {
        assert_eq!(verdict(history, Some(left), Order::RealTime), *expected, "{history}");
    }
}

/// The report of a circle has its transactions and the reason why each is before the next.
#[test]
fn a_circle_is_told() {
    let history = ["1 RC C 1-4: x+1 | y+2", "2 RR C 2-5: x= | y=2"].map(transaction);
    let error = check(&history, None, Order::Data).expect_err("read skew");
    for part in [
        "G-single:",
        "T1 (snapshot) -- read-write: object 120 without 1 --> T0",
        "T0 -- write-read: object 121 ends with 2 --> T1 (snapshot)",
        "T1: session 2, REPEATABLE READ, Committed, events 200 to 500: [200 to 201: read 120 Snapshot (0: [])",
    ] {
        assert!(error.contains(part), "{part:?} in {error}");
    }
}

/// Transactions of one statement each whose operations are interleaved at random, some of which see the lists as they
/// were at their beginning.
fn random_history(random: &mut Random) -> (Vec<Transaction>, BTreeMap<Object, Vec<Element>>) {
    let count = 1 + random.index(5);
    let mut waiting: Vec<usize> = Vec::new();
    for number in 0..count {
        let operations = 1 + random.index(3);
        waiting.extend(std::iter::repeat_n(number, operations));
    }
    let is_mixed = random.chance(800);
    if is_mixed {
        for place in (1..waiting.len()).rev() {
            waiting.swap(place, random.index(place + 1));
        }
    }
    let mut lists: BTreeMap<Object, Vec<Element>> = (0..2).map(|id| (id, Vec::new())).collect();
    let mut made: Vec<Option<Transaction>> = vec![None; count];
    let mut at_beginning = vec![BTreeMap::new(); count];
    let sees_beginning: Vec<bool> = (0..count).map(|_| random.chance(250)).collect();
    for (place, number) in (0u64..).zip(waiting) {
        let transaction = made[number].get_or_insert_with(|| {
            at_beginning[number] = lists.clone();
            let called = 2 * place + 1;
            let statement =
                Statement { called, returned: None, undone: false, operations: Vec::new() };
            Transaction {
                session: number as u64,
                level: Level::Serializable,
                outcome: Outcome::Committed,
                called,
                returned: None,
                statements: vec![statement],
            }
        });
        transaction.returned = Some(2 * place + 2);
        let object = random.below(2);
        let element = place as Element;
        let operation = if random.chance(500) {
            lists.get_mut(&object).expect("made above").push(element);
            at_beginning[number].get_mut(&object).expect("cloned").push(element);
            Operation::Append { object, element }
        } else {
            let lists = if sees_beginning[number] { &at_beginning[number] } else { &lists };
            Operation::Read { object, seen: lists[&object].clone(), view: View::Locked }
        };
        transaction.statements[0].operations.push(operation);
        transaction.statements[0].returned = transaction.returned;
    }
    let mut transactions: Vec<Transaction> = made.into_iter().flatten().collect();
    for transaction in &mut transactions {
        if random.chance(100) {
            transaction.outcome = Outcome::Unknown;
            transaction.returned = None;
        }
    }
    transactions.sort_by_key(|transaction| transaction.called);
    (transactions, lists)
}

/// Whether running some permutation of the transactions, one after the other, gives every read and the end.
fn explained(
    lists: &BTreeMap<Object, Vec<Element>>,
    rest: &[&Transaction],
    left: &BTreeMap<Object, Vec<Element>>,
    order: Order,
) -> bool {
    if rest.is_empty() {
        return lists == left;
    }
    let first_return = rest.iter().filter_map(|transaction| transaction.returned).min();
    (0..rest.len()).any(|next| {
        let in_time = order == Order::Data
            || first_return.is_none_or(|returned| rest[next].called < returned);
        let mut lists = lists.clone();
        let mut runs = |operation: &Operation| match operation {
            Operation::Append { object, element } => {
                lists.entry(*object).or_default().push(*element);
                true
            }
            Operation::Read { object, seen, .. } => lists[object] == *seen,
        };
        in_time
            && rest[next].statements[0].operations.iter().all(&mut runs)
            && explained(&lists, &[&rest[..next], &rest[next + 1..]].concat(), left, order)
    })
}

/// Small histories, where every element has its place at the end, get the verdict of trying every order: with real time
/// and without.
#[test]
fn agrees_with_every_order() {
    let mut random = Random::new(3);
    for order in [Order::Data, Order::RealTime] {
        let (mut good, mut bad) = (0, 0);
        for round in 0..20_000 {
            let (transactions, left) = random_history(&mut random);
            let empty = left.keys().map(|object| (*object, Vec::new())).collect();
            let all: Vec<&Transaction> = transactions.iter().collect();
            let expected = explained(&empty, &all, &left, order);
            let found = check(&transactions, Some(&left), order);
            assert_eq!(found.is_ok(), expected, "round {round}: {found:?}\n{transactions:#?}");
            if expected { good += 1 } else { bad += 1 }
        }
        assert!(good > 3_000 && bad > 3_000, "{good} explained, {bad} not");
    }
}

/// A long history, its transactions overlapping, has no circle; with one read that is out of date it has one, which is
/// told short although it could be as long as the history.
#[test]
fn long_histories() {
    const COUNT: u64 = 20_000;
    let mut transactions = Vec::new();
    let mut lists: BTreeMap<Object, Vec<Element>> = BTreeMap::new();
    for number in 0..COUNT {
        let object = number / 50;
        let seen = lists.get(&object).cloned().unwrap_or_default();
        let element = number as Element;
        lists.entry(object).or_default().push(element);
        let operations = vec![
            Operation::Read { object, seen, view: View::Locked },
            Operation::Append { object, element },
        ];
        // Asked 10 transactions before it takes effect, answered 10 later.
        let (called, returned) = (2 * number, 2 * number + 41);
        let statement = Statement { called, returned: Some(returned), undone: false, operations };
        transactions.push(Transaction {
            session: number,
            level: Level::Serializable,
            outcome: Outcome::Committed,
            called,
            returned: Some(returned),
            statements: vec![statement],
        });
    }
    assert_eq!(check(&transactions, Some(&lists), Order::RealTime), Ok(()));
    let Operation::Read { seen, .. } = &mut transactions[15_040].statements[0].operations[0] else {
        panic!("reads first")
    };
    seen.pop();
    let error = check(&transactions, Some(&lists), Order::RealTime).expect_err("a lost update");
    assert!(error.starts_with("G-single:"), "{error}");
    assert!(error.lines().count() == 5, "{error}");
}
