//! A plan as a tree of steps with attributes: what the formats of EXPLAIN print.

use crate::execute::profile::Spot;
use crate::plan::JoinKind;

/// A query: its steps, and the subqueries of its select list.
#[derive(Debug)]
pub struct Block {
    /// As the traditional form numbers it.
    pub number: u64,
    pub root: Node,
    pub projections: Vec<Subquery>,
}

/// A query that is an operand.
#[derive(Debug)]
pub struct Subquery {
    pub place: Place,
    /// It runs for each row of the query around it; else once.
    pub is_dependent: bool,
    pub block: Block,
}

/// Where a subquery stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Condition,
    Projection,
}

/// A step.
#[derive(Debug)]
pub struct Node {
    pub step: Step,
    /// An estimate of the planner.
    pub rows: Option<u64>,
    /// The step's counter in a run of the plan; `None` for a step that is not counted.
    pub spot: Option<Spot>,
    pub inputs: Vec<Node>,
    /// Queries whose rows the step takes.
    pub blocks: Vec<Block>,
    /// Subqueries of the step's condition.
    pub subqueries: Vec<Subquery>,
}

impl Node {
    pub fn new(step: Step, inputs: Vec<Node>) -> Node {
        Node { step, rows: None, spot: None, inputs, blocks: Vec::new(), subqueries: Vec::new() }
    }
    /// The same, with the step's counter.
    pub fn at(step: Step, inputs: Vec<Node>, spot: Spot) -> Node {
        Node { spot: Some(spot), ..Node::new(step, inputs) }
    }
}

#[derive(Debug)]
pub enum Step {
    Limit {
        count: String,
        offset: Option<String>,
    },
    Sort {
        keys: Vec<String>,
        /// The first rows that are kept.
        limit: Option<String>,
    },
    /// DISTINCT.
    Distinct,
    Filter {
        condition: String,
        place: FilterPlace,
    },
    Window {
        /// The functions with their windows, and their names alone.
        functions: Vec<String>,
        names: Vec<String>,
        keys: Vec<String>,
    },
    Aggregate {
        method: AggregateMethod,
        functions: Vec<String>,
        groups: Vec<String>,
        has_rollup: bool,
    },
    Join {
        kind: JoinKind,
        method: JoinMethod,
        /// Pairs of columns that are equal.
        keys: Vec<String>,
        /// The rest of the join condition.
        condition: Option<String>,
    },
    /// The side of a hash join that is kept.
    Hash,
    Table(Box<TableStep>),
    /// A system table.
    Virtual {
        name: String,
    },
    /// A query in FROM.
    Derived {
        name: String,
        /// The relations before it that it names: it runs for each of their rows.
        outer: Vec<String>,
        /// The statement keeps its rows: it runs once.
        is_kept: bool,
    },
    /// VALUES in FROM, and a SELECT without FROM.
    Rows,
    /// The condition is false.
    NoRows,
    Set {
        operation: SetOperation,
        is_distinct: bool,
    },
    /// WITH RECURSIVE: the seed, then the steps.
    Recursive {
        name: String,
        is_distinct: bool,
    },
    /// The rows that the last round of a recursive table has added.
    Working {
        name: String,
    },
    Change {
        kind: ChangeKind,
        tables: Vec<String>,
        method: Option<ChangeMethod>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterPlace {
    Shards,
    Session,
    Having,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AggregateMethod {
    /// The session groups the rows.
    Session,
    /// The session merges the groups of the shards.
    Merge,
    Shards,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinMethod {
    NestedLoop,
    Hash,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOperation {
    Union,
    Intersect,
    Except,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    Insert,
    Replace,
    Update,
    Delete,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeMethod {
    /// The shards change the rows that they find.
    Shards,
    /// A batch of rows is read, then changed.
    Immediate,
    /// All rows are read before the first changes.
    Buffered,
}

/// How the rows of a table are found.
#[derive(Debug, Default)]
pub struct TableStep {
    pub name: String,
    /// As the traditional form says it: ALL, index, range, ref, eq_ref, const.
    pub access_type: &'static str,
    pub possible_keys: Vec<String>,
    pub key: Option<String>,
    pub used_key_parts: Vec<String>,
    pub key_length: Option<usize>,
    /// What the parts of the key are equal to.
    pub references: Vec<String>,
    /// The bounds of the key.
    pub bounds: String,
    pub is_reverse: bool,
    /// The shards that are read, where the values of the statement decide that.
    pub partitions: Option<Vec<String>>,
}
