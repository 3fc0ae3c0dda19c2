#!/usr/bin/env bash
# Installs what is needed, builds, and runs every test: style, unit and model tests, simulated clusters, and real
# processes with real clients. Each runner prints its own closing line; the last line sums them up.
#
#   test.sh            everything; 29 minutes on two cores with nothing built before, 58 where they have two fifths of their usual speed
#   test.sh --full     the system tests in their long form
#
#   SKARV_TEST_SEEDS   simulated clusters (default 250; those with faults of the disk 8/5 of it)
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

full=()
case ${1:-} in
    '') ;;
    --full) full=(--full) ;;
    *) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; [[ $1 == --help ]]; exit $(($? * 2)) ;;
esac
seeds=${SKARV_TEST_SEEDS:-250}

scripts/install-packages.sh || { echo "0 passed, 1 failed"; exit 1; }
PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin
work=$(mktemp -d -t skarv-test.XXXXXX)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

passed_total=0 failed_total=0 summary= failures=

# Runs one runner and adds its closing lines to the totals: those of cargo test, and "N passed, N failed". One without a
# closing line counts as one test.
run() { # NAME COMMAND ARG...
    local name=$1 output=$work/output started=$SECONDS status passed failed
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
    summary+=$(printf '%-24s %6d passed %4d failed %5d s' "$name" "$passed" "$failed" $((SECONDS - started)))$'\n'
}

skarv=${CARGO_TARGET_DIR:-target}/release/skarv
if cargo fmt --version >/dev/null 2>&1; then
    run "style (rustfmt)" cargo fmt --all --check
fi
if cargo clippy --version >/dev/null 2>&1; then
    run "style (clippy)" cargo clippy --quiet --locked --workspace --all-targets -- -D warnings
fi
run "unit and model tests" cargo test --quiet --locked --workspace --no-fail-fast
run "release build" cargo build --quiet --release --locked -p skarv
if [[ -x $skarv ]]; then
    run "simulated clusters" "$skarv" sim --seeds "$seeds"
    run "simulated losses" "$skarv" sim --seeds $((seeds / 4)) --crashes
    run "simulated returns" "$skarv" sim --seeds $((seeds / 4)) --returns
    run "simulated planned stops" "$skarv" sim --seeds $((seeds / 4)) --leaves
    run "simulated full memories" "$skarv" sim --seeds $((seeds / 4)) --seconds 10 --memory
    run "simulated power cuts" "$skarv" sim --seeds $((seeds * 8 / 5)) --seconds 10 --power
    run "simulated disk faults" "$skarv" sim --seeds $((seeds * 8 / 5)) --seconds 10 --disks
    run "simulated failures" "$skarv" sim --seeds $((seeds * 3 / 5)) --seconds 60 --failures
    run "system tests" python3 tests/system/run.py --binary "$skarv" --jobs 2 "${full[@]}"
fi

echo
if [[ -n $failures ]]; then
    echo "=== what failed$failures"
    echo
fi
echo "=== summary"
printf %s "$summary"
echo "$passed_total passed, $failed_total failed"
((failed_total == 0 && passed_total > 0))
