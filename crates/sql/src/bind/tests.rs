//! The binder on tables that no cluster holds: which path a statement takes, what is shipped, what is refused.

use std::sync::Arc;

use types::expr::{EvalContext, eval};
use types::wire::Wire;
use types::{Catalogue, SqlMode, Value};

use super::Binder;
use crate::check::catalogue::{NoSession, environment};
use crate::parser::parse_one;
use crate::plan::{AccessPlan, ParamKind, PathKind, Plan, PlanKind, Slot, Source};
use crate::{SqlError, check};

fn catalogue(creates: &[&str]) -> Arc<Catalogue> {
    check::catalogue::catalogue(creates).unwrap_or_else(|error| panic!("{error}: {creates:?}"))
}

fn tables() -> Arc<Catalogue> {
    catalogue(&[
        "create table t (id int primary key, k int not null, c char(20), v varchar(10), d decimal(8,2), \
         x int, y int, key k (k), unique key v (v), key xy (x, y desc), key c5 (c(5)))",
        "create table p (a int, b int, s varchar(10), n int, primary key (a, b), unique key n (n))",
        "create table h (a int, key (a))",
        "create table u (id int primary key, v int, at timestamp default now() on update now())",
    ])
}

fn bind(catalogue: &Arc<Catalogue>, sql: &str, kinds: &[ParamKind]) -> Result<Plan, SqlError> {
    let (statement, _) = parse_one(sql.as_bytes(), SqlMode::default()).map_err(SqlError::from)?;
    let environment = environment();
    Binder::new(catalogue, &environment, &NoSession, kinds).plan(&statement)
}

/// A path in a line: "index kind equal-parts [range] [reverse] [ordered] [filter]".
fn described(table: &types::Table, access: &AccessPlan) -> String {
    let path = &access.path;
    let kind = match path.kind {
        PathKind::PrimaryKey => "keys",
        PathKind::UniqueKey => "entries",
        PathKind::Range if path.equal.is_empty() && !path.is_ranged() => "all",
        PathKind::Range => "range",
    };
    let mut line = format!("{} {kind} {}", table.indexes[path.index].name, path.equal.len());
    for (holds, word) in [
        (path.is_ranged(), " bounded"),
        (path.reverse, " reverse"),
        (access.delivers_order, " ordered"),
        (access.residual.is_some(), " filter"),
        (access.local_filter.is_some(), " local"),
    ] {
        if holds {
            line.push_str(word);
        }
    }
    line
}

fn path(catalogue: &Arc<Catalogue>, sql: &str) -> String {
    let plan =
        bind(catalogue, sql, &[ParamKind::Unknown; 3]).unwrap_or_else(|e| panic!("{sql}: {e}"));
    match &plan.kind {
        PlanKind::Select(select) => match &select.source {
            Source::Table(source) => described(&source.table, &source.access),
            other => panic!("{sql}: {other:?}"),
        },
        PlanKind::Update(update) => described(&update.target.table, &update.target.access),
        PlanKind::Delete(delete) => described(&delete.target.table, &delete.target.access),
        other => panic!("{sql} has no single path: {other:?}"),
    }
}

