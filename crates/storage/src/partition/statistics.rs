//! What the planner of statements wants to know of a partition's indexes: how many values their first parts have, and where
//! quantiles of their keys are.
//!
//! Nothing is kept as rows are written, but a count of the changes of each index. When a session asks, the entries at
//! [`SAMPLE_COUNT`] places, at even distances, are looked at. An entry whose values are those of `L` entries in all stands for
//! `1 / L` of a value, so the mean of that, times the entries, is the number of values. It is exact where all values have as
//! many rows, and good where some have many and others few: those are met as often as they have rows. Values of few rows and of
//! many are told apart, because the former are likely to be in this shard alone. What the estimate cannot see are values that
//! together have less than one row in [`SAMPLE_COUNT`].
//!
//! The estimate is kept until a tenth of the index has changed, in shares of its rows.

use std::ops::Bound;

use types::key::{part_ends, prefix_successor};
use types::{IndexId, IndexKind};

use super::Partition;
use crate::tree::Tree;

/// Entries of an index that are looked at.
const SAMPLE_COUNT: usize = 64;
/// Entries of an index that are looked at in a table of many indexes of many parts: the work of all is bounded.
const SAMPLE_COUNT_MIN: usize = 8;
const SAMPLES_OF_PARTS_MAX: usize = 2_048;
/// Bytes of a sampled key that are kept.
const SAMPLED_KEY_SIZE_MAX: usize = 64;
/// An estimate holds until this part of the index has changed, and this number of entries.
const CHANGED_PART: u64 = 10;
const CHANGED_MIN: u64 = 16;
/// Rows of a rare value at most.
const RARE_ROWS_MAX: f64 = 8.0;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct IndexEstimate {
    pub index: IndexId,
    /// By number of parts, from one on.
    pub prefixes: Vec<PrefixEstimate>,
    /// Beginnings of keys, without the primary key that ends an entry: as many entries are between each two.
    pub samples: Vec<Vec<u8>>,
}

/// How many different values the first parts of an index have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrefixEstimate {
    /// Rows whose values are rare, and these values.
    pub rare_rows: u64,
    pub rare_values: u64,
    /// The other values.
    pub common_values: u64,
}

impl PrefixEstimate {
    pub fn values(&self) -> u64 {
        self.rare_values + self.common_values
    }
}

/// An estimate that is kept.
#[derive(Debug)]
pub(super) struct Kept {
    shares: Vec<PrefixShares>,
    samples: Vec<Vec<u8>>,
    /// Of the tree, when the estimate was made.
    changes: u64,
    entries: u64,
}

/// As [`PrefixEstimate`], for each row.
#[derive(Clone, Copy, Debug, Default)]
struct PrefixShares {
    rare_rows: f64,
    rare_values: f64,
    common_values: f64,
}

impl Kept {
    fn holds(&self, tree: &Tree) -> bool {
        let changed = tree.changes().wrapping_sub(self.changes);
        let changed_max = match CHANGED_MIN < self.entries {
            true => CHANGED_MIN.max(self.entries / CHANGED_PART),
            false => 0,
        };
        changed <= changed_max
    }
}

impl Partition {
    /// Estimates for all indexes that are built. `anew`: those that are kept do not count.
    pub fn statistics(&mut self, anew: bool) -> Vec<IndexEstimate> {
        let parts: usize = self.table.indexes.iter().map(|index| index.parts.len()).sum();
        let samples = (SAMPLES_OF_PARTS_MAX / parts.max(1)).clamp(SAMPLE_COUNT_MIN, SAMPLE_COUNT);
        let mut estimates = Vec::with_capacity(self.indexes.len());
        for position in 0..self.indexes.len() {
            let index = &self.indexes[position];
            if !matches!(index.build, super::Build::Done) {
                continue;
            }
            let is_kept = index.statistics.as_ref().is_some_and(|kept| kept.holds(&index.tree));
            if anew || !is_kept {
                let kept = self.sample(position, samples);
                self.indexes[position].statistics = Some(Box::new(kept));
            }
            let index = &self.indexes[position];
            let kept = index.statistics.as_ref().expect("just made");
            let is_unique = index.definition.kind != IndexKind::Ordinary;
            let part_count = index.definition.parts.len();
            let prefixes = kept.shares.iter().enumerate().map(|(number, shares)| {
                let is_whole = is_unique && number + 1 == part_count;
                shares.of_rows(self.live_count, is_whole)
            });
            estimates.push(IndexEstimate {
                index: index.definition.id,
                prefixes: prefixes.collect(),
                samples: kept.samples.clone(),
            });
        }
        estimates
    }

