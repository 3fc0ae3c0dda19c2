#!/usr/bin/env bash
# Loads the schemas of well-known products into a cluster of its own and into a throw-away MariaDB,
# dumps them, loads the dumps into both again, and compares (schemas.py).
#
#   schemas.sh [compare] [OPTION...]   the products of schemas_sources.txt and schemas_programs/
#   schemas.sh record                  prints schemas_sources.txt with checksums of today's packages
#
#   --only PRODUCT,...   these products only (default all)
#   --binary PROGRAM     the skarv to run (default target/release/skarv)
#   --show N             differences of each product that are printed (default 20)
#   --keep-statements D  keeps the recorded statements of programs in the directory D
#
# The package managers of Maven, Debian and PyPI bring the schemas into a cache (SKARV_TEST_CACHE),
# once. The last line is "N passed, N failed". The servers have temporary directories and end with
# this script.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
binary=${CARGO_TARGET_DIR:-$here/../../target}/release/skarv
mode=compare options=()

usage() {
    sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}" >&2
    exit 2
}
if (($# > 0)) && [[ $1 != --* ]]; then
    mode=$1
    shift
fi
[[ $mode =~ ^(compare|record)$ ]] || usage
while (($# >= 2)); do
    case $1 in
        --binary) binary=$2 ;;
        --only | --show | --keep-statements) options+=("$1" "$2") ;;
        *) usage ;;
    esac
    shift 2
done
(($# == 0)) || usage

# shellcheck source=cluster.sh
. "$here/cluster.sh"
prepare_python
# shellcheck disable=SC2154
command=("$venv/bin/python" "$here/schemas.py" --cache "$cache" --work "$work" "${options[@]}")
if [[ $mode == record ]]; then
    "${command[@]}" --record
    exit
fi
binary=$(realpath "$binary") || exit 2
start_cluster
command+=(--skarv "${ports[0]}")
run_with_reference "${command[@]}"

read -r passed failed < <(awk '/^[0-9]+ passed, [0-9]+ failed$/ { p = $1; f = $3 }
    END { print p + 0, f + 0 }' "$work/output")
if ((passed + failed == 0)) || ((status != 0 && failed == 0)); then
    echo "FAILED schemas.py: exit code $status without a failed product"
    failed=$((failed + 1))
    echo "$passed passed, $failed failed"
elif ! check_cluster; then
    failed=$((failed + 1))
    echo "$passed passed, $failed failed"
fi
((failed == 0 && passed > 0))
