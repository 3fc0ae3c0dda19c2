#!/usr/bin/env bash
# Dumps a database with every type and constraint from a throw-away MariaDB into a cluster and back
# (../clients/dump.sh).
#
#   dumps.sh [--binary PROGRAM]   the skarv to run (default target/release/skarv)
#
# The last line is "N passed, N failed". The servers have temporary directories and end with this script.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
binary=${CARGO_TARGET_DIR:-$here/../../target}/release/skarv
if (($# == 2)) && [[ $1 == --binary ]]; then
    binary=$2
elif (($# > 0)); then
    sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}" >&2
    exit 2
fi

# shellcheck source=cluster.sh
. "$here/cluster.sh"
binary=$(realpath "$binary") || exit 2
start_cluster
run_with_reference "$here/../clients/dump.sh" --port "${ports[0]}"
check_cluster && ((status == 0))
