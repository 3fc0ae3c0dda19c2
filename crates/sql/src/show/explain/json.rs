//! EXPLAIN FORMAT=JSON: MySQL's document.
//!
//! The document has the names that MySQL has, as far as a plan here has something to say under
//! them. It has no `cost_info` and no `filtered`: the planner computes neither. What MySQL has no
//! name for has one of ours: `computed_at_shards`, `filtered_at_shards`.

use std::fmt::Write;

use super::node::{
    AggregateMethod, Block, ChangeKind, FilterPlace, JoinMethod, Node, SetOperation, Step,
    Subquery, TableStep,
};
use super::tree::name_of;
use crate::plan::JoinKind;

/// A value of the document. Objects keep the order of their members.
#[derive(Clone, Debug)]
enum Json {
    Object(Object),
    Array(Vec<Json>),
    Text(String),
    Number(u64),
    Bool(bool),
}

#[derive(Clone, Debug, Default)]
struct Object(Vec<(&'static str, Json)>);

impl Object {
    fn push(&mut self, name: &'static str, value: impl Into<Json>) {
        self.0.push((name, value.into()));
    }
    fn text_mut(&mut self, name: &str) -> Option<&mut String> {
        self.0.iter_mut().find_map(|(own, value)| match value {
            Json::Text(text) if *own == name => Some(text),
            _ => None,
        })
    }
}

impl From<Object> for Json {
    fn from(object: Object) -> Json {
        Json::Object(object)
    }
}
impl From<Vec<Json>> for Json {
    fn from(values: Vec<Json>) -> Json {
        Json::Array(values)
    }
}
impl From<&[String]> for Json {
    fn from(texts: &[String]) -> Json {
        Json::Array(texts.iter().map(|text| Json::Text(text.clone())).collect())
    }
}
impl From<&str> for Json {
    fn from(text: &str) -> Json {
        Json::Text(text.to_string())
    }
}
impl From<u64> for Json {
    fn from(number: u64) -> Json {
        Json::Number(number)
    }
}
impl From<bool> for Json {
    fn from(truth: bool) -> Json {
        Json::Bool(truth)
    }
}

/// The document of a plan.
pub fn print(block: &Block) -> String {
    let mut document = Object::default();
    document.push("query_block", query_block(block));
    let mut out = String::new();
    Json::Object(document).write(0, &mut out);
    out
}

impl Json {
    fn write(&self, depth: usize, out: &mut String) {
        match self {
            Json::Object(Object(members)) => {
                let count = members.len();
                let mut members = members.iter();
                write_list(('{', '}'), depth, count, out, &mut |out| {
                    let (name, value) = members.next().expect("one for each call");
                    let _ = write!(out, "\"{name}\": ");
                    value.write(depth + 1, out);
                });
            }
            Json::Array(values) => {
                let count = values.len();
                let mut values = values.iter();
                write_list(('[', ']'), depth, count, out, &mut |out| {
                    values.next().expect("one for each call").write(depth + 1, out);
                });
            }
            Json::Text(text) => write_text(text, out),
            Json::Number(number) => {
                let _ = write!(out, "{number}");
            }
            Json::Bool(truth) => {
                let _ = write!(out, "{truth}");
            }
        }
    }
}

/// The items of an object or array, each on its line.
fn write_list(
    (open, close): (char, char),
    depth: usize,
    count: usize,
    out: &mut String,
    item: &mut dyn FnMut(&mut String),
) {
    let indent = |depth: usize, out: &mut String| {
        out.push('\n');
        (0..depth).for_each(|_| out.push_str("  "));
    };
    out.push(open);
    for index in 0..count {
        out.push_str(if index == 0 { "" } else { "," });
        indent(depth + 1, out);
        item(out);
    }
    if 0 < count {
        indent(depth, out);
    }
    out.push(close);
}

fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            letter if letter < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(letter));
            }
            letter => out.push(letter),
        }
    }
    out.push('"');
}

fn query_block(block: &Block) -> Object {
    let mut object = Object::default();
    object.push("select_id", block.number);
    put_block(block, &mut object);
    object
}

/// The members of a query's object.
fn put_block(block: &Block, object: &mut Object) {
    put_node(&block.root, object);
    put_subqueries("select_list_subqueries", &block.projections, object);
}

