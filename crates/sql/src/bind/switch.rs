//! The switches of `optimizer_switch` that the planner acts on. The table of variables says what becomes of the others.

/// All are on by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptimizerSwitch {
    /// The conditions of a table that its index leaves are counted in estimates of joins.
    pub condition_fanout_filter: bool,
    /// Derived tables and views that need no rows of their own are part of the query around them.
    pub derived_merge: bool,
    /// EXISTS is a join that takes the first row that it finds; needs `semijoin`.
    pub firstmatch: bool,
    /// Joins keep rows by the values that they compare.
    pub hash_join: bool,
    /// LIMIT may speak for an index that has the order of ORDER BY.
    pub prefer_ordering_index: bool,
    /// IN and EXISTS over queries are joins.
    pub semijoin: bool,
    /// The primary key that ends the entries of an index orders rows.
    pub use_index_extensions: bool,
}

impl OptimizerSwitch {
    /// Of the variable's text.
    pub fn of_text(text: &str) -> OptimizerSwitch {
        let is_on = |name: &str| {
            let own = text.split(',').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
            own != Some("off")
        };
        OptimizerSwitch {
            condition_fanout_filter: is_on("condition_fanout_filter"),
            derived_merge: is_on("derived_merge"),
            firstmatch: is_on("firstmatch"),
            hash_join: is_on("hash_join"),
            prefer_ordering_index: is_on("prefer_ordering_index"),
            semijoin: is_on("semijoin"),
            use_index_extensions: is_on("use_index_extensions"),
        }
    }
}

impl Default for OptimizerSwitch {
    fn default() -> OptimizerSwitch {
        OptimizerSwitch::of_text("")
    }
}