#[test]
fn paths() {
    let catalogue = tables();
    for (sql, wanted) in [
        // Primary key.
        ("select * from t where id = 5", "PRIMARY keys 1"),
        ("select * from t where 5 = id", "PRIMARY keys 1"),
        ("select * from t where id = ?", "PRIMARY keys 1"),
        ("select * from t where id = 1 + ?", "PRIMARY keys 1"),
        ("select * from t where id = 5 and k = 1", "PRIMARY keys 1 filter"),
        ("select * from t where id in (1, 2, 3)", "PRIMARY keys 1"),
        ("select * from t where id = 1 or id = 2 or id in (3, 4)", "PRIMARY keys 1"),
        ("select * from t where id = 1 or k = 2", "PRIMARY all 0 filter"),
        ("select * from t where id > 5", "PRIMARY range 0 bounded"),
        ("select * from t where id > 5 and id <= 9", "PRIMARY range 0 bounded"),
        ("select * from t where id between ? and ?", "PRIMARY range 0 bounded"),
        (
            "select * from t where id between 1 and 2 or id between 7 and 9",
            "PRIMARY range 0 bounded",
        ),
        (
            "select * from t where id > 7 or id = 3 or (id > 4 and id < 6)",
            "PRIMARY range 0 bounded",
        ),
        ("select * from t where id > 7 or k < 3", "PRIMARY all 0 filter"),
        ("select * from t where id > 7 or (id > 4 and k < 6)", "PRIMARY range 0 bounded filter"),
        ("select * from t where id = 1 or (id = 4 and k in (7))", "PRIMARY keys 1 filter"),
        ("select * from t where id = 1 or (id = 4 and id in (7))", "PRIMARY keys 1 filter"),
        ("select * from t where (x = 1 and y = 2) or (x = 3 and y = 4)", "xy range 2 filter"),
        ("select * from t where (k > 1 and k < 4) or k = 9 or k in (7, 8)", "k range 0 bounded"),
        ("select * from t where id not between 1 and 2", "PRIMARY all 0 filter"),
        ("select * from t where id <> 5", "PRIMARY all 0 filter"),
        ("select * from t where id + 0 = 5", "PRIMARY all 0 filter"),
        ("select * from t where id = k", "PRIMARY all 0 filter"),
        ("select * from t where id = 5 and id = 6", "PRIMARY keys 1 filter"),
        ("select * from t", "PRIMARY all 0"),
        ("select * from p where a = 1 and b = 2", "PRIMARY keys 2"),
        ("select * from p where (a, b) = (1, 2)", "PRIMARY keys 2"),
        ("select * from p where a = 1 and b > 2", "PRIMARY range 1 bounded"),
        ("select * from p where a = 1", "PRIMARY range 1"),
        ("select * from p where b = 1", "PRIMARY all 0 filter"),
        ("select * from p where a in (1, 2) and b in (3, 4)", "PRIMARY keys 2"),
        // Other keys.
        ("select * from t where k = 5", "k range 1"),
        ("select * from t where k = 5 and id > 3", "k range 1 filter"),
        ("select * from t where v = 'x'", "v entries 1"),
        ("select * from t where v in ('x', 'y')", "v entries 1"),
        ("select * from t where v is null", "v range 1"),
        ("select * from t where v <=> 'x'", "v range 1"),
        ("select * from t where v > 'x'", "v range 0 bounded"),
        ("select * from t where v = 'x' and id = 1", "PRIMARY keys 1 filter"),
        ("select * from t where x = 1 and y < 5", "xy range 1 bounded"),
        ("select * from t where x = 1 and k = 2 and y = 3", "xy range 2 filter"),
        ("select * from t where c = 'abcdefgh'", "c5 range 1 filter"),
        ("select * from t where v = 'x' collate utf8mb4_bin", "PRIMARY all 0 filter"),
        ("select * from h where a = 1", "a range 1"),
        ("select * from h", "PRIMARY all 0"),
        // Order.
        ("select * from t order by id", "PRIMARY all 0 ordered"),
        ("select * from t order by id desc", "PRIMARY all 0 reverse ordered"),
        ("select * from t order by k", "k all 0 ordered"),
        ("select * from t order by k, id", "k all 0 ordered"),
        ("select * from t order by k, id desc", "PRIMARY all 0"),
        ("select * from t order by x, y desc", "xy all 0 ordered"),
        ("select * from t order by x desc, y", "xy all 0 reverse ordered"),
        ("select * from t order by x, y", "PRIMARY all 0"),
        ("select * from t where x = 1 order by y", "xy range 1 reverse ordered"),
        ("select * from t where k = 1 order by id", "k range 1 ordered"),
        ("select * from t where k = 1 order by k, id limit 1", "k range 1 ordered"),
        ("select * from t where k > 1 order by k desc", "k range 0 bounded reverse ordered"),
        ("select * from t where k > 1 order by id limit 1", "k range 0 bounded"),
        ("select * from t where id = 1 order by c", "PRIMARY keys 1 ordered"),
        ("select * from t where id in (1, 2) order by id", "PRIMARY keys 1 ordered"),
        (
            "select * from t where id in (1, 2) order by id desc, v",
            "PRIMARY keys 1 reverse ordered",
        ),
        ("select * from t where id in (1, 2) order by v, id", "PRIMARY keys 1"),
        (
            "select * from p where a in (1, 2) and b in (3, 4) order by a, b",
            "PRIMARY keys 2 ordered",
        ),
        ("select * from p where a in (1, 2) and b in (3, 4) order by b, a", "PRIMARY keys 2"),
        ("select * from p where a in (1, 2) and b in (3, 4) order by a", "PRIMARY keys 2 ordered"),
        ("select * from p where a in (1, 2) and b = 3 order by b, a", "PRIMARY keys 2 ordered"),
        (
            "select * from p where a = 1 and b in (3, 4) order by b desc",
            "PRIMARY keys 2 reverse ordered",
        ),
        ("select * from t where v in ('x', 'y') order by v", "v entries 1"),
        ("select * from t order by c", "PRIMARY all 0"),
        ("select * from t order by k + 1", "PRIMARY all 0"),
        ("select k from t order by 1", "k all 0 ordered"),
        ("select k as z from t order by z", "k all 0 ordered"),
        // Hints.
        ("select * from t ignore index (k) where k = 5", "PRIMARY all 0 filter"),
        ("select * from t use index (xy) where k = 5 and x = 1", "xy range 1 filter"),
        // Local terms stay in the session.
        ("select * from t where id = 5 and rand() < 1", "PRIMARY keys 1 local"),
        // Changes.
        ("update t set c = 'x' where id = 5", "PRIMARY keys 1"),
        ("delete from t where k = 5 order by id limit 3", "k range 1 ordered"),
        ("delete from t where x = 5 limit 3", "xy range 1"),
    ] {
        assert_eq!(path(&catalogue, sql), wanted, "{sql}");
    }
}

