//! The command line: many seeds over the machine's cores, or one with its trace.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use kernel::Mutation;
use sql::check::random::Random;
use sql::check::statement::Statements;
use sql::check::tables;
use sql::check::typed::TypedStatements;

use crate::options::{Options, SECOND};
use crate::run::{Outcome, run};
use crate::world::Counts;

const HELP: &str = "\
Simulates whole clusters, one world a seed, and judges what their sessions see.

  --seeds N          run N seeds (default 100)
  --from S           the first of them (default 0)
  --seconds T        how long the sessions of each world work, in simulated seconds (default 20)
  --seed S           run this seed only, and print what it stands for
  --trace            with --seed: print everything that happens
  --twice            run each seed twice; the two histories must be equal
  --crashes          every world whose rows have replicas loses a node
  --returns          and it comes back; then the next one is lost, and so on
  --leaves           the same, but nodes are stopped as planned: nobody elsewhere is to notice more than a pause
  --failures         the whole mix: nodes die, freeze, are cut off and stopped; nobody is told of it, the others find out
  --disks            as --power, and disks have no room for a while, are damaged when the power is back, or have not a checkpoint as
                     it was written
  --power            all nodes lose their power at once, now and then, and come back with what is on their disks
  --memory           the memory for rows is little, and full now and then
  --panics           statements panic where the rows are, now and then; with --crashes, --returns and the like, too
  --locks            sessions take user-level locks; with --crashes, --returns and the like, too
  --statements N     instead of worlds with faults: N random SQL statements; none may end with a fault of the server
  --print-statements N   print N statements, for a comparison with another server; with --hostile, those of --statements
  --predicates N     N random predicates: each access path must find the rows for which the predicate is true
  --cluster-predicates N   the same by statements on four data nodes, UPDATE and DELETE too
  --mutation NAME    break this rule of the protocol: seeds are expected to fail
  --jobs N           threads (default: all cores)
  --stop             stop at the first failure
";

/// Mutations by name.
pub const MUTATIONS: &[Mutation] = &[
    Mutation::AckBeforeReplication,
    Mutation::ReadThroughCommitting,
    Mutation::TimestampBeforePrepare,
    Mutation::SnapshotFromAnyBackup,
    Mutation::EarlyLockRelease,
    Mutation::HeldNotAwaited,
    Mutation::ShowBeforeHeld,
    Mutation::MarkersAfterTimestamp,
    Mutation::SnapshotAskedBefore,
    Mutation::HorizonPassesGrants,
    Mutation::HorizonPassesOpen,
    Mutation::ReadBelowHorizon,
    Mutation::AgeIgnored,
    Mutation::StatementWithoutSnapshot,
    Mutation::SnapshotPerStatement,
    Mutation::ChangedNotRefused,
    Mutation::RangesNotLocked,
    Mutation::VoteBeforeHeld,
    Mutation::StatementNotUndone,
    Mutation::NewTablesSkipped,
    Mutation::IndexNotGivenUp,
    Mutation::DeadlocksIgnored,
    Mutation::LostTransactionGoesOn,
    Mutation::PreparedForgotten,
    Mutation::InDoubtRolledBack,
    Mutation::OutcomeNotAsked,
    Mutation::EpochNotRaised,
    Mutation::LearnerNotAwaited,
    Mutation::PreparedNotCopied,
    Mutation::DecisionsNotTold,
    Mutation::TailNotFetched,
    Mutation::WorkerBehind,
    Mutation::LeaseIgnored,
    Mutation::LeaseFromArrival,
    Mutation::LeaseNotWaitedFor,
    Mutation::HangingIsKept,
    Mutation::OutcomeGuessed,
    Mutation::HandoverNotWaitedFor,
    Mutation::HandoverNotDrained,
    Mutation::HandoverNotQuiet,
    Mutation::PreparedNotClosed,
    Mutation::DiskNotAwaited,
    Mutation::TailNotCut,
    Mutation::CheckpointTooNew,
    Mutation::LoadedNotCompared,
    Mutation::ChangedNotWritten,
    Mutation::DeletedNotWaitedFor,
    Mutation::KeptWithoutItsLog,
    Mutation::AlwaysNotAwaited,
    Mutation::AloneNotAwaited,
    Mutation::GroupLeftOut,
    Mutation::MemoryOfOthersIgnored,
    Mutation::GrantsUnchecked,
];

#[derive(Clone)]
struct Arguments {
    from: u64,
    count: u64,
    seconds: u64,
    one: bool,
    trace: bool,
    twice: bool,
    stop: bool,
    crashes: bool,
    returns: bool,
    failures: bool,
    leaves: bool,
    power: bool,
    disks: bool,
    memory: bool,
    panics: bool,
    locks: bool,
    statements: Option<u64>,
    typed: Option<u64>,
    hostile: bool,
    predicates: Option<u64>,
    cluster_predicates: Option<u64>,
    jobs: usize,
    mutation: Mutation,
}

