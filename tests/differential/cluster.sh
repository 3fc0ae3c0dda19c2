# Sourced by run.sh, statements.sh, queries.sh, dumps.sh, schemas.sh and json.sh. It runs a program against a cluster of its own.
#
# `binary` is the skarv to run, `here` this directory. Sets `work`, a temporary directory; `prepare_python` sets `venv`,
# `start_cluster` sets `ports`. The cluster and the directory end with the script.

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

prepare_python() {
    # shellcheck source=../clients/python/environment.sh
    . "$here/../clients/python/environment.sh"
    locked install_python >"$work/prepare" 2>&1 ||
        failed "the Python environment cannot be prepared: $(tail -n 3 "$work/prepare")"
}

start_cluster() {
    # A patient heartbeat: a statement that makes megabytes keeps a worker for a while on a busy machine.
    "$binary" up --detach --dir "$work/cluster" --port 0 --data-nodes 2 --memory 512M --heartbeat-ms 500 >"$work/up" 2>&1 ||
        failed "skarv up: $(tail -n 3 "$work/up")"
    read -ra ports < <(cluster ports)
}

# Runs a command, keeps its output in $work/output, and sets `status`.
run_command() { # COMMAND ARG...
    # In the background, as bash handles a signal only after the command in the foreground.
    "$@" > >(tee "$work/output") 2>&1 &
    running=$!
    wait "$running"
    status=$?
    running=
}

# Runs a command with HOST, PORT and SOCKET of a throw-away MariaDB; `--reference PORT` follows its arguments.
run_with_reference() { # COMMAND ARG...
    # shellcheck disable=SC2016
    run_command "$here/../clients/against-mariadb.sh" bash -c 'exec "$@" --reference "$PORT"' reference "$@"
}

# Prints which processes of the cluster ended, and fails where one did.
check_cluster() {
    local ended
    ended=$(cluster restarts)
    [[ -z $ended ]] && return
    echo "FAILED process ended: $ended"
    tail -n 20 "$work"/cluster/node*.log | cut -c 1-500
    return 1
}
