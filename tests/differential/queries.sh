#!/usr/bin/env bash
# Runs generated queries over several tables, and compares what Skarv answers with MariaDB (queries.py).
#
#   queries.sh [compare] COUNT [OPTION...]      COUNT statements; each seed stands for a schema and 200 of them
#   queries.sh reduce SEED:NUMBER [OPTION...]   cuts rows and parts of the statement off while the difference stays
#   queries.sh print SEED[:NUMBER]              the schema with its rows, and the statement; starts no server
#
#   --from SEED        the first seed (default 0)
#   --binary PROGRAM   the skarv to run (default target/release/skarv)
#   --jobs N           connections that run statements side by side (default 2)
#   --show N           failures that each of them prints (default 100)
#   --little-memory    Skarv has the least tmp_table_size: nearly everything goes through temporary files
#
# The last line is "N passed, N failed". The servers have temporary directories and end with this script.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
binary=${CARGO_TARGET_DIR:-$here/../../target}/release/skarv
mode=compare options=()

usage() {
    sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}" >&2
    exit 2
}
case ${1:-} in
    compare | reduce | print)
        mode=$1
        shift
        ;;
esac
case $mode in
    compare) [[ ${1:-} =~ ^[0-9]+$ ]] || usage ;;
    reduce) [[ ${1:-} =~ ^[0-9]+:[0-9]+$ ]] || usage ;;
    print) [[ ${1:-} =~ ^[0-9]+(:[0-9]+)?$ ]] || usage ;;
esac
what=$1 jobs=2
shift
while (($# >= 1)); do
    if [[ $1 == --little-memory ]]; then
        options+=("$1")
        shift
        continue
    fi
    (($# >= 2)) || usage
    case $1 in
        --binary) binary=$2 ;;
        --jobs) jobs=$2 ;;
        --from | --show) options+=("$1" "$2") ;;
        *) usage ;;
    esac
    shift 2
done
(($# == 0)) || usage

# shellcheck source=cluster.sh
. "$here/cluster.sh"
prepare_python
command=("$venv/bin/python" "$here/queries.py")
if [[ $mode == print ]]; then
    "${command[@]}" --print "$what"
    exit
fi
binary=$(realpath "$binary") || exit 2
start_cluster
command+=(--skarv "${ports[@]}")
if [[ $mode == reduce ]]; then
    command+=(--reduce "$what")
else
    command+=(--count "$what" --jobs "$jobs" "${options[@]}")
fi
# shellcheck disable=SC2016
run_command "$here/../clients/against-mariadb.sh" bash -c \
    'exec "$@" --reference "$PORT" --reference-config "${SOCKET%/*}/my.cnf"' reference "${command[@]}"
[[ $mode == reduce ]] && exit "$status"

read -r passed failed < <(awk '/^[0-9]+ passed, [0-9]+ failed$/ { p = $1; f = $3 } END { print p + 0, f + 0 }' "$work/output")
if ((passed + failed == 0)) || ((status != 0 && failed == 0)); then
    echo "FAILED queries.py: exit code $status without a failed statement"
    failed=$((failed + 1))
    echo "$passed passed, $failed failed"
elif ! check_cluster; then
    failed=$((failed + 1))
    echo "$passed passed, $failed failed"
fi
((failed == 0 && passed > 0))