pub fn cli(arguments: impl Iterator<Item = String>) -> ExitCode {
    match parse(arguments) {
        Ok(None) => {
            print!("{HELP}");
            ExitCode::SUCCESS
        }
        Ok(Some(arguments)) if arguments.typed.is_some() => print_statements(&arguments),
        Ok(Some(arguments)) => match Chunks::of(&arguments) {
            Some(chunks) => run_chunks(&arguments, &chunks),
            None => run_all(&arguments),
        },
        Err(error) => {
            eprintln!("{error}\n\n{HELP}");
            ExitCode::from(2)
        }
    }
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Option<Arguments>, String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut parsed = Arguments {
        from: 0,
        count: 100,
        seconds: 20,
        one: false,
        trace: false,
        twice: false,
        stop: false,
        crashes: false,
        returns: false,
        failures: false,
        leaves: false,
        power: false,
        disks: false,
        memory: false,
        panics: false,
        locks: false,
        statements: None,
        typed: None,
        hostile: false,
        predicates: None,
        cluster_predicates: None,
        jobs: cores,
        mutation: Mutation::None,
    };
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        let number = |text: String| {
            text.parse::<u64>().map_err(|_| format!("{argument} {text}: not a number"))
        };
        match argument.as_str() {
            "--seeds" => parsed.count = number(value()?)?,
            "--from" => parsed.from = number(value()?)?,
            "--seconds" => parsed.seconds = number(value()?)?,
            "--seed" => {
                parsed.from = number(value()?)?;
                parsed.count = 1;
                parsed.one = true;
            }
            "--jobs" => parsed.jobs = number(value()?)?.clamp(1, 1024) as usize,
            "--trace" => parsed.trace = true,
            "--twice" => parsed.twice = true,
            "--stop" => parsed.stop = true,
            "--crashes" => parsed.crashes = true,
            "--returns" => parsed.returns = true,
            "--leaves" => parsed.leaves = true,
            "--power" => parsed.power = true,
            "--disks" => parsed.disks = true,
            "--memory" => parsed.memory = true,
            "--panics" => parsed.panics = true,
            "--locks" => parsed.locks = true,
            "--print-statements" => parsed.typed = Some(number(value()?)?),
            "--hostile" => parsed.hostile = true,
            "--statements" => parsed.statements = Some(number(value()?)?),
            "--predicates" => parsed.predicates = Some(number(value()?)?),
            "--cluster-predicates" => parsed.cluster_predicates = Some(number(value()?)?),
            "--failures" => parsed.failures = true,
            "--mutation" => {
                let name = value()?;
                let found = MUTATIONS.iter().find(|mutation| format!("{mutation:?}") == name);
                parsed.mutation = *found.ok_or(format!("no mutation {name}; {MUTATIONS:?}"))?;
            }
            "--help" | "-h" => return Ok(None),
            _ => return Err(format!("unknown argument {argument}")),
        }
    }
    if parsed.trace && !parsed.one {
        return Err("--trace needs --seed".into());
    }
    Ok(Some(parsed))
}

/// What all seeds together came to.
#[derive(Default)]
struct Total {
    passed: u64,
    failed: u64,
    simulated: u64,
    transactions: u64,
    refusals: u64,
    outcomes: [u64; 5],
    counts: Counts,
    /// Time that threads spent in worlds.
    busy: Duration,
}

/// Statements of one table that are printed.
const TYPED_PER_TABLE: u64 = 200;

/// Prints statements a line each, with the definition of their table and its rows before them: a letter (T, R, S) and
/// the text.
fn print_statements(arguments: &Arguments) -> ExitCode {
    let mut random = Random::new(arguments.from);
    let mut left = arguments.typed.unwrap_or(0);
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    while 0 < left {
        let table = tables::table(&mut random, 24);
        let mut lines = vec![format!("T {}", table.creates[0])];
        let rows = table.rows.iter().map(|row| row.join(", "));
        lines.extend(rows.map(|row| format!("R INSERT IGNORE INTO t VALUES ({row})")));
        let count = TYPED_PER_TABLE.min(left);
        let mut typed = TypedStatements::new(random.next_u64(), &table);
        let mut hostile = Statements::new(random.next_u64(), &table);
        let mut statement =
            || if arguments.hostile { hostile.statement() } else { typed.statement() };
        lines.extend((0..count).map(|_| format!("S {}", statement().replace(['\n', '\r'], " "))));
        left -= count;
        for line in lines {
            // Whoever reads has read enough.
            if writeln!(out, "{line}").is_err() {
                return ExitCode::SUCCESS;
            }
        }
    }
    ExitCode::SUCCESS
}

