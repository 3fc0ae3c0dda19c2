#!/usr/bin/env bash
# Installs missing packages, builds, and runs the tests of one tier (docs/testing.md). Each runner prints its own closing line;
# the last line sums them up.
#
#   test.sh            the default tier: style, unit and model tests, simulated clusters, one system test for each promise of
#                      the README. Twelve minutes on two idle cores when the dependencies are built, eighteen when nothing
#                      is. It fails only when something is broken, however busy the machine is: nothing judges the clock
#   test.sh --long     every test in its long form, benches, fuzzing, clients from registries; hours. Figures of the clock are
#                      judged: the machine must do nothing else. Ends with a table of the figures. (--full is the same)
#
#   SKARV_TEST_DAY     the day whose sample is run, in days since 1970 (default: today, UTC)
#   SKARV_TEST_SEEDS   simulated clusters of the long tier, of the fixed seeds and again of those of the day (default 250; at
#                      most 600); other kinds of simulated worlds in proportion
#   SKARV_TEST_FUZZ    seconds of the long tier for each fuzz target (default 600)
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

tier=default
case ${1:-} in
    '') ;;
    --long | --full) tier=long ;;
    *) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; [[ $1 == --help ]]; exit $(($? * 2)) ;;
esac
seeds=${SKARV_TEST_SEEDS:-250}
export SKARV_TEST_DAY=${SKARV_TEST_DAY:-$(($(date +%s) / 86400))}
echo "the $tier tier, day $SKARV_TEST_DAY (again with SKARV_TEST_DAY=$SKARV_TEST_DAY)"

scripts/install-packages.sh || { echo "0 passed, 1 failed"; exit 1; }
PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin
work=$(mktemp -d -t skarv-test.XXXXXX)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
export SKARV_TEST_FIGURES=$work/figures
: >"$SKARV_TEST_FIGURES"

# The value of this tier.
of_tier() { # DEFAULT LONG
    [[ $tier == default ]] && echo "$1" || echo "$2"
}
if [[ $tier == long ]]; then
    export SKARV_TEST_LONG=1
else
    unset SKARV_TEST_LONG
fi

passed_total=0 failed_total=0 summary= failures=

# Seconds of the cores that the children of this shell have had, of what `times` prints. Nodes of system tests are not among them.
cores_of() { # FILE
    awk 'NR == 2 { gsub(/[ms]/, " "); print int($1 * 60 + $2 + $3 * 60 + $4) }' "$1"
}

