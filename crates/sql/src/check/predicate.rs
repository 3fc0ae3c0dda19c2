//! Random predicates over the columns of a [`RandomTable`].
//!
//! Biased to what access paths are made of: disjunctions of conjunctions over a few columns, comparisons with constants
//! of the column's kind and of others, NULL, IN, BETWEEN, LIKE, row values.

use super::random::Random;
use super::tables::{self, Column, KINDS, RandomTable};

/// A predicate nested at most `depth` levels of AND, OR and NOT.
pub fn predicate(random: &mut Random, table: &RandomTable, depth: usize) -> String {
    // Most predicates are about a few columns, so that their bounds meet.
    let mut few: Vec<&Column> = Vec::new();
    for _ in 0..1 + random.below(3) {
        few.push(random.pick(&table.columns));
    }
    Generator { random, few }.predicate(depth)
}

struct Generator<'a> {
    random: &'a mut Random,
    few: Vec<&'a Column>,
}

const COMPARISONS: &[&str] = &["=", "=", "=", "<=>", "<>", "<", "<=", ">", ">="];

impl Generator<'_> {
    fn predicate(&mut self, depth: usize) -> String {
        if depth == 0 || self.random.percent(25) {
            return self.atom();
        }
        match self.random.below(20) {
            0..=8 => self.chain("OR", depth),
            9..=15 => self.chain("AND", depth),
            16 => format!("NOT ({})", self.predicate(depth - 1)),
            17 => format!("(({}) XOR ({}))", self.predicate(depth - 1), self.predicate(depth - 1)),
            _ => {
                let truth = *self.random.pick(&["TRUE", "FALSE", "UNKNOWN", "NULL"]);
                let not = *self.random.pick(&["", "NOT "]);
                format!("({}) IS {not}{truth}", self.predicate(depth - 1))
            }
        }
    }

    fn chain(&mut self, word: &str, depth: usize) -> String {
        let count = 2 + self.random.below(3);
        let terms: Vec<String> =
            (0..count).map(|_| format!("({})", self.predicate(depth - 1))).collect();
        terms.join(&format!(" {word} "))
    }

    fn atom(&mut self) -> String {
        let column = *self.random.pick(&self.few);
        let name = column.name;
        let not = if self.random.percent(20) { "NOT " } else { "" };
        match self.random.below(16) {
            0..=5 => {
                let op = *self.random.pick(COMPARISONS);
                format!("{name} {op} {}", self.constant(column))
            }
            6 => {
                let op = *self.random.pick(COMPARISONS);
                format!("{} {op} {name}", self.constant(column))
            }
            7 | 8 => {
                let (low, high) = (self.constant(column), self.constant(column));
                format!("{name} {not}BETWEEN {low} AND {high}")
            }
            9 | 10 => {
                let count = 1 + self.random.below(3);
                let list: Vec<String> = (0..count).map(|_| self.constant(column)).collect();
                format!("{name} {not}IN ({})", list.join(", "))
            }
            11 => format!("{name} IS {not}NULL"),
            12 => {
                let pattern =
                    *self.random.pick(&["'a%'", "'%b'", "'_'", "'A_'", "'%'", "'1%'", "''"]);
                format!("{name} {not}LIKE {pattern}")
            }
            13 => {
                let other = *self.random.pick(&self.few);
                let op = *self.random.pick(&["=", "<=>", "<>", "<", "<=", ">", ">="]);
                let (x, y) = (self.constant(column), self.constant(other));
                format!("({name}, {}) {op} ({x}, {y})", other.name)
            }
            14 => {
                let other = *self.random.pick(&self.few);
                let mut pair = || format!("({}, {})", self.constant(column), self.constant(other));
                let list = [pair(), pair()].join(", ");
                format!("({name}, {}) {not}IN ({list})", other.name)
            }
            _ => {
                let other = *self.random.pick(&self.few);
                let op = *self.random.pick(COMPARISONS);
                format!("{name} {op} {}", other.name)
            }
        }
    }

    /// Mostly a literal of the column's domain.
    fn constant(&mut self, column: &Column) -> String {
        match self.random.below(20) {
            0..=13 => tables::literal(self.random, column.kind),
            14 | 15 => {
                let kind = self.random.pick(KINDS);
                tables::literal(self.random, kind)
            }
            16 => "NULL".into(),
            17 => (*self.random.pick(&["2.5", "'3'", "'3x'", "1 + 1", "-0.5", "3e0"])).into(),
            18 if column.kind.is_string => format!(
                "{} COLLATE {}",
                tables::literal(self.random, column.kind),
                self.random.pick(&["utf8mb4_bin", "utf8mb4_general_ci", "utf8mb4_0900_ai_ci"])
            ),
            18 => format!("CAST({} AS SIGNED)", tables::literal(self.random, column.kind)),
            _ => format!("COALESCE(NULL, {})", tables::literal(self.random, column.kind)),
        }
    }
}