/// Checks by random SQL: their number, in chunks with a seed each.
struct Chunks {
    flag: &'static str,
    count: u64,
    size: u64,
    /// Runs a chunk of this seed and size.
    run: RunChunk,
}

/// Of a seed and a count: what it has done, or what is wrong.
type RunChunk = fn(u64, u64) -> Result<String, String>;

impl Chunks {
    fn of(arguments: &Arguments) -> Option<Chunks> {
        let paths =
            |seed, count| sql::check::paths::check(seed, count).map(|counts| format!("{counts:?}"));
        let kinds: [(_, _, _, RunChunk); 3] = [
            ("--statements", arguments.statements, 1_000, crate::statements::statements),
            ("--predicates", arguments.predicates, 20_000, paths),
            (
                "--cluster-predicates",
                arguments.cluster_predicates,
                500,
                crate::statements::predicates,
            ),
        ];
        let mut wanted = kinds.into_iter();
        wanted.find_map(|(flag, count, size, run)| Some(Chunks { flag, count: count?, size, run }))
    }
}

/// Runs chunks on all threads, says every minute how far they are, and prints each failure with what repeats it.
fn run_chunks(arguments: &Arguments, chunks: &Chunks) -> ExitCode {
    let chunk_count = chunks.count.div_ceil(chunks.size);
    let next = AtomicU64::new(0);
    let (done, failed) = (AtomicU64::new(0), AtomicU64::new(0));
    let told = Mutex::new(Instant::now());
    std::thread::scope(|scope| {
        for _ in 0..arguments.jobs.min(usize::try_from(chunk_count).unwrap_or(usize::MAX)) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let is_over = arguments.stop && failed.load(Ordering::Relaxed) > 0;
                    if number >= chunk_count || is_over {
                        return;
                    }
                    let seed = arguments.from + number;
                    let size = chunks.size.min(chunks.count - number * chunks.size);
                    match (chunks.run)(seed, size) {
                        Ok(result) if arguments.one => println!("{result}"),
                        Ok(_) => {}
                        Err(problem) => {
                            failed.fetch_add(1, Ordering::Relaxed);
                            let flag = chunks.flag;
                            println!("seed {seed}: {problem}\n  again: skarv sim {flag} {size} --from {seed}");
                        }
                    }
                    let done = done.fetch_add(size, Ordering::Relaxed) + size;
                    let mut told = told.lock().expect("nobody panics with it");
                    if Duration::from_secs(60) <= told.elapsed() {
                        *told = Instant::now();
                        println!("{done} of {} done", chunks.count);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner();
    println!("{} of {} checked", done.into_inner(), chunks.flag.trim_start_matches('-'));
    println!("{} passed, {failed} failed", chunk_count - failed);
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run_all(arguments: &Arguments) -> ExitCode {
    let next = AtomicU64::new(arguments.from);
    let end = arguments.from.saturating_add(arguments.count);
    let total = Mutex::new(Total::default());
    std::thread::scope(|scope| {
        for _ in 0..arguments.jobs.min(arguments.count as usize) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end {
                        return;
                    }
                    run_seed(seed, arguments, &total);
                    let failed = total.lock().expect("nobody panics with it").failed > 0;
                    if failed && arguments.stop {
                        return;
                    }
                }
            });
        }
    });
    let total = total.into_inner().expect("all threads ended");
    let busy = total.busy.as_secs_f64().max(f64::MIN_POSITIVE);
    let simulated = total.simulated as f64 / SECOND as f64;
    println!(
        "{simulated:.0} s simulated at {:.1} s a second and core; {:.0} transactions and {:.0} refusals a simulated \
         second; {:.0} events a second and core",
        simulated / busy,
        total.transactions as f64 / simulated.max(f64::MIN_POSITIVE),
        total.refusals as f64 / simulated.max(f64::MIN_POSITIVE),
        total.counts.events as f64 / busy,
    );
    let Counts {
        crashes,
        power_failures,
        full_disks,
        lost_disks,
        failed_loads,
        spoiled,
        leaves,
        freezes,
        hangs,
        crawls,
        cut_offs,
        exclusions,
        returns,
        loads,
        rows_kept,
        ..
    } = total.counts;
    if 0 < crashes + freezes + cut_offs {
        println!(
            "{crashes} nodes ended, {leaves} of them as planned, and the power failed {power_failures} times, {freezes} froze, {hangs} hung, {crawls} crawled, {cut_offs} were cut off; {exclusions} that \
             lived were excluded; {returns} came back"
        );
        if 0 < loads {
            println!(
                "{loads} loaded what their disks had first, of which {rows_kept} rows were not copied"
            );
        }
        if 0 < full_disks + lost_disks + spoiled {
            println!(
                "{full_disks} times a disk had no room for a while; {lost_disks} were damaged when their nodes came back, as \
                 {failed_loads} of these saw while they loaded; {spoiled} times a checkpoint was not there as it was written"
            );
        }
        let [forgotten, in_progress, rolled_back, by_restart, committed] = total.outcomes;
        println!(
            "of commits whose outcome nobody knew, {committed} were committed, {rolled_back} rolled back and {by_restart} lost in a \
             cluster restart, as those who asked later were told; {in_progress} times that was not known yet, {forgotten} times not any \
             more"
        );
    }
    println!("{} passed, {} failed", total.passed, total.failed);
    // One world may be without power for as long as it lasts.
    let has_worked = 0 < total.transactions || arguments.one;
    if !has_worked {
        println!("no transaction was committed");
    }
    if total.failed == 0 && has_worked { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Time that this thread has spent on a core, where the system tells (Linux); else the time that has passed.
fn cpu_time() -> Duration {
    static STARTED: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.and_then(|text| text.split_whitespace().next()?.parse().ok());
    let passed = || STARTED.get_or_init(Instant::now).elapsed();
    nanoseconds.map_or_else(passed, Duration::from_nanos)
}

fn run_seed(seed: u64, arguments: &Arguments, total: &Mutex<Total>) {
    let mut options =
        Options { mutation: arguments.mutation, ..Options::of_seed(seed, arguments.seconds) };
    if arguments.disks {
        options = options.with_disk_faults();
    } else if arguments.power {
        options = options.with_power_failures();
        if seed % 8 == 7 {
            options = options.with_deletions();
        }
    } else if arguments.memory {
        options = options.with_little_memory();
    } else if arguments.leaves {
        options = options.with_leaves();
    } else if arguments.failures {
        options = options.with_failures();
    } else if arguments.returns {
        options = options.with_returns();
    } else if arguments.crashes {
        options = options.with_crash();
    }
    if arguments.panics {
        options = options.with_panics();
    }
    if arguments.locks {
        options = options.with_user_locks();
    }
    if arguments.one {
        println!("{options:#?}");
    }
    let begun = cpu_time();
    let mut outcome = run(&options, arguments.trace);
    let busy = cpu_time().saturating_sub(begun);
    if arguments.twice && outcome.failure.is_none() {
        let again = run(&options, false);
        if again.trace_hash != outcome.trace_hash {
            outcome.failure = Some(format!(
                "two runs of one seed differ: {:016x} and {:016x}",
                outcome.trace_hash, again.trace_hash
            ));
        }
    }
    if let Some(failure) = &outcome.failure {
        print_failure(seed, failure, &options, &outcome, arguments);
    }
    let mut total = total.lock().expect("nobody panics with it");
    match outcome.failure {
        None => total.passed += 1,
        Some(_) => total.failed += 1,
    }
    total.simulated += outcome.simulated;
    total.transactions += outcome.transactions;
    total.refusals += outcome.refusals;
    for (all, own) in total.outcomes.iter_mut().zip(outcome.outcomes) {
        *all += own;
    }
    total.counts += outcome.counts;
    total.busy += busy;
    let done = total.passed + total.failed;
    if arguments.one {
        println!("{:?}, trace {:016x}, {busy:?}", outcome.counts, outcome.trace_hash);
    } else if done.is_multiple_of(10) {
        print!("\r{done} of {} seeds, {} failed ", arguments.count, total.failed);
        // Progress is for whoever watches; a closed pipe stops nothing.
        let _: std::io::Result<()> = std::io::stdout().flush();
        if done == arguments.count {
            println!();
        }
    }
}

fn print_failure(
    seed: u64,
    failure: &str,
    options: &Options,
    outcome: &Outcome,
    arguments: &Arguments,
) {
    let mutation = match arguments.mutation {
        Mutation::None => String::new(),
        mutation => format!(" --mutation {mutation:?}"),
    };
    let kinds = [
        (arguments.failures, " --failures"),
        (arguments.leaves, " --leaves"),
        (arguments.power, " --power"),
        (arguments.memory, " --memory"),
        (arguments.disks, " --disks"),
        (arguments.returns, " --returns"),
        (arguments.crashes, " --crashes"),
    ];
    let crashes = kinds.iter().find(|(is_on, _)| *is_on).map_or("", |(_, flag)| flag);
    let panics = if arguments.panics { " --panics" } else { "" };
    let locks = if arguments.locks { " --locks" } else { "" };
    let log: String = outcome.log.iter().take(5).map(|line| format!("\n    {line}")).collect();
    println!(
        "\nseed {seed} failed after {} us: {failure}\n  {options:?}\n  log:{log}\n  again: cargo run --release -p sim -- \
         --seed {seed} --seconds {}{mutation}{crashes}{panics}{locks} --trace",
        outcome.simulated, arguments.seconds
    );
}