/// The hot paths are one operation; whatever the row's shard cannot decide alone is not.
#[test]
fn shipped_changes() {
    let catalogue = tables();
    for (sql, wanted) in [
        ("update t set c = 'x' where id = 5", true),
        ("update t set k = k + 1 where id = 5", true),
        ("update t set c = ?, k = ? where id = ?", true),
        ("update t set c = 'x' where id = 5 and k = 3", true),
        ("update t set c = 'x' where id in (1, 2)", true),
        ("update t set c = now() where id = 5", true),
        ("update t set c = default where id = 5", false),
        ("update t set v = 'x' where id = 5", false),
        ("update t set id = 6 where id = 5", false),
        ("update t set c = rand() where id = 5", false),
        ("update t set k = last_insert_id(k + 1) where id = 5", false),
        ("update t set c = 'x' where k = 5", false),
        ("update t set c = 'x' where id = 5 limit 1", false),
        ("update u set v = 1 where id = 5", false),
    ] {
        let plan = bind(&catalogue, sql, &[ParamKind::Unknown; 3]).expect(sql);
        let PlanKind::Update(update) = &plan.kind else { panic!("{sql}") };
        assert_eq!(update.shipped.is_some(), wanted, "{sql}");
    }
    for (sql, wanted) in [
        ("delete from u where id = 5", true),
        ("delete from u where id = 5 and v = 1", true),
        ("delete from u where v = 5", false),
        // A unique key's entry goes with the row, which must be read for it.
        ("delete from t where id = 5", false),
    ] {
        let plan = bind(&catalogue, sql, &[]).expect(sql);
        let PlanKind::Delete(delete) = &plan.kind else { panic!("{sql}") };
        assert_eq!(delete.shipped, wanted, "{sql}");
    }
}