fn put_subqueries(name: &'static str, subqueries: &[Subquery], object: &mut Object) {
    if subqueries.is_empty() {
        return;
    }
    let list = subqueries.iter().map(|subquery| {
        let mut own = Object::default();
        own.push("dependent", subquery.is_dependent);
        own.push("cacheable", !subquery.is_dependent);
        own.push("query_block", query_block(&subquery.block));
        Json::Object(own)
    });
    let list: Vec<Json> = list.collect();
    match object.0.iter_mut().find(|(own, _)| *own == name) {
        Some((_, Json::Array(known))) => known.extend(list),
        _ => object.push(name, list),
    }
}

/// Adds what a step and its inputs are to the object of their query.
fn put_node(node: &Node, object: &mut Object) {
    let input = node.inputs.first();
    match &node.step {
        Step::Limit { .. } => put_inputs(node, object),
        Step::Sort { .. } => {
            let mut operation = Object::default();
            operation.push("using_filesort", true);
            put_inputs(node, &mut operation);
            object.push("ordering_operation", operation);
        }
        Step::Distinct => {
            let mut operation = Object::default();
            operation.push("using_temporary_table", true);
            operation.push("using_filesort", false);
            put_inputs(node, &mut operation);
            object.push("duplicates_removal", operation);
        }
        Step::Filter { condition, place: FilterPlace::Having } => {
            put_inputs(node, object);
            object.push("having_condition", condition.as_str());
            put_subqueries("having_subqueries", &node.subqueries, object);
        }
        Step::Window { .. } => {
            let mut windows: Vec<Json> = Vec::new();
            let mut own = node;
            while let Step::Window { names, keys, .. } = &own.step {
                let mut window = Object::default();
                window.push("name", "<unnamed window>");
                window.push("using_filesort", !keys.is_empty());
                if !keys.is_empty() {
                    window.push("filesort_key", keys.as_slice());
                }
                window.push("functions", names.as_slice());
                windows.insert(0, window.into());
                own = &own.inputs[0];
                // The sort is the window's own.
                if let (Step::Sort { .. }, false) = (&own.step, keys.is_empty()) {
                    own = &own.inputs[0];
                }
            }
            let mut windowing = Object::default();
            windowing.push("windows", windows);
            put_node(own, &mut windowing);
            object.push("windowing", windowing);
        }
        Step::Aggregate { method: AggregateMethod::Shards, .. } => put_inputs(node, object),
        Step::Aggregate { method, groups, .. } => {
            let is_at_shards = *method == AggregateMethod::Merge;
            if groups.is_empty() && !is_at_shards {
                return put_inputs(node, object);
            }
            let mut operation = Object::default();
            operation.push("using_temporary_table", !groups.is_empty());
            operation.push("using_filesort", false);
            if is_at_shards {
                operation.push("computed_at_shards", true);
            }
            put_inputs(node, &mut operation);
            object.push("grouping_operation", operation);
        }
        Step::Rows => {
            object.push("message", "No tables used");
            put_subqueries("select_list_subqueries", &node.subqueries, object);
        }
        Step::NoRows => object.push("message", "Impossible WHERE"),
        Step::Set { operation, is_distinct } => {
            let name = match operation {
                SetOperation::Union => "union_result",
                SetOperation::Intersect => "intersect_result",
                SetOperation::Except => "except_result",
            };
            object.push(name, set_result(node, *operation, *is_distinct));
        }
        Step::Change { kind, tables, .. } => put_change(node, *kind, tables, object),
        // A condition of a query without tables.
        Step::Filter { condition, .. }
            if input.is_some_and(|input| {
                matches!(input.step, Step::Rows | Step::NoRows | Step::Set { .. })
            }) =>
        {
            put_inputs(node, object);
            object.push("attached_condition", condition.as_str());
            put_subqueries("attached_subqueries", &node.subqueries, object);
        }
        Step::Filter { .. }
        | Step::Join { .. }
        | Step::Hash
        | Step::Table(_)
        | Step::Virtual { .. }
        | Step::Derived { .. }
        | Step::Recursive { .. }
        | Step::Working { .. } => put_tables(tables_of(node), object),
    }
}

fn put_inputs(node: &Node, object: &mut Object) {
    node.inputs.iter().for_each(|input| put_node(input, object));
}