# Runs one runner and adds its closing lines to the totals: those of cargo test, and "N passed, N failed". One without a
# closing line counts as one test.
run() { # NAME COMMAND ARG...
    local name=$1 output=$work/output started=$SECONDS status passed failed used
    times >"$work/times"
    used=$(cores_of "$work/times")
    shift
    echo
    echo "=== $name"
    "$@" </dev/null 2>&1 | tee "$output"
    status=${PIPESTATUS[0]}
    read -r passed failed < <(awk '
        /^test result: / { for (i = 3; i < NF; i++) { if ($(i + 1) == "passed;") p += $i; if ($(i + 1) == "failed;") f += $i } }
        /^[0-9]+ passed, [0-9]+ failed$/ { p += $1; f += $3 }
        END { print p + 0, f + 0 }' "$output")
    if ((passed + failed == 0)); then
        ((status == 0)) && passed=1 || failed=1
    elif ((status != 0 && failed == 0)); then
        failed=1
    fi
    # Again at the end, where it is found: which tests, and why. Indented, as there are closing lines among these.
    if ((failed > 0)); then
        failures+=$'\n'"--- $name"$'\n'$(grep -aE -A 8 '^(FAILED |failed: |thread .* panicked|[[:alnum:]]*Error: |error(\[|:)|seed [0-9]+ )' "$output" | cut -c 1-2000 | head -n 60 | sed 's/^/    /')
    fi
    passed_total=$((passed_total + passed))
    failed_total=$((failed_total + failed))
    times >"$work/times"
    summary+=$(printf '%-40s %6d passed %4d failed %5d s, %5d s of the cores' "$name" "$passed" "$failed" $((SECONDS - started)) $(($(cores_of "$work/times") - used)))$'\n'
}

# Simulated worlds of one kind: those of the fixed seeds, from 0 on, which every run has, and as many that no day before had.
worlds() { # NAME DEFAULT LONG ARG...: seeds of either sort in the default and the long tier, arguments of `skarv sim`
    local name=$1 count first=$((SKARV_TEST_DAY * 1000))
    count=$(of_tier "$2" "$3")
    shift 3
    run "simulated $name" "$skarv" sim --seeds "$count" "$@"
    echo "the seeds of the day: skarv sim --from $first --seeds $count $*"
    run "simulated $name, day $SKARV_TEST_DAY" "$skarv" sim --from "$first" --seeds "$count" "$@"
}

# Generated statements: a fixed seed's, and those of the day.
generated_statements() {
    local first=$((SKARV_TEST_DAY * 100000))
    run "random statements" "$skarv" sim --statements "$(of_tier 10000 1000000)"
    run "random statements, day $SKARV_TEST_DAY" "$skarv" sim --statements "$(of_tier 20000 9000000)" --from "$first"
    run "random predicates, day $SKARV_TEST_DAY" "$skarv" sim --predicates "$(of_tier 60000 10000000)" --from "$first"
    run "random predicates in clusters, day $SKARV_TEST_DAY" "$skarv" sim --cluster-predicates "$(of_tier 2000 1000000)" --from "$first"
}

# Arbitrary bytes: each target reads the files of its corpus; cargo-fuzz, if it is installed, then looks for more. Without it
# the changes are those that the unit tests make of the same formats, ten times as many in this tier.
fuzz() {
    local folder target name seconds=${SKARV_TEST_FUZZ:-600}
    for folder in crates/*/fuzz; do
        for target in "$folder"/corpus/*/; do
            name=$(basename "$target")
            if cargo +nightly fuzz --version >/dev/null 2>&1; then
                run "fuzzing ${folder#crates/}, $name" cargo +nightly fuzz run --fuzz-dir "$folder" "$name" -- -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=10
            else
                run "corpus of ${folder#crates/}, $name" env RUSTFLAGS="--cfg fuzzing" CARGO_TARGET_DIR="$built/fuzz" \
                    cargo run --quiet --manifest-path "$folder/Cargo.toml" --bin "$name" -- "$target"*
            fi
        done
    done
}

# Speed and room, with the bars that the benches name.
benches() {
    run "bench of checkpoints" python3 tests/bench/checkpoint.py --binary "$skarv"
    run "bench of checkpoints, random rows" python3 tests/bench/checkpoint.py --binary "$skarv" --random --fill
    run "bench of a start after a stop" python3 tests/bench/restart.py --binary "$skarv" --touch
    run "bench of a start after a kill" python3 tests/bench/restart.py --binary "$skarv" --touch --kill
    run "bench of definitions beside a load" python3 tests/bench/definitions.py --binary "$skarv"
    run "TPC-C, consistency of a small database" python3 tests/bench/tpcc.py --binary "$skarv" --small
}

built=${CARGO_TARGET_DIR:-target}
# The default tier runs the program that the build of the tests has made: it simulates at six tenths of the speed of a release, which
# takes as long to build as all else together.
skarv=$built/$(of_tier debug release)/skarv
if cargo fmt --version >/dev/null 2>&1; then
    run "style (rustfmt)" cargo fmt --all --check
fi
if cargo clippy --version >/dev/null 2>&1; then
    run "style (clippy)" cargo clippy --quiet --locked --workspace --all-targets -- -D warnings
fi
run "build of the tests" cargo test --quiet --locked --workspace --no-run
run "unit and model tests" cargo test --quiet --locked --workspace --no-fail-fast
if [[ $tier == long ]]; then
    run "release build" cargo build --quiet --release --locked -p skarv
fi
if [[ -x $skarv ]]; then
    worlds "clusters" 8 "$seeds"
    worlds "losses" 4 $((seeds / 4)) --crashes
    worlds "returns" 4 $((seeds / 4)) --returns
    worlds "planned stops" 4 $((seeds / 4)) --leaves
    worlds "full memories" 3 $((seeds / 4)) --seconds 10 --memory
    worlds "power cuts" 10 $((seeds * 8 / 5)) --seconds 10 --power
    worlds "disk faults" 10 $((seeds * 8 / 5)) --seconds 10 --disks
    worlds "panics of statements" 4 $((seeds / 4)) --panics --failures
    worlds "user-level locks" 4 $((seeds / 4)) --locks --failures
    worlds "failures" 4 $((seeds * 3 / 5)) --seconds "$(of_tier 20 60)" --failures
    generated_statements
    if [[ $tier == long ]]; then
        run "worlds that are played twice" "$skarv" sim --from $((SKARV_TEST_DAY * 1000)) --seeds $((seeds / 4)) --failures --twice
        run "system tests" python3 tests/system/run.py --binary "$skarv" --jobs 2 --long
        run "definitions and foreign keys in outages" env SKARV_TEST_OUTAGES=$((seeds * 4)) cargo test --quiet --locked -p sim --test outages
        run "random statements over the wire" tests/differential/run.sh hostile 1000000 --from $((SKARV_TEST_DAY * 1000)) --binary "$skarv"
        benches
    else
        run "system tests" python3 tests/system/run.py --binary "$skarv" --jobs 3
    fi
fi
if [[ $tier == long ]]; then
    run "consensus against another implementation" cargo test --quiet --locked --manifest-path tests/raft_reference/Cargo.toml
    if command -v mariadbd >/dev/null 2>&1; then
        run "client programs against MariaDB" tests/clients/against-mariadb.sh
        [[ -x $skarv ]] && run "written statements against MariaDB" tests/differential/statements.sh compare --binary "$skarv"
        [[ -x $skarv ]] && run "dumps to and from MariaDB" tests/differential/dumps.sh --binary "$skarv"
        [[ -x $skarv ]] && run "schemas of products against MariaDB" tests/differential/schemas.sh --binary "$skarv"
        [[ -x $skarv ]] && run "queries over several tables against MariaDB" tests/differential/queries.sh 200000 --from $((SKARV_TEST_DAY * 1000)) --binary "$skarv"
        [[ -x $skarv ]] && run "JSON documents against MariaDB" tests/differential/json.sh 10000 "$SKARV_TEST_DAY" --binary "$skarv"
        [[ -x $skarv ]] && run "bench of TPC-H against MariaDB" python3 tests/bench/tpch.py --binary "$skarv" --scale 0.1
        [[ -x $skarv ]] && run "definitions against MariaDB" tests/differential/run.sh definitions 20000 --from $((SKARV_TEST_DAY * 1000)) --binary "$skarv"
        [[ -x $skarv ]] && run "statements against MariaDB" tests/differential/run.sh compare 1000000 --from $((SKARV_TEST_DAY * 1000)) --binary "$skarv"
    fi
    fuzz
fi

echo
if [[ -n $failures ]]; then
    echo "=== what failed$failures"
    echo
fi
if [[ -s $SKARV_TEST_FIGURES ]]; then
    echo "=== figures"
    awk -F '\t' '{ printf "%-86s %18s   %-28s %s\n", $1, $2, $3, $4 }' "$SKARV_TEST_FIGURES"
    echo
fi
echo "=== summary"
printf %s "$summary"
echo "$passed_total passed, $failed_total failed"
((failed_total == 0 && passed_total > 0))
