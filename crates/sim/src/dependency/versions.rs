//! The order of the elements of every list, inferred from the reads; and anomalies without any
//! circle.

use std::collections::{BTreeMap, BTreeSet};

use super::{Element, Object, Operation, Outcome, Shortened, Transaction, View};

/// Who appended an element.
#[derive(Clone, Copy, Debug)]
pub(super) struct Writer {
    pub transaction: usize,
    object: Object,
    /// By a statement that was undone.
    undone: bool,
    /// No other element of the transaction follows in this list.
    is_last: bool,
}

/// What a read tells of other transactions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    pub transaction: usize,
    pub statement: usize,
    /// Of the statement.
    pub operation: usize,
    pub object: Object,
    /// Of the list, how many elements.
    pub length: usize,
    pub view: View,
}

pub(super) struct Versions {
    pub orders: BTreeMap<Object, Vec<Element>>,
    pub writers: BTreeMap<Element, Writer>,
    /// Elements that no read shows: they come after all elements of their list's order, in unknown order.
    pub unseen: BTreeMap<Object, Vec<Element>>,
    /// Transactions that have taken effect.
    pub happened: Vec<bool>,
    pub looks: Vec<Look>,
}

/// A read before it is known to be a prefix of its list's order.
struct Seen<'a> {
    look: Look,
    /// Without the elements that the reader had appended itself.
    others: &'a [Element],
    whole: &'a [Element],
}

impl Versions {
    pub fn of(
        transactions: &[Transaction],
        left: Option<&BTreeMap<Object, Vec<Element>>>,
    ) -> Result<Versions, String> {
        let writers = writers_of(transactions)?;
        let seen = seen_by(transactions)?;
        let happened = happened(transactions, &writers, &seen, left);
        let orders = orders_of(&seen, &happened, left);
        let mut versions =
            Versions { orders, writers, unseen: BTreeMap::new(), happened, looks: Vec::new() };
        versions.check_elements(transactions, left.is_some())?;
        for seen in &seen {
            versions.check_read(transactions, seen)?;
            versions.looks.push(seen.look);
        }
        match left {
            Some(left) => versions.check_left(transactions, left)?,
            None => versions.find_unseen(),
        }
        Ok(versions)
    }

    /// Everything in the lists was appended to them, once, by a transaction that has happened.
    fn check_elements(&self, transactions: &[Transaction], is_left: bool) -> Result<(), String> {
        let place = if is_left { "left in" } else { "read from" };
        for (object, order) in &self.orders {
            let mut before = BTreeSet::new();
            for element in order {
                if !before.insert(element) {
                    return Err(format!("element {element} is twice in object {object}"));
                }
                self.check_element(*object, *element, transactions)
                    .map_err(|error| format!("{error}, {place} object {object}"))?;
            }
        }
        Ok(())
    }

    fn check_element(
        &self,
        object: Object,
        element: Element,
        transactions: &[Transaction],
    ) -> Result<(), String> {
        let Some(writer) = self.writers.get(&element) else {
            return Err(format!("element {element}, which nobody appended"));
        };
        if writer.object != object {
            return Err(format!("element {element}, which was appended to {}", writer.object));
        }
        let number = writer.transaction;
        if writer.undone || transactions[number].outcome == Outcome::Aborted {
            return Err(format!(
                "G1a: element {element} of T{number}, which was undone\n    T{number}: {}",
                transactions[number]
            ));
        }
        Ok(())
    }

    fn check_read(&self, transactions: &[Transaction], seen: &Seen<'_>) -> Result<(), String> {
        let Look { transaction: reader, object, .. } = seen.look;
        let order = self.orders.get(&object).map_or(&[][..], Vec::as_slice);
        let expected = if self.happened[reader] { seen.whole } else { seen.others };
        if !order.starts_with(expected) {
            // Something in it may say why.
            for element in expected {
                self.check_element(object, *element, transactions).map_err(|error| {
                    format!("{error}, read by T{reader}: {}", transactions[reader])
                })?;
            }
            return Err(format!(
                "incompatible order of object {object}: {order:?} is known, T{reader} read \
                 {expected:?}\n    T{reader}: {}",
                transactions[reader]
            ));
        }
        let Some(last) = seen.others.last() else { return Ok(()) };
        let writer = self.writers[last];
        if !writer.is_last {
            let number = writer.transaction;
            return Err(format!(
                "G1b: T{reader} read object {object} up to element {last} of T{number}, which appended more\n    \
                 T{reader}: {}\n    T{number}: {}",
                transactions[reader], transactions[number]
            ));
        }
        Ok(())
    }

    /// Transactions are left as a whole, and all that were acknowledged.
    fn check_left(
        &self,
        transactions: &[Transaction],
        left: &BTreeMap<Object, Vec<Element>>,
    ) -> Result<(), String> {
        for (object, order) in &self.orders {
            let there = left.get(object).map_or(&[][..], Vec::as_slice);
            if there.len() < order.len() {
                return Err(format!(
                    "elements are lost: object {object} was {}, {} is left",
                    Shortened(order),
                    Shortened(there)
                ));
            }
        }
        let there: BTreeSet<Element> = left.values().flatten().copied().collect();
        for (element, writer) in &self.writers {
            let number = writer.transaction;
            if self.happened[number] && !writer.undone && !there.contains(element) {
                let transaction = &transactions[number];
                let what = match transaction.outcome {
                    Outcome::Committed => "is lost",
                    Outcome::Aborted | Outcome::Unknown => "is missing, other elements are seen",
                };
                return Err(format!(
                    "element {element} of T{number} {what}: object {} is {} at the end\n    T{number}: {transaction}",
                    writer.object,
                    Shortened(left.get(&writer.object).map_or(&[], Vec::as_slice)),
                ));
            }
        }
        Ok(())
    }