fn put_tables(mut tables: Vec<Object>, object: &mut Object) {
    if tables.len() == 1 {
        return object.push("table", tables.remove(0));
    }
    let list = tables.into_iter().map(|table| {
        let mut own = Object::default();
        own.push("table", table);
        Json::Object(own)
    });
    let list: Vec<Json> = list.collect();
    object.push("nested_loop", list);
}

fn set_result(node: &Node, operation: SetOperation, is_distinct: bool) -> Object {
    let mut result = Object::default();
    let is_append = operation == SetOperation::Union && !is_distinct;
    result.push("using_temporary_table", !is_append);
    if !is_append {
        let numbers: Vec<String> =
            node.blocks.iter().map(|block| block.number.to_string()).collect();
        let name = format!("<{}{}>", name_of(operation), numbers.join(","));
        result.push("table_name", name.as_str());
        result.push("access_type", "ALL");
    }
    let mut specifications: Vec<Json> = Vec::new();
    for input in &node.inputs {
        let mut own = Object::default();
        put_node(input, &mut own);
        specifications.push(own.into());
    }
    specifications.extend(node.blocks.iter().map(specification));
    result.push("query_specifications", specifications);
    result
}

fn specification(block: &Block) -> Json {
    let mut own = Object::default();
    own.push("dependent", false);
    own.push("cacheable", true);
    own.push("query_block", query_block(block));
    own.into()
}

fn put_change(node: &Node, kind: ChangeKind, tables: &[String], object: &mut Object) {
    let flag = match kind {
        ChangeKind::Insert => "insert",
        ChangeKind::Replace => "replace",
        ChangeKind::Update => "update",
        ChangeKind::Delete => "delete",
    };
    if matches!(kind, ChangeKind::Insert | ChangeKind::Replace) {
        let mut table = Object::default();
        table.push(flag, true);
        table.push("table_name", tables.first().map_or("", String::as_str));
        table.push("access_type", "ALL");
        object.push("table", table);
        for block in &node.blocks {
            let mut from = Object::default();
            put_block(block, &mut from);
            object.push("insert_from", from);
        }
    } else {
        let mut own = Object::default();
        node.inputs.iter().for_each(|input| put_node(input, &mut own));
        node.blocks.iter().for_each(|block| put_block(block, &mut own));
        own.mark(flag, tables);
        object.0.extend(own.0);
    }
    let name = if kind == ChangeKind::Update {
        "update_value_subqueries"
    } else {
        "insert_values_subqueries"
    };
    put_subqueries(name, &node.subqueries, object);
}

impl Object {
    /// Sets a flag of the tables that a statement changes, before their other members. Tables of subqueries are not among
    /// them.
    fn mark(&mut self, flag: &'static str, tables: &[String]) {
        let is_changed = |table: &Object| {
            table.0.iter().any(|(name, value)| match value {
                Json::Text(text) => *name == "table_name" && tables.contains(text),
                _ => false,
            })
        };
        for (name, value) in &mut self.0 {
            match (*name, value) {
                ("table", Json::Object(table)) if is_changed(table) => {
                    table.0.insert(0, (flag, true.into()));
                }
                ("nested_loop", Json::Array(steps)) => {
                    for step in steps {
                        if let Json::Object(step) = step {
                            step.mark(flag, tables);
                        }
                    }
                }
                ("ordering_operation", Json::Object(operation)) => operation.mark(flag, tables),
                _ => {}
            }
        }
    }
}