    fn sample(&self, position: usize, count: usize) -> Kept {
        let index = &self.indexes[position];
        let (definition, tree, heap) = (&index.definition, &index.tree, &self.heap);
        let (changes, entries) = (tree.changes(), tree.entry_count());
        let mut shares = vec![PrefixShares::default(); definition.parts.len()];
        let mut samples = Vec::new();
        let Some(outline) = tree.outline(heap).filter(|_| 0 < entries) else {
            return Kept { shares, samples, changes, entries };
        };
        let count = count.min(usize::try_from(entries).unwrap_or(usize::MAX));
        let each = 1.0 / count as f64;
        let mut key = Vec::new();
        for number in 0..count {
            let share = (number as f64 + 0.5) * each;
            tree.key_at(heap, tree.entry_at(heap, &outline, share), &mut key);
            let ends = part_ends(&self.table, definition, &key);
            for (shares, end) in shares.iter_mut().zip(&ends) {
                let prefix = &key[..*end];
                let first = tree.rank(heap, &outline, Bound::Included(prefix));
                let last = match prefix_successor(prefix) {
                    Some(behind) => tree.rank(heap, &outline, Bound::Included(&behind)),
                    None => tree.end_rank(),
                };
                shares.add(tree.entries_between(heap, first, last).max(1.0), each);
            }
            let end = ends.last().copied().unwrap_or(key.len());
            samples.push(key[..end.min(SAMPLED_KEY_SIZE_MAX)].to_vec());
        }
        samples.sort_unstable();
        Kept { shares, samples, changes, entries }
    }
}

impl PrefixShares {
    /// Adds an entry that stands for a share of all; `entries` have its values.
    fn add(&mut self, entries: f64, share: f64) {
        match entries <= RARE_ROWS_MAX {
            true => {
                self.rare_rows += share;
                self.rare_values += share / entries;
            }
            false => self.common_values += share / entries,
        }
    }

    /// `is_whole`: of all parts of a unique key.
    fn of_rows(&self, rows: u64, is_whole: bool) -> PrefixEstimate {
        if is_whole {
            return PrefixEstimate { rare_rows: rows, rare_values: rows, common_values: 0 };
        }
        let of = |share: f64| {
            let count = share * rows as f64;
            let least = if 0.0 < share { rows.min(1) } else { 0 };
            (count.round() as u64).clamp(least, rows)
        };
        PrefixEstimate {
            rare_rows: of(self.rare_rows),
            rare_values: of(self.rare_values),
            common_values: of(self.common_values),
        }
    }
}

#[cfg(test)]
mod tests {

    use types::Timestamp;

    use super::super::tests::{index, key_of_id, make_row, table};
    use super::*;
    use crate::partition::RowChange;
    use crate::pool::PagePool;
    use crate::random::Random;

    const ROWS: u64 = 20_000;

    fn put(partition: &mut Partition, ts: u64, id: i64, k: Option<i64>, s: &str) {
        let row = make_row(partition.table(), id, k, Some(s), b"");
        let key = key_of_id(partition.table(), id);
        let ts = Timestamp(ts);
        partition.apply_committed(&key, RowChange::Put(&row), ts, ts);
    }

    /// A table whose rows have these values of `k`, in random order of the primary key; with indexes (k), (k, s) and (s DESC).
    fn filled(values: impl Fn(u64, &mut Random) -> Option<i64>) -> Partition {
        let indexes = vec![
            index(1, &[(1, false)]),
            index(2, &[(1, false), (2, false)]),
            index(3, &[(2, true)]),
        ];
        let pool = PagePool::new(1 << 30);
        let mut partition = Partition::new(table(indexes), pool);
        let mut random = Random(7);
        for number in 0..ROWS {
            let id = (number.wrapping_mul(0x9e37_79b1) % (1 << 31)) as i64;
            let k = values(number, &mut random);
            put(&mut partition, number + 1, id, k, &format!("{:03}", random.below(40)));
        }
        partition
    }

    /// The number of values of the first parts of an index.
    fn distinct(partition: &mut Partition, index: u16, parts: usize) -> f64 {
        let estimates = partition.statistics(true);
        let own = estimates.iter().find(|own| own.index == IndexId(index)).expect("an index");
        own.prefixes[parts - 1].values() as f64
    }

    fn assert_near(estimate: f64, exact: f64, error_max: f64, what: &str) {
        let error = (estimate - exact).abs() / exact;
        assert!(error <= error_max, "{what}: {estimate}, exactly {exact}");
    }

