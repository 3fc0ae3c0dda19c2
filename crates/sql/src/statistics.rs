//! What the planner knows of the rows of a table: how many there are, how many values the parts of its indexes have, and where
//! quantiles of the keys are. Primaries estimate these for their partitions ([`storage`]); this module puts them together.
//!
//! A value may have rows in several shards, or in all of them. Rows are spread by the hash of the primary key, so a value with
//! `L` rows is in a given one of `S` shards with the probability `1 - (1 - 1/S)^L`. With `D` values of `L = rows / D` rows each,
//! a shard has `D` times that many; `D` is solved for, once for the values that are rare in the shards and once for the others.
//! Where the parts take in the whole primary key, no value is in two shards.
//!
//! [`storage`]: ../../storage/src/partition/statistics.rs

use std::collections::BTreeMap;
use std::ops::RangeBounds;

use client::{KeyRange, PartitionStatistics, PrefixStatistics};
use types::wire::Bytes;
use types::{Index, IndexId, IndexKind, Table};

/// Samples of an index that are kept.
const SAMPLES_KEPT: usize = 128;
/// Steps of the search for a number of values: each halves the interval.
const SOLVE_STEPS: usize = 40;
/// With fewer rows in the table an estimate is soon wrong, and is soon made again.
const SMALL_ROWS: u64 = 10_000;
const AGE_MAX_MICROS: i64 = 10_000_000;
const AGE_MAX_SMALL_MICROS: i64 = 1_000_000;

#[derive(Clone, Debug, Default)]
pub struct TableStatistics {
    pub rows: u64,
    indexes: BTreeMap<IndexId, IndexStatistics>,
}

#[derive(Clone, Debug, Default)]
struct IndexStatistics {
    /// By number of parts, from one on.
    distinct: Vec<f64>,
    /// In order; about as many rows are between each two.
    samples: Vec<Vec<u8>>,
}

/// The rows of samples that are in some ranges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampledShare {
    pub hits: usize,
    pub of: usize,
}

impl TableStatistics {
    /// Of a table of which nothing but the number of its rows is known.
    pub fn counted(rows: u64) -> TableStatistics {
        TableStatistics { rows, indexes: BTreeMap::new() }
    }

    /// Of the partitions that have answered; `partition_count` is the number of all.
    pub fn merged(
        table: &Table,
        partitions: &[PartitionStatistics],
        partition_count: usize,
    ) -> TableStatistics {
        let answered = partitions.len().max(1);
        let missing = partition_count.max(answered) as f64 / answered as f64;
        let answered_rows: u64 = partitions.iter().map(|own| own.rows).sum();
        let rows = (answered_rows as f64 * missing).round();
        let filled: Vec<&PartitionStatistics> =
            partitions.iter().filter(|own| 0 < own.rows).collect();
        let shards = (filled.len() as f64 * missing).max(1.0);
        let mut indexes = BTreeMap::new();
        for index in &table.indexes {
            let known: Vec<(u64, &client::IndexStatistics)> = filled
                .iter()
                .filter_map(|own| Some((own.rows, estimate_of(own, index)?)))
                .collect();
            if known.is_empty() {
                continue;
            }
            let mut distinct = Vec::with_capacity(index.parts.len());
            for count in 1..=index.parts.len() {
                let prefixes = known.iter().filter_map(|(_, own)| own.prefixes.get(count - 1));
                let mean_of = |of: fn(&PrefixStatistics) -> u64| {
                    prefixes.clone().map(|own| of(own) as f64).sum::<f64>() / known.len() as f64
                };
                let rare_rows = (mean_of(|own| own.rare_rows) * shards).min(rows);
                let rare = mean_of(|own| own.rare_values);
                let common = mean_of(|own| own.common_values);
                let is_whole = count == index.parts.len() && index.kind != IndexKind::Ordinary;
                distinct.push(match () {
                    () if is_whole => rows,
                    () if has_primary_key(table, index, count) => (rare + common) * shards,
                    () => {
                        distinct_of_all(rare, rare_rows, shards)
                            + distinct_of_all(common, rows - rare_rows, shards)
                    }
                });
            }
            let samples = merged_samples(
                known.iter().map(|(rows, own)| (*rows, own.samples.as_slice())).collect(),
            );
            indexes.insert(index.id, IndexStatistics { distinct, samples });
        }
        TableStatistics { rows: rows as u64, indexes }
    }

    /// How many different values the first parts of an index have; at least one.
    pub fn distinct(&self, index: IndexId, parts: usize) -> Option<f64> {
        let own = self.indexes.get(&index)?.distinct.get(parts.checked_sub(1)?)?;
        Some(own.max(1.0))
    }

    /// The samples of an index that are in these ranges; none if there are no samples.
    pub fn sampled(&self, index: IndexId, ranges: &[KeyRange]) -> Option<SampledShare> {
        let samples = self.indexes.get(&index).map(|own| own.samples.as_slice())?;
        let is_in = |sample: &&Vec<u8>| ranges.iter().any(|range| holds(range, sample));
        let hits = samples.iter().filter(is_in).count();
        (!samples.is_empty()).then_some(SampledShare { hits, of: samples.len() })
    }

