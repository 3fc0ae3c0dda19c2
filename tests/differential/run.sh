#!/usr/bin/env bash
# Runs generated statements against a cluster of its own, and compares it with a throw-away MariaDB (differential.py).
#
#   run.sh compare COUNT [OPTION...]   statements that mean something: values, types and errors are those of MariaDB
#   run.sh hostile COUNT [OPTION...]   statements of any kind: no ended connection, no ended process, no internal error
#
#   --from SEED        the first seed (default 0); each seed stands for 10,000 statements
#   --binary PROGRAM   the skarv to run (default target/release/skarv)
#   --jobs N           connections that run statements side by side (default 2)
#
# The last line is "N passed, N failed". The servers have temporary directories and end with this script.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
binary=${CARGO_TARGET_DIR:-$here/../../target}/release/skarv
mode=${1:-} count=${2:-} seed=0 jobs=2

usage() {
    sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}" >&2
    exit 2
}
[[ $mode =~ ^(compare|hostile)$ && $count =~ ^[0-9]+$ ]] || usage
shift 2
while (($# >= 2)); do
    case $1 in
        --from) seed=$2 ;;
        --binary) binary=$2 ;;
        --jobs) jobs=$2 ;;
        *) usage ;;
    esac
    shift 2
done
(($# == 0)) || usage
binary=$(realpath "$binary") || exit 2

# shellcheck source=cluster.sh
. "$here/cluster.sh"
prepare_python
start_cluster

command=("$venv/bin/python" "$here/differential.py" --skarv "${ports[@]}" --generator "$binary"
    --count "$count" --from "$seed" --jobs "$jobs")
if [[ $mode == compare ]]; then
    run_with_reference "${command[@]}"
else
    run_command "${command[@]}" --hostile
fi

read -r passed failed < <(awk '/^[0-9]+ statements passed, [0-9]+ failed$/ { p += $1; f += $4 } END { print p + 0, f + 0 }' "$work/output")
if ((passed + failed == 0)) || ((status != 0 && failed == 0)); then
    echo "FAILED differential.py: exit code $status without a failed statement"
    failed=$((failed + 1))
fi
check_cluster || failed=$((failed + 1))
echo "$passed passed, $failed failed"
((failed == 0 && passed > 0))