/// Point selects read their columns only and evaluate nothing; groups are made where the rows are.
#[test]
fn shipped_selects() {
    let catalogue = tables();
    let select = |sql: &str| {
        let plan = bind(&catalogue, sql, &[ParamKind::Unknown; 2]).expect(sql);
        let PlanKind::Select(select) = plan.kind else { panic!("{sql}") };
        *select
    };
    let point = select("select c, k from t where id = ?");
    assert_eq!(point.simple_columns, Some(vec![1, 0]));
    let Source::Table(source) = &point.source else { panic!("a table") };
    assert_eq!(source.columns, vec![1, 2], "in the table's order, not the key, which is given");
    assert!(!source.whole_rows);
    let Source::Table(source) = select("select * from t where id = 1").source else { panic!() };
    assert!(source.whole_rows);
    assert!(select("select c, k + 1 from t").simple_columns.is_none());
    assert!(select("select at from u").has_timestamps);
    assert!(select("select sum(k) from t where x > 1").grouping.expect("groups").shipped);
    assert!(select("select x, count(*) from t group by x").grouping.expect("groups").shipped);
    let local = select("select count(*) from t where rand() < 1");
    assert!(!local.grouping.expect("groups").shipped);
}

/// A plan is shared only if nothing of the moment is built in, and says when it depends on its parameters' kinds.
#[test]
fn reuse() {
    let catalogue = tables();
    for (sql, reusable, by_kind) in [
        ("select * from t where id = ?", true, false),
        ("select c from t where id = ? and k > ?", true, false),
        ("insert into t (id, k) values (?, ?)", true, false),
        ("select now() from t where id = ?", true, false),
        ("select ? + 1", true, true),
        ("select k + ? from t", true, true),
        ("select @a", false, false),
        ("select * from t where id = @a", false, false),
        ("select connection_id()", false, false),
    ] {
        let plan = bind(&catalogue, sql, &[ParamKind::Int; 2]).expect(sql);
        assert_eq!((plan.reusable, plan.param_kinds.is_some()), (reusable, by_kind), "{sql}");
    }
}

#[test]
fn refusals() {
    let catalogue = tables();
    for (sql, code) in [
        ("select nosuch from t", 1054),
        ("select t.nosuch from t", 1054),
        ("select x.id from t", 1054),
        ("select id from t where sum(k) = 1", 1111),
        ("select sum(sum(k)) from t", 1111),
        ("select k, count(*) from t", 1140),
        ("select k, c from t group by k", 1055),
        ("select k from t group by sum(k)", 1111),
        ("select id from t order by 7", 1054),
        ("select * from nosuch", 1146),
        ("select * from nosuch.t", 1049),
        ("select *", 1096),
        ("select nosuch.* from t", 1051),
        ("select (1, 2)", 1241),
        ("select (1, 2) = (1, 2, 3)", 1241),
        ("select 1 in ((1, 2))", 1241),
        ("insert into t (id, id) values (1, 2)", 1110),
        ("insert into t (nosuch) values (1)", 1054),
        ("insert into t (id, k) values (1)", 1136),
        ("insert into t values (1, 2)", 1136),
        ("insert into p select 1, 2", 1136),
        ("update t set nosuch = 1", 1054),
        ("delete from nosuch", 1146),
        ("select c = v from t where v collate nosuch = 'x'", 1273),
        ("select cast('x' as decimal(70))", 1426),
        ("select nosuch(1)", 1305),
        ("select ifnull(1)", 1582),
        ("select id from t limit 'x'", 1064),
        ("select * from t, t", 1066),
        ("select id from t, t as u", 1052),
        ("select t.id from t join p on t.id = p.nosuch", 1054),
        ("select * from (select 1)", 1248),
        ("select * from (select 1, 1) as d", 1060),
        ("select 1 union select 1, 2", 1222),
        ("select 1 in (select 1, 2)", 1241),
        ("select (select id, k from t)", 1241),
        ("update t set k = (select max(k) from t)", 1093),
        ("select if(1, sleep(1), 2)", 1235),
    ] {
        let error = bind(&catalogue, sql, &[]).expect_err(sql);
        assert_eq!(error.code, code, "{sql}: {error}");
    }
}

