#!/usr/bin/env bash
# Compares what Skarv does with JSON documents with MySQL 8.0's definition and with MariaDB
# (json_documents.py).
#
#   json.sh [COUNT [SEED]] [OPTION...]   the public suites, and COUNT random documents (default
#                                        10000) of SEED (default 0)
#   json.sh print SEED:NUMBER            a document, and its calls with their results
#
#   --binary PROGRAM   the skarv to run (default target/release/skarv)
#   --jobs N           connections that run statements side by side (default 2)
#   --show N           failures that each of them prints (default 50)
#
# PyPI brings the public suites into a cache (SKARV_TEST_CACHE), once. The last line is "N passed,
# N failed". The servers have temporary directories and end with this script.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
binary=${CARGO_TARGET_DIR:-$here/../../target}/release/skarv
options=() numbers=() place=

usage() {
    sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}" >&2
    exit 2
}
if [[ ${1:-} == print ]]; then
    [[ ${2:-} =~ ^[0-9]+:[0-9]+$ ]] || usage
    place=$2
    shift 2
fi
while (($# > 0)); do
    if [[ $1 =~ ^[0-9]+$ ]] && ((${#numbers[@]} < 2)); then
        numbers+=("$1")
        shift
        continue
    fi
    (($# >= 2)) || usage
    case $1 in
        --binary) binary=$2 ;;
        --jobs | --show) options+=("$1" "$2") ;;
        *) usage ;;
    esac
    shift 2
done

# shellcheck source=cluster.sh
. "$here/cluster.sh"
prepare_python
# shellcheck disable=SC2154
command=("$venv/bin/python" "$here/json_documents.py")
if [[ -n $place ]]; then
    "${command[@]}" --print "$place"
    exit
fi
binary=$(realpath "$binary") || exit 2
start_cluster
command+=(--skarv "${ports[@]}" --cache "$cache" --work "$work")
command+=(--count "${numbers[0]:-10000}" --seed "${numbers[1]:-0}" "${options[@]}")
run_with_reference "${command[@]}"

read -r passed failed < <(awk '/^[0-9]+ passed, [0-9]+ failed$/ { p = $1; f = $3 }
    END { print p + 0, f + 0 }' "$work/output")
if ((passed + failed == 0)) || ((status != 0 && failed == 0)); then
    echo "FAILED json_documents.py: exit code $status without a failed document"
    failed=$((failed + 1))
    echo "$passed passed, $failed failed"
elif ! check_cluster; then
    failed=$((failed + 1))
    echo "$passed passed, $failed failed"
fi
((failed == 0 && passed > 0))
