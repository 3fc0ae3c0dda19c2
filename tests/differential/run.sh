#!/usr/bin/env bash
# Runs generated statements against a cluster of its own, and compares it with a throw-away MariaDB (differential.py).
#
#   run.sh compare COUNT [OPTION...]   statements that mean something: values, types and errors are those of MariaDB
#   run.sh hostile COUNT [OPTION...]   statements of any kind: no ended connection, no ended process, no internal error
#   run.sh definitions [COUNT|SEED:EPISODE] [OPTION...]
#                                      definitions of tables and changes of their rows (definitions.py; default 20000)
#   run.sh replay FILE [OPTION...]     the statements of a file, one a line, compared as those of `definitions`
#
#   --from SEED        the first seed (default 0); each seed stands for 10,000 statements, of `definitions` 1,000 episodes
#   --reproductions FILE   where `definitions` writes the statements of each kind of failure
#   --binary PROGRAM   the skarv to run (default target/release/skarv)
#   --jobs N           connections that run statements side by side (default 2)
#
# The last line is "N passed, N failed". The servers have temporary directories and end with this script.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
binary=${CARGO_TARGET_DIR:-$here/../../target}/release/skarv
mode=${1:-} count=${2:-} seed=0 jobs=2 options=()

usage() {
    sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}" >&2
    exit 2
}
if [[ $mode == definitions && ! $count =~ ^[0-9] ]]; then
    count=20000
    set -- "$mode" "$count" "${@:2}"
fi
case $mode in
    compare | hostile) [[ $count =~ ^[0-9]+$ ]] || usage ;;
    definitions) [[ $count =~ ^[0-9]+(:[0-9]+)?$ ]] || usage ;;
    replay) [[ -r $count ]] || usage ;;
    *) usage ;;
esac
shift 2
while (($# >= 2)); do
    case $1 in
        --from) seed=$2 ;;
        --binary) binary=$2 ;;
        --jobs) jobs=$2 ;;
        --reproductions) options+=("$1" "$2") ;;
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
if [[ $mode == definitions || $mode == replay ]]; then
    command=("$venv/bin/python" "$here/definitions.py" --skarv "${ports[0]}" "${options[@]}")
    case $mode:$count in
        replay:*) command+=(--replay "$count") ;;
        *:*:*) command+=(--only "$count") ;;
        *) command+=(--count "$count" --from "$seed") ;;
    esac
    run_with_reference "${command[@]}"
    if [[ $mode == replay ]]; then
        check_cluster && exit "$status"
        exit 1
    fi
elif [[ $mode == compare ]]; then
    run_with_reference "${command[@]}"
else
    run_command "${command[@]}" --hostile
fi

read -r passed failed < <(awk '/^[0-9]+ statements passed, [0-9]+ failed$/ { p += $1; f += $4 } END { print p + 0, f + 0 }' "$work/output")
if ((passed + failed == 0)) || ((status != 0 && failed == 0)); then
    echo "FAILED: exit code $status without a failed statement"
    failed=$((failed + 1))
fi
check_cluster || failed=$((failed + 1))
echo "$passed passed, $failed failed"
((failed == 0 && passed > 0))
