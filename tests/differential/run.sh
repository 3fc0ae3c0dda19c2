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

work=$(mktemp -d -t skarv-differential.XXXXXX)
running=
stop() {
    if [[ -n $running ]] && kill "$running" 2>/dev/null; then
        wait "$running"
    fi
    [[ -e $work/cluster/cluster.json ]] && "$binary" down --dir "$work/cluster" >/dev/null
    rm -rf "$work"
}
trap stop EXIT
trap 'exit 130' INT TERM
export PYTHONDONTWRITEBYTECODE=1

failed() { # MESSAGE
    echo "FAILED $1"
    echo "0 passed, 1 failed"
    exit 1
}

# Ports of the nodes that answer SQL; after a run, also the nodes that ended during it.
cluster() { # ports|restarts
    python3 - "$work/cluster/cluster.json" "$1" <<'END'
import json, sys
nodes = json.load(open(sys.argv[1]))["nodes"]
if sys.argv[2] == "ports":
    print(*(node["port"] for node in nodes if node["port"]))
else:
    print(*(f"node {node['id']}" for node in nodes if node["restarts"] or not node["pid"]), sep=", ")
END
}

# shellcheck source=../clients/python/environment.sh
. "$here/../clients/python/environment.sh"
locked install_python >"$work/prepare" 2>&1 || failed "the Python environment cannot be prepared: $(tail -n 3 "$work/prepare")"
# A patient heartbeat: a statement that makes megabytes keeps a worker for a while on a busy machine.
"$binary" up --detach --dir "$work/cluster" --port 0 --data-nodes 2 --memory 512M --heartbeat-ms 500 >"$work/up" 2>&1 ||
    failed "skarv up: $(tail -n 3 "$work/up")"

read -ra ports < <(cluster ports)
command=("$venv/bin/python" "$here/differential.py" --skarv "${ports[@]}" --generator "$binary"
    --count "$count" --from "$seed" --jobs "$jobs")
if [[ $mode == compare ]]; then
    # HOST and PORT are set by against-mariadb.sh.
    # shellcheck disable=SC2016
    command=("$here/../clients/against-mariadb.sh" bash -c 'exec "$@" --reference "$PORT"' compare "${command[@]}")
else
    command+=(--hostile)
fi
# In the background, as bash handles a signal only after the command in the foreground.
"${command[@]}" > >(tee "$work/output") 2>&1 &
running=$!
wait "$running"
status=$?
running=

read -r passed failed < <(awk '/^[0-9]+ statements passed, [0-9]+ failed$/ { p += $1; f += $4 } END { print p + 0, f + 0 }' "$work/output")
if ((passed + failed == 0)) || ((status != 0 && failed == 0)); then
    echo "FAILED differential.py: exit code $status without a failed statement"
    failed=$((failed + 1))
fi
ended=$(cluster restarts)
if [[ -n $ended ]]; then
    echo "FAILED process ended: $ended"
    tail -n 20 "$work"/cluster/node*.log | cut -c 1-500
    failed=$((failed + 1))
fi
echo "$passed passed, $failed failed"
((failed == 0 && passed > 0))