/// Clients are told the width that is written behind an integer type, through CREATE TABLE ... SELECT too: they take
/// TINYINT(1) for a boolean.
#[test]
fn widths_of_integers() {
    let catalogue = catalogue(&[
        "create table q (a boolean, b tinyint(1), c tinyint, d int(5), e int, f bigint(0) unsigned, g tinyint(1) unsigned)",
    ]);
    let lengths = |plan: &Plan| {
        plan.columns().iter().map(|info| (info.name.clone(), info.length)).collect::<Vec<_>>()
    };
    let plan = bind(&catalogue, "select a, b, c, d, e, f, g from q", &[]).expect("bound");
    let wanted = [("a", 1), ("b", 1), ("c", 4), ("d", 5), ("e", 11), ("f", 20), ("g", 1)];
    assert_eq!(lengths(&plan), wanted.map(|(name, length)| (name.to_string(), length)));
    let (statement, _) =
        parse_one(b"create table r select b as x, c, d from q", SqlMode::default())
            .expect("a statement");
    let crate::parser::ast::Statement::CreateTable(create) = statement else {
        panic!("{statement:?}")
    };
    let environment = environment();
    let query = create.as_query.as_ref().expect("it has one");
    let plan = Binder::new(&catalogue, &environment, &NoSession, &[])
        .create_select(&create, query, "test", types::Collation::default())
        .expect("bound");
    let PlanKind::Insert(insert) = &plan.kind else { panic!("{:?}", plan.kind) };
    let widths: Vec<Option<u8>> =
        insert.table.columns.iter().map(|column| column.display.width).collect();
    assert_eq!(widths, [Some(1), None, Some(5), None]);
}

/// A subquery reads by a scan, whatever keys it names: all of a statement then sees one snapshot. Its value is a constant
/// for the statement around it, and what its own rows are supplied with is not supplied with those of that statement.
#[test]
fn subqueries() {
    let catalogue = tables();
    assert_eq!(
        path(&catalogue, "select * from t where id = (select max(k) from t)"),
        "PRIMARY keys 1"
    );
    let plan = bind(&catalogue, "select (select k from t where id = 5)", &[]).expect("bound");
    let [Slot::Subquery(inner)] = plan.slots.as_slice() else { panic!("{:?}", plan.slots) };
    let Source::Table(source) = &inner.plan.source else { panic!("{:?}", inner.plan.source) };
    // Read at the statement's snapshot, like everything else.
    assert_eq!((source.access.path.kind, plan.reads_on), (PathKind::PrimaryKey, true));
    assert_eq!(plan.once, [0]);
    let plan = bind(&catalogue, "select (select k from t where sleep(k) = 0)", &[]).expect("bound");
    let PlanKind::Select(select) = &plan.kind else { panic!("{:?}", plan.kind) };
    assert_eq!(select.items[0].slots, [0u16; 0]);
    let [Slot::Sleep(_), Slot::Subquery(inner)] = plan.slots.as_slice() else {
        panic!("{:?}", plan.slots)
    };
    let Source::Table(source) = &inner.plan.source else { panic!("{:?}", inner.plan.source) };
    assert_eq!(source.access.local_filter.as_ref().map(|own| own.slots.clone()), Some(vec![0]));
}

