#!/usr/bin/env bash
# Runs the written statements of statements/*.sql, and compares what Skarv answers with MariaDB (statements/statements.py).
#
#   statements.sh [compare] [OPTION...]   a cluster and a throw-away MariaDB run each statement
#   statements.sh check [OPTION...]       a cluster runs them; the answers must be those of statements/recorded/
#   statements.sh record [OPTION...]      a throw-away MariaDB runs them, and its answers are recorded
#
#   --only FEATURE,...   these files only (default all)
#   --except FEATURE,... all files but these
#   --binary PROGRAM     the skarv to run (default target/release/skarv)
#   --show N             failures that are printed (default 100)
#
# The last line is "N passed, N failed". The servers have temporary directories and end with this script.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
binary=${CARGO_TARGET_DIR:-$here/../../target}/release/skarv
mode=compare
options=()

usage() {
    sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}" >&2
    exit 2
}
if (($# > 0)) && [[ $1 != --* ]]; then
    mode=$1
    shift
fi
[[ $mode =~ ^(compare|check|record)$ ]] || usage
while (($# >= 2)); do
    case $1 in
        --binary) binary=$2 ;;
        --only | --except | --show) options+=("$1" "$2") ;;
        *) usage ;;
    esac
    shift 2
done
(($# == 0)) || usage

# shellcheck source=cluster.sh
. "$here/cluster.sh"
prepare_python
command=("$venv/bin/python" "$here/statements/statements.py" "$mode" "${options[@]}")
if [[ $mode != record ]]; then
    binary=$(realpath "$binary") || exit 2
    start_cluster
    command+=(--skarv "${ports[0]}")
fi
if [[ $mode == check ]]; then
    run_command "${command[@]}"
else
    run_with_reference "${command[@]}"
fi

read -r passed failed < <(awk '/^[0-9]+ passed, [0-9]+ failed$/ { p = $1; f = $3 } END { print p + 0, f + 0 }' "$work/output")
if ((passed + failed == 0)) || ((status != 0 && failed == 0)); then
    echo "FAILED statements.py: exit code $status without a failed statement"
    failed=$((failed + 1))
    echo "$passed passed, $failed failed"
elif [[ $mode != record ]] && ! check_cluster; then
    failed=$((failed + 1))
    echo "$passed passed, $failed failed"
fi
((failed == 0 && passed > 0))
