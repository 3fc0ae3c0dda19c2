//! Joins under ORDER BY and LIMIT: the rows are the same whether they come in the order of an index, and only as many of them
//! as are needed, or all of them are sorted. An expression in ORDER BY keeps an index from delivering the order.

use sim::options::Shape;
use sim::random::Random;
use sim::statements::in_world;
use sql::Session;
use sql::script::{Answer, run};

const STACK_SIZE: usize = 16 << 20;
/// Queries of a world.
const QUERY_COUNT: usize = 150;

async fn must(session: &mut Session, text: &str) -> Answer {
    let answer = run(session, text).await;
    assert!(answer.error.is_none(), "{text}: {:?}", answer.error);
    answer
}

/// Three tables whose columns have few values, many, and NULL.
async fn fill(session: &mut Session, random: &mut Random) {
    must(session, "CREATE DATABASE test").await;
    must(session, "USE test").await;
    for table in ["a", "b", "c"] {
        let create = format!(
            "CREATE TABLE {table} (id INT PRIMARY KEY, k INT, v INT NOT NULL, w INT NOT NULL, KEY (k), KEY (v, w DESC))"
        );
        must(session, &create).await;
        let count = 1 + random.below(120);
        for id in 0..count {
            let k = match random.below(8) {
                0 => "NULL".to_string(),
                _ => random.below(20).to_string(),
            };
            let (v, w) = (random.below(5), random.below(1000));
            must(session, &format!("INSERT INTO {table} VALUES ({id}, {k}, {v}, {w})")).await;
        }
    }
}

struct Query {
    from: String,
    filter: String,
    limit: String,
    order: Vec<(&'static str, bool)>,
}

impl Query {
    fn of(random: &mut Random) -> Query {
        let pick = |random: &mut Random, some: &[&'static str]| *random.pick(some);
        let kind = |random: &mut Random| pick(random, &["JOIN", "LEFT JOIN", "STRAIGHT_JOIN"]);
        let on = |random: &mut Random, left: &str, right: &str| {
            let column = pick(random, &["id", "k", "v"]);
            let other = pick(random, &["id", "k"]);
            format!("{right}.{other} = {left}.{column}")
        };
        let mut from = format!("a {} b ON {}", kind(random), on(random, "a", "b"));
        if random.below(2) == 0 {
            let left = pick(random, &["a", "b"]);
            from += &format!(" {} c ON {}", kind(random), on(random, left, "c"));
        }
        let filter = pick(
            random,
            &["TRUE", "TRUE", "a.v = 2", "a.k IN (3, 1, 5, 9)", "a.id > 7", "b.v < 3", "a.w < b.w"],
        );
        let order = pick(random, &["id", "k", "v", "vw"]);
        let descending = random.below(2) == 0;
        let order = match order {
            "id" => vec![("a.id", descending)],
            "k" => vec![("a.k", descending), ("a.id", descending)],
            "v" => vec![("a.v", descending), ("a.w", !descending), ("a.id", descending)],
            _ => vec![("a.v", false), ("a.id", false)],
        };
        let (count, offset) = (random.below(12), random.below(9));
        let limit = match random.below(3) {
            0 => format!("{offset}, {count}"),
            1 => "100000".to_string(),
            _ => count.to_string(),
        };
        Query { from, filter: filter.to_string(), limit, order }
    }

    /// `around`: what stands around each column of ORDER BY.
    fn text(&self, around: [&str; 2], lock: &str) -> String {
        let Query { from, filter, limit, order } = self;
        let order = order.iter().map(|(column, descending)| {
            let direction = if *descending { " DESC" } else { "" };
            format!("{}{column}{}{direction}", around[0], around[1])
        });
        let order = order.collect::<Vec<String>>().join(", ");
        format!(
            "SELECT a.id, a.k, a.v FROM {from} WHERE {filter} ORDER BY {order} LIMIT {limit}{lock}"
        )
    }
}

async fn compare(mut session: Session, seed: u64) -> Result<String, String> {
    let mut random = Random::new(seed);
    fill(&mut session, &mut random).await;
    // The counts of rows are old by then.
    must(&mut session, "SELECT SLEEP(11)").await;
    let mut ordered = 0;
    for _ in 0..QUERY_COUNT {
        let query = Query::of(&mut random);
        let sorted = must(&mut session, &query.text(["(", " + 0)"], "")).await;
        for lock in ["", " FOR UPDATE", " FOR SHARE OF a SKIP LOCKED"] {
            let text = query.text(["", ""], lock);
            let plan = must(&mut session, &format!("EXPLAIN {text}")).await;
            ordered += usize::from(!plan.rows.concat().concat().contains("filesort"));
            let answer = must(&mut session, &text).await;
            if answer.rows != sorted.rows {
                return Err(format!(
                    "{text}: {:?}, sorted {:?}\n{:?}",
                    answer.rows, sorted.rows, plan.rows
                ));
            }
        }
    }
    Ok(ordered.to_string())
}

#[test]
fn rows_do_not_depend_on_the_order_of_an_index() {
    let mut ordered = 0;
    for (seed, shape) in
        [(1, Shape::Pair), (2, Shape::TwoGroups), (3, Shape::Pair), (4, Shape::TwoGroups)]
    {
        let thread = std::thread::Builder::new().stack_size(STACK_SIZE);
        let work = move || in_world(shape, seed, move |session| compare(session, seed));
        let outcome = thread.spawn(work).expect("a thread").join().expect("no panic");
        ordered += outcome
            .unwrap_or_else(|problem| panic!("seed {seed}: {problem}"))
            .parse::<usize>()
            .expect("a number");
    }
    assert!(QUERY_COUNT < ordered, "{ordered} plans have the order of an index");
}