    fn find_unseen(&mut self) {
        let known: BTreeSet<Element> = self.orders.values().flatten().copied().collect();
        for (element, writer) in &self.writers {
            if self.happened[writer.transaction] && !writer.undone && !known.contains(element) {
                self.unseen.entry(writer.object).or_default().push(*element);
            }
        }
    }
}

fn writers_of(transactions: &[Transaction]) -> Result<BTreeMap<Element, Writer>, String> {
    let mut writers: BTreeMap<Element, Writer> = BTreeMap::new();
    for (number, transaction) in transactions.iter().enumerate() {
        let mut last: BTreeMap<Object, Element> = BTreeMap::new();
        for statement in &transaction.statements {
            for operation in &statement.operations {
                let Operation::Append { object, element } = *operation else { continue };
                let writer =
                    Writer { transaction: number, object, undone: statement.undone, is_last: true };
                if writers.insert(element, writer).is_some() {
                    return Err(format!("element {element} was appended by two operations"));
                }
                if !statement.undone
                    && let Some(before) = last.insert(object, element)
                {
                    writers.get_mut(&before).expect("inserted before").is_last = false;
                }
            }
        }
    }
    Ok(writers)
}

/// Every read that was answered, split into what others had appended and what its own transaction had.
fn seen_by(transactions: &[Transaction]) -> Result<Vec<Seen<'_>>, String> {
    let mut all = Vec::new();
    for (number, transaction) in transactions.iter().enumerate() {
        let mut own: BTreeMap<Object, Vec<Element>> = BTreeMap::new();
        for (statement_number, statement) in transaction.statements.iter().enumerate() {
            if statement.undone {
                continue;
            }
            for (place, operation) in statement.operations.iter().enumerate() {
                match operation {
                    Operation::Append { object, element } => {
                        own.entry(*object).or_default().push(*element);
                    }
                    Operation::Read { .. } if statement.returned.is_none() => {}
                    Operation::Read { object, seen, view } => {
                        let own = own.get(object).map_or(&[][..], Vec::as_slice);
                        if !seen.ends_with(own) {
                            return Err(format!(
                                "T{number} read {seen:?} from object {object}, to which it had appended \
                                 {own:?}\n    T{number}: {transaction}"
                            ));
                        }
                        let others = &seen[..seen.len() - own.len()];
                        // Behind its own element there is the lock that it took for it.
                        let view = if own.is_empty() { *view } else { View::Locked };
                        let look = Look {
                            transaction: number,
                            statement: statement_number,
                            operation: place,
                            object: *object,
                            length: others.len(),
                            view,
                        };
                        all.push(Seen { look, others, whole: seen });
                    }
                }
            }
        }
    }
    Ok(all)
}

/// Committed, or of unknown outcome and seen by another transaction.
fn happened(
    transactions: &[Transaction],
    writers: &BTreeMap<Element, Writer>,
    seen: &[Seen<'_>],
    left: Option<&BTreeMap<Object, Vec<Element>>>,
) -> Vec<bool> {
    let mut happened: Vec<bool> =
        transactions.iter().map(|transaction| transaction.outcome == Outcome::Committed).collect();
    let unknown: BTreeMap<Element, usize> = writers
        .iter()
        .map(|(element, writer)| (*element, writer.transaction))
        .filter(|(_, number)| transactions[*number].outcome == Outcome::Unknown)
        .collect();
    if unknown.is_empty() {
        return happened;
    }
    let left = left.into_iter().flat_map(|left| left.values()).flatten();
    for element in seen.iter().flat_map(|seen| seen.others).chain(left) {
        if let Some(number) = unknown.get(element) {
            happened[*number] = true;
        }
    }
    happened
}

/// The longest that was seen of every list.
fn orders_of(
    seen: &[Seen<'_>],
    happened: &[bool],
    left: Option<&BTreeMap<Object, Vec<Element>>>,
) -> BTreeMap<Object, Vec<Element>> {
    let mut longest: BTreeMap<Object, &[Element]> = BTreeMap::new();
    let reads = seen.iter().map(|seen| {
        let elements = if happened[seen.look.transaction] { seen.whole } else { seen.others };
        (seen.look.object, elements)
    });
    let left = left.into_iter().flatten().map(|(object, elements)| (*object, elements.as_slice()));
    // What is left goes first: it is the truth, unless a read shows more.
    for (object, elements) in left.chain(reads) {
        let known = longest.entry(object).or_insert(elements);
        if known.len() < elements.len() {
            *known = elements;
        }
    }
    longest.into_iter().map(|(object, elements)| (object, elements.to_vec())).collect()
}
