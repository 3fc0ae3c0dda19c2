//! Plans of text statements, by digest.
//!
//! Clients that do not prepare send the same statements with other literals. The digest of a text (its hash without the
//! literals) finds the plan; the literals become its parameters. One cache a worker, behind a lock that only that worker
//! takes in normal running. An entry holds for one environment (database, SQL mode, collation) and one catalogue version;
//! whatever else does not match is a miss, and the new plan takes the place.
//!
//! The cache keeps at most [`PLAN_COUNT_MAX`] plans in two generations: a look-up moves a plan into the young one, and when
//! the young one is full it becomes the old one and the old one is dropped. That is close to least recently used, without
//! a list to keep.

use std::collections::BTreeMap;
use std::sync::Arc;

use types::SchemaVersion;

use crate::bind::Environment;
use crate::parser::ast::Literal;
use crate::parser::{Dialect, Digester};
use crate::plan::Plan;

/// Plans in both generations together. A plan is a few KiB: 1,024 are a few MiB a worker.
pub const PLAN_COUNT_MAX: usize = 1_024;

type DigestKey = (u64, u64);

struct Entry {
    environment: Arc<Environment>,
    plan: Arc<Plan>,
}

pub struct PlanCache {
    digester: Option<Digester>,
    young: BTreeMap<DigestKey, Entry>,
    old: BTreeMap<DigestKey, Entry>,
    pub hits: u64,
    pub misses: u64,
}

impl PlanCache {
    pub fn new() -> PlanCache {
        PlanCache {
            digester: None,
            young: BTreeMap::new(),
            old: BTreeMap::new(),
            hits: 0,
            misses: 0,
        }
    }

    /// The digest of the first statement of `sql`, its literals, and where the next statement begins. `seed` draws the
    /// secret key at the first call.
    pub fn digest(
        &mut self,
        sql: &[u8],
        dialect: Dialect,
        literals: &mut Vec<Literal>,
        seed: impl Fn() -> u64,
    ) -> Option<(DigestKey, usize)> {
        let digester = self.digester.get_or_insert_with(|| Digester::new((seed(), seed())));
        digester.digest_into(sql, dialect, literals)
    }

    pub fn find(
        &mut self,
        key: DigestKey,
        environment: &Arc<Environment>,
        version: SchemaVersion,
    ) -> Option<Arc<Plan>> {
        let fits = |entry: &Entry| {
            entry.plan.catalogue_version == version
                && (Arc::ptr_eq(&entry.environment, environment)
                    || entry.environment == *environment)
        };
        if let Some(entry) = self.young.get(&key) {
            if fits(entry) {
                self.hits += 1;
                return Some(entry.plan.clone());
            }
        } else if let Some(entry) = self.old.remove(&key)
            && fits(&entry)
        {
            self.hits += 1;
            let plan = entry.plan.clone();
            self.put(key, entry);
            return Some(plan);
        }
        self.misses += 1;
        None
    }

    pub fn insert(&mut self, key: DigestKey, environment: Arc<Environment>, plan: Arc<Plan>) {
        self.put(key, Entry { environment, plan });
    }

    fn put(&mut self, key: DigestKey, entry: Entry) {
        if PLAN_COUNT_MAX / 2 <= self.young.len() && !self.young.contains_key(&key) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, entry);
        assert!(self.young.len() + self.old.len() <= PLAN_COUNT_MAX);
    }

    pub fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Default for PlanCache {
    fn default() -> PlanCache {
        PlanCache::new()
    }
}

#[cfg(test)]
mod tests {
    use types::{Collation, SqlMode};

    use super::*;
    use crate::plan::{PlanKind, SelectPlan, Source};

    fn plan(version: u64) -> Arc<Plan> {
        Arc::new(Plan {
            kind: PlanKind::Select(Box::new(SelectPlan::new(
                crate::PlanColumns::new(Vec::new()),
                Source::Nothing { filter: None },
                Vec::new(),
            ))),
            param_count: 0,
            slots: Vec::new(),
            once: Vec::new(),
            reads_on: false,
            weighed: Vec::new(),
            made_micros: None,
            age_max_micros: 0,
            param_kinds: None,
            limit_sizes: Vec::new(),
            fixed_params: Vec::new(),
            ascii_params: Vec::new(),
            reusable: true,
            warnings: Vec::new(),
            catalogue_version: SchemaVersion(version),
        })
    }

    fn environment(database: &str) -> Arc<Environment> {
        Arc::new(Environment {
            database: Some(database.into()),
            sql_mode: SqlMode::default(),
            client: types::Charset::Utf8mb4,
            collation: Collation::default(),
            group_concat_length_max: 1_024,
            div_precision_increment: 4,
            time_names: types::temporal::Locale::ENGLISH,
            default_week_format: 0,
            optimizer_switch: Default::default(),
            temporary_tables: 0,
        })
    }

    /// A plan is found by digest, environment and version only; what is used stays, what is not goes.
    #[test]
    fn plans_are_found_and_forgotten() {
        let mut cache = PlanCache::new();
        let (a, b) = (environment("a"), environment("b"));
        cache.insert((1, 1), a.clone(), plan(5));
        assert!(cache.find((1, 1), &environment("a"), SchemaVersion(5)).is_some());
        assert!(cache.find((1, 1), &b, SchemaVersion(5)).is_none());
        assert!(cache.find((1, 1), &a, SchemaVersion(6)).is_none());
        for number in 0..5_000 {
            cache.insert((number, 2), a.clone(), plan(5));
            assert!(
                cache.find((1, 1), &a, SchemaVersion(5)).is_some(),
                "used often, kept: {number}"
            );
            assert!(cache.len() <= PLAN_COUNT_MAX);
        }
        assert!(cache.find((0, 2), &a, SchemaVersion(5)).is_none());
        assert!(cache.find((4_999, 2), &a, SchemaVersion(5)).is_some());
    }
}