    /// How long these numbers are good, in microseconds. A table that is small, or not there, may grow soon.
    pub fn age_max_micros(known: Option<&TableStatistics>) -> i64 {
        match known {
            Some(own) if SMALL_ROWS <= own.rows => AGE_MAX_MICROS,
            Some(_) | None => AGE_MAX_SMALL_MICROS,
        }
    }
}

fn estimate_of<'p>(
    partition: &'p PartitionStatistics,
    index: &Index,
) -> Option<&'p client::IndexStatistics> {
    partition.indexes.iter().find(|estimate| estimate.index == index.id)
}

fn holds(range: &KeyRange, key: &[u8]) -> bool {
    let (lower, upper) = (range.lower.as_ref(), range.upper.as_ref());
    (lower.map(Vec::as_slice), upper.map(Vec::as_slice)).contains(key)
}

/// Do the first parts of the index tell rows apart, so that no value of theirs is in two shards?
fn has_primary_key(table: &Table, index: &Index, count: usize) -> bool {
    let parts = &index.parts[..count];
    let is_in = |column: u16| parts.iter().any(|own| own.column == column && own.prefix.is_none());
    table.primary_key().parts.iter().all(|part| is_in(part.column))
}

/// The values that all shards have together, of which one of them has `mean`.
fn distinct_of_all(mean: f64, rows: f64, shards: f64) -> f64 {
    if mean <= 0.0 || rows <= 0.0 {
        return 0.0;
    }
    let of_shard = |values: f64| {
        let rows_each = rows / values.max(1.0);
        values * (1.0 - (1.0 - 1.0 / shards).powf(rows_each))
    };
    let (mut low, mut high) = (mean, (mean * shards).min(rows).max(mean));
    for _ in 0..SOLVE_STEPS {
        let middle = (low + high) / 2.0;
        match of_shard(middle) < mean {
            true => low = middle,
            false => high = middle,
        }
    }
    high.min(rows.max(1.0))
}

/// Quantiles of the samples of several shards, each with its rows.
fn merged_samples(shards: Vec<(u64, &[Bytes])>) -> Vec<Vec<u8>> {
    let mut all: Vec<(&[u8], f64)> = Vec::new();
    for (rows, samples) in shards {
        let weight = rows as f64 / samples.len().max(1) as f64;
        all.extend(samples.iter().map(|sample| (&sample.0[..], weight)));
    }
    all.sort_by_key(|(sample, _)| *sample);
    let total: f64 = all.iter().map(|(_, weight)| weight).sum();
    let count = all.len().min(SAMPLES_KEPT);
    let mut kept = Vec::with_capacity(count);
    let mut before = 0.0;
    for (sample, weight) in all {
        before += weight;
        while kept.len() < count && total * (kept.len() as f64 + 0.5) / count as f64 <= before {
            kept.push(sample.to_vec());
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values that are spread over shards by a fixed hash of their rows are counted again from what the shards see.
    #[test]
    fn values_of_several_shards() {
        for shards in [2u64, 4, 8] {
            for (values, rows_each) in [(5, 4000), (100, 200), (1000, 20), (5000, 4), (20_000, 1)] {
                let mut seen = vec![std::collections::BTreeSet::new(); shards as usize];
                for row in 0..values * rows_each {
                    let shard = types::hash::hash64(&u64::to_le_bytes(row)) % shards;
                    seen[shard as usize].insert(row % values);
                }
                let mean = seen.iter().map(|own| own.len() as f64).sum::<f64>() / shards as f64;
                let rows = (values * rows_each) as f64;
                let estimate = distinct_of_all(mean, rows, shards as f64);
                let error = (estimate - values as f64).abs() / values as f64;
                assert!(error < 0.05, "{values} values of {rows_each} rows: {estimate}");
            }
        }
    }

    /// Samples of shards of different sizes count by their rows.
    #[test]
    fn samples_of_several_shards() {
        let samples = |bytes: std::ops::Range<u8>| -> Vec<Bytes> {
            bytes.map(|byte| Bytes(vec![byte])).collect()
        };
        let (large, small) = (samples(0..64), samples(100..164));
        let kept = merged_samples(vec![(9_000, &large), (1_000, &small)]);
        assert_eq!(kept.len(), SAMPLES_KEPT);
        assert!(kept.is_sorted());
        let of_large = kept.iter().filter(|own| own[0] < 100).count();
        assert!((113..=117).contains(&of_large), "{of_large}");
        assert_eq!(merged_samples(vec![(0, &[])]), Vec::<Vec<u8>>::new());
    }

    /// A table that grows is looked at again soon.
    #[test]
    fn small_tables_are_soon_old() {
        let of = |rows| TableStatistics { rows, ..TableStatistics::default() };
        assert_eq!(TableStatistics::age_max_micros(None), AGE_MAX_SMALL_MICROS);
        assert_eq!(TableStatistics::age_max_micros(Some(&of(0))), AGE_MAX_SMALL_MICROS);
        assert_eq!(TableStatistics::age_max_micros(Some(&of(1_000_000))), AGE_MAX_MICROS);
    }
}