    /// Values with about as many rows each: a tenth wrong at most, be they few or many.
    #[test]
    fn even_values() {
        for values in [1, 3, 10, 100, 1_000, 5_000] {
            let mut partition = filled(|number, _| Some((number % values) as i64));
            let estimate = distinct(&mut partition, 1, 1);
            assert_near(estimate, values as f64, 0.1, "values of equal rows");
        }
        let mut unique = filled(|number, _| Some(number as i64));
        assert_near(distinct(&mut unique, 1, 1), ROWS as f64, 0.01, "unique values");
        assert_near(distinct(&mut unique, 3, 1), 40.0, 0.15, "descending texts");
        assert_near(distinct(&mut unique, 0, 1), ROWS as f64, 0.0, "the primary key");
        let mut both = filled(|number, _| Some((number % 50) as i64));
        assert_near(distinct(&mut both, 2, 1), 50.0, 0.1, "the first part");
        assert_near(distinct(&mut both, 2, 2), 2_000.0, 0.15, "both parts");
    }

    /// Values with few rows beside values with many.
    #[test]
    fn uneven_values() {
        // Half of the rows have one value, the others one each.
        let mut half = filled(|number, _| Some(if number % 2 == 0 { 0 } else { number as i64 }));
        assert_near(distinct(&mut half, 1, 1), ROWS as f64 / 2.0, 0.1, "half of the rows alike");
        // As NULL is one.
        let mut nulls = filled(|number, _| (number % 4 == 0).then_some(number as i64));
        assert_near(distinct(&mut nulls, 1, 1), ROWS as f64 / 4.0, 0.15, "mostly NULL");
        // The nth value has 1/n of the rows of the first.
        let mut zipf = filled(|_, random| {
            let share = (random.below(1 << 20) + 1) as f64 / (1 << 20) as f64;
            Some((share.powf(-1.2) as i64).min(1 << 30))
        });
        let exact = {
            let mut scan = zipf.scan(IndexId(1), &KeyRange::all(), Direction::Forward, None);
            let (mut values, mut last) = (0, Vec::new());
            while let Some(candidate) = scan.next_candidate() {
                let own = &candidate.key[..5];
                values += u64::from(own != last);
                last = own.to_vec();
            }
            values
        };
        assert_near(distinct(&mut zipf, 1, 1), exact as f64, 0.5, "a long tail");
    }

    use crate::partition::{Direction, KeyRange};

    /// Samples are quantiles: each part of the table has its share of them.
    #[test]
    fn samples_are_quantiles() {
        // Three quarters of the rows are below 1,000.
        let mut partition = filled(|number, random| {
            let low = number % 4 != 0;
            Some(if low { random.below(1_000) } else { 1_000 + random.below(100_000) } as i64)
        });
        let estimates = partition.statistics(false);
        let samples = &estimates[1].samples;
        assert_eq!(samples.len(), SAMPLE_COUNT);
        assert!(samples.is_sorted());
        let mut bound = Vec::new();
        let column = types::ValueRef::Int(1_000);
        let parts = &partition.table().indexes[1].parts;
        types::key::encode_part(partition.table(), &parts[0], column, &mut bound);
        let low = samples.iter().filter(|own| **own < bound).count();
        assert!((45..=51).contains(&low), "{low} of {SAMPLE_COUNT}");
    }

    /// An estimate is kept while little changes, and never for an index that was empty.
    #[test]
    fn estimates_are_made_again_when_rows_change() {
        let pool = PagePool::new(1 << 30);
        let mut partition = Partition::new(table(vec![index(1, &[(1, false)])]), pool);
        let values =
            |partition: &mut Partition| partition.statistics(false)[1].prefixes[0].values();
        assert_eq!(values(&mut partition), 0);
        for id in 0..5 {
            put(&mut partition, 1 + id as u64, id, Some(id), "");
        }
        assert_eq!(values(&mut partition), 5);
        for id in 5..1_000 {
            put(&mut partition, 1 + id as u64, id, Some(id % 100), "");
        }
        let first = values(&mut partition);
        assert!((90..=110).contains(&first), "{first}");
        for id in 1_000..1_050 {
            put(&mut partition, 1 + id as u64, id, Some(id), "");
        }
        let kept = values(&mut partition);
        assert!((first..=first + first / 10).contains(&kept), "a twentieth is new: {kept}");
        let anew = partition.statistics(true)[1].prefixes[0].values();
        assert!(kept + 20 < anew, "{anew}");
        for id in 0..500 {
            put(&mut partition, 2_000 + id as u64, id, Some(5_000 + id), "");
        }
        let changed = values(&mut partition);
        assert!(400 < changed, "{changed}");
        partition.clear();
        assert_eq!(values(&mut partition), 0);
    }
}