/// What SHOW CREATE TABLE says makes the same table again.
#[test]
fn create_table_text_round_trips() {
    let first = catalogue(&[
        "create table t (id bigint unsigned auto_increment, a varchar(20) character set utf8mb4 collate utf8mb4_general_ci default 'it''s', \
         b decimal(10,3) unsigned not null default 1.5, c text, d datetime(3) default now(3) on update now(3), \
         e timestamp null, f binary(4) default 'ab', `odd ``name` int comment 'say \\'x\\'', g float, h tinyblob, \
         primary key (id), unique key (a), key two (b desc, id) using btree, key (c(12)) comment 'prefix', \
         key three using hash (id)) auto_increment = 50 row_format = compact max_rows 7 min_rows 0 comment = 'a ''table'''",
    ]);
    let table = first.table("test", "t").expect("made");
    let text = crate::show::create_table_text(table, Some(50), 0);
    for part in [
        "`id` bigint unsigned NOT NULL AUTO_INCREMENT,",
        "`a` varchar(20) CHARACTER SET utf8mb4",
        "DEFAULT 'it''s',",
        "`b` decimal(10,3) unsigned NOT NULL DEFAULT '1.500',",
        "`c` text,",
        "`d` datetime(3) DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),",
        "`e` timestamp NULL DEFAULT NULL,",
        "`f` binary(4) DEFAULT 'ab',",
        "`odd ``name` int DEFAULT NULL COMMENT 'say ''x''',",
        "`h` tinyblob,",
        "PRIMARY KEY (`id`),",
        "UNIQUE KEY `a` (`a`),",
        "KEY `two` (`b` DESC,`id`) USING BTREE,",
        "KEY `three` (`id`)",
        "KEY `c` (`c`(12)) COMMENT 'prefix'",
        "ENGINE=InnoDB AUTO_INCREMENT=50 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci MAX_ROWS=7 ROW_FORMAT=COMPACT COMMENT='a ''table'''",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    let again = catalogue(&[&text]);
    let again = again.table("test", "t").expect("made again");
    assert_eq!(crate::show::create_table_text(again, Some(50), 0), text);
}

/// The deepest statements that the parser takes go through binder, wire form and evaluation on the stack that statements
/// run on, or are refused with 1436: none overflows it.
#[test]
fn the_deepest_statements_fit_the_stack() {
    let check = || {
        let catalogue = tables();
        let row = vec![Value::Null; 8];
        for (open, middle, close) in [
            ("(", "1", ")"),
            ("if(0, 1, ", "7", ")"),
            ("if(id, 1.5, ", "7", ")"),
            ("coalesce(null, ", "v", ")"),
            ("concat('a', ", "v", ")"),
            ("case when 1 then ", "1", " end"),
            ("case id when ", "1", " then 1 end"),
            ("cast(", "1", " as char)"),
            ("id = 0 or (", "id = 2", ")"),
            ("id = 0 or x and (", "id = 2", ")"),
            ("not (", "id", ")"),
            ("- (", "id", ")"),
            ("1 + (", "id", ")"),
            ("1 + ", "id", ""),
            ("id in (1, ", "2", ")"),
            ("id between 1 and (", "2", ")"),
            ("v like (", "'a'", ")"),
            ("id = (", "2", ")"),
            ("date_add('2024-01-01', interval (", "1", ") day)"),
        ] {
            let sql = |depth: usize| {
                format!("select {}{middle}{} from t", open.repeat(depth), close.repeat(depth))
            };
            let mut depth = 800;
            while parse_one(sql(depth).as_bytes(), SqlMode::default()).is_err() {
                depth -= 1;
            }
            assert!(200 <= depth, "{open}: {depth}");
            let plan = match bind(&catalogue, &sql(depth), &[]) {
                Ok(plan) => plan,
                Err(error) => {
                    assert_eq!(error.code, 1436, "{open}: {}", error.message);
                    continue;
                }
            };
            let PlanKind::Select(select) = &plan.kind else { panic!("{open}") };
            let expr = &select.items[0].expr;
            let back = types::Expr::from_bytes(&expr.to_bytes()).expect("within the wire's depth");
            let mut context = EvalContext::new(&[]);
            eval(&back, &row, &mut context).unwrap_or_else(|error| panic!("{open}: {error}"));
            drop(plan);
        }
    };
    let stack = crate::parser::limits::STACK_SIZE;
    let thread = std::thread::Builder::new().stack_size(stack).spawn(check).expect("a thread");
    thread.join().expect("no overflow");
}