/// The tables of a join in the order in which they are read.
fn tables_of(node: &Node) -> Vec<Object> {
    match &node.step {
        Step::Filter { condition, place } => {
            let mut tables = node.inputs.first().map(tables_of).unwrap_or_default();
            if let Some(table) = tables.last_mut() {
                attach(table, condition, &node.subqueries);
                if *place == FilterPlace::Shards {
                    table.push("filtered_at_shards", true);
                }
            }
            tables
        }
        Step::Join { kind, method, keys, condition } => {
            let [left, right] = node.inputs.as_slice() else { return Vec::new() };
            let mut tables = tables_of(left);
            let mut joined = tables_of(right);
            if let (Some(first), JoinMethod::Hash) = (joined.first_mut(), method) {
                first.push("using_join_buffer", "hash join");
            }
            let outer = tables.last_mut().and_then(|table| table.text_mut("table_name").cloned());
            match (joined.last_mut(), kind) {
                (Some(last), JoinKind::Semi) => {
                    last.push("first_match", outer.unwrap_or_default().as_str());
                }
                (Some(last), JoinKind::Anti) => last.push("not_exists", true),
                (_, JoinKind::Inner | JoinKind::Left) | (None, _) => {}
            }
            let terms: Vec<&str> =
                keys.iter().chain(condition.as_ref()).map(String::as_str).collect();
            if let Some(last) = joined.last_mut()
                && !terms.is_empty()
            {
                let condition = match terms.as_slice() {
                    [term] => (*term).to_string(),
                    terms => format!("({})", terms.join(" and ")),
                };
                attach(last, &condition, &node.subqueries);
            }
            tables.append(&mut joined);
            tables
        }
        Step::Hash => node.inputs.first().map(tables_of).unwrap_or_default(),
        Step::Table(table) => vec![table_object(table, node.rows)],
        Step::Virtual { name } => vec![made_table(name)],
        Step::Working { name } => {
            let mut table = made_table(name);
            table.push("recursive", true);
            vec![table]
        }
        Step::Derived { name, outer, .. } => {
            let mut table = made_table(name);
            let mut query = Object::default();
            query.push("using_temporary_table", true);
            query.push("dependent", !outer.is_empty());
            query.push("cacheable", outer.is_empty());
            if let Some(block) = node.blocks.first() {
                query.push("query_block", query_block(block));
            }
            table.push("materialized_from_subquery", query);
            vec![table]
        }
        Step::Recursive { name, is_distinct } => {
            let mut table = made_table(name);
            let mut query = Object::default();
            query.push("using_temporary_table", true);
            query.push("dependent", false);
            query.push("cacheable", true);
            let mut inner = Object::default();
            inner.push("union_result", set_result(node, SetOperation::Union, *is_distinct));
            query.push("query_block", inner);
            table.push("materialized_from_subquery", query);
            vec![table]
        }
        // Rows, or none, as a member of a join.
        _ => {
            let mut table = Object::default();
            put_node(node, &mut table);
            vec![table]
        }
    }
}

/// Adds a condition to those of a table.
fn attach(table: &mut Object, condition: &str, subqueries: &[Subquery]) {
    match table.text_mut("attached_condition") {
        Some(known) => *known = format!("({known} and {condition})"),
        None => table.push("attached_condition", condition),
    }
    put_subqueries("attached_subqueries", subqueries, table);
}

fn made_table(name: &str) -> Object {
    let mut table = Object::default();
    table.push("table_name", name);
    table.push("access_type", "ALL");
    table
}

fn table_object(step: &TableStep, rows: Option<u64>) -> Object {
    let mut table = Object::default();
    table.push("table_name", step.name.as_str());
    if let Some(partitions) = &step.partitions {
        table.push("partitions", partitions.as_slice());
    }
    table.push("access_type", step.access_type);
    if !step.possible_keys.is_empty() {
        table.push("possible_keys", step.possible_keys.as_slice());
    }
    if let Some(key) = &step.key {
        table.push("key", key.as_str());
        table.push("used_key_parts", step.used_key_parts.as_slice());
    }
    if let Some(length) = step.key_length {
        table.push("key_length", length.to_string().as_str());
    }
    if !step.references.is_empty() {
        table.push("ref", step.references.as_slice());
    }
    if let Some(rows) = rows {
        table.push("rows_examined_per_scan", rows);
    }
    if step.is_reverse {
        table.push("backward_index_scan", true);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped() {
        let mut object = Object::default();
        object.push("a", "quote \" backslash \\ line\n tab\t \u{1} ü");
        object.push("b", Vec::<Json>::new());
        object.push("c", vec![Json::Number(1), Json::Bool(true)]);
        let mut out = String::new();
        Json::Object(object).write(0, &mut out);
        let expected = "{\n  \"a\": \"quote \\\" backslash \\\\ line\\n tab\\t \\u0001 ü\",\n  \
                        \"b\": [],\n  \"c\": [\n    1,\n    true\n  ]\n}";
        assert_eq!(out, expected);
    }
}
