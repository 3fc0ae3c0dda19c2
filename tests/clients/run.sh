#!/usr/bin/env bash
# Runs every client program against one MySQL server: over TCP with TLS, through text and prepared statements, and,
# where a socket is given, over the unix socket.
#
#   run.sh HOST PORT [SOCKET]
#
#   SKARV_TEST_PEER      host:port of a second node of the same cluster, for the freshness checks (default: the same)
#   SKARV_TEST_CACHE     where drivers are installed once (default ~/.cache/skarv-tests)
#   SKARV_TEST_ONLY      a pattern (bash) of the programs to run, of: cli dump infile pymysql connector go freshness java
#   SKARV_TEST_TIMEOUT   seconds for each program (default 180)
#   SKARV_TEST_COUNT     writes of the freshness check (default 20000)
#
# What the programs need is installed into the cache on the first run; after that no network is used. Two runs at once
# do not disturb each other: installing is locked, results go to a directory of the run, and every program creates its
# own database.
set -uo pipefail

if (($# < 2 || $# > 3)); then
    sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}" >&2
    exit 2
fi
host=$1 port=$2 socket=${3:-}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
peer=${SKARV_TEST_PEER:-$host:$port}
only=${SKARV_TEST_ONLY:-*}
seconds_max=${SKARV_TEST_TIMEOUT:-180}
connector_j=26.10.0

work=$(mktemp -d -t skarv-clients.XXXXXX)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
# shellcheck source=python/environment.sh
. "$here/python/environment.sh"
export PYTHONDONTWRITEBYTECODE=1 GOTOOLCHAIN=local GOFLAGS="-mod=readonly -buildvcs=false"

wanted() {
    # shellcheck disable=SC2053 - the right side is meant as a pattern
    [[ $1 == $only ]]
}

# Each installing function leaves a complete result or none; they run under `locked`, one at a time for one cache.

install_java() {
    jar=$cache/mysql-connector-j-$connector_j.jar
    [[ -e $jar ]] && return
    mvn -q -B dependency:copy "-Dartifact=com.mysql:mysql-connector-j:$connector_j" "-DoutputDirectory=$work/jar" &&
        mv "$work/jar/mysql-connector-j-$connector_j.jar" "$jar"
}

build_java() {
    mkdir -p "$work/java" && javac -cp "$jar" -d "$work/java" "$here/java/Crud.java"
}

build_go() {
    (cd "$here/go" && go build -o "$work/go/" ./crud ./freshness)
}

passed_total=0 failed_total=0

# Runs one program and adds its closing line to the totals. Without a closing line the program counts as one failure.
run() { # NAME COMMAND ARG...
    local name=$1 output=$work/output status line started=$SECONDS
    shift
    echo "--- $name"
    timeout --kill-after=10 "$seconds_max" "$@" </dev/null 2>&1 | tee "$output"
    status=${PIPESTATUS[0]}
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$output" | tail -n 1)
    local passed=0 failed=0
    if [[ -n $line ]]; then
        read -r passed _ failed _ <<<"$line"
    fi
    if ((status == 124 || status == 137)); then
        echo "FAILED $name: not finished after $seconds_max s"
        failed=$((failed + 1))
    elif ((status != 0 && failed == 0)) || ((passed + failed == 0)); then
        echo "FAILED $name: exit code $status without a failed check"
        failed=$((failed + 1))
    fi
    passed_total=$((passed_total + passed))
    failed_total=$((failed_total + failed))
    summary+=$(printf '%-28s %4d passed %4d failed %5d s' "$name" "$passed" "$failed" $((SECONDS - started)))$'\n'
}

# Runs a preparation; when it fails, the programs that need it count as one failure.
prepare() { # NAME COMMAND ARG...
    local name=$1
    shift
    "$@" >"$work/prepare" 2>&1 && return
    echo "FAILED $name: cannot be prepared"
    tail -n 20 "$work/prepare"
    failed_total=$((failed_total + 1))
    summary+="$name: cannot be prepared"$'\n'
    return 1
}

summary=
tcp=(--host "$host" --port "$port" --tls required)
local_socket=(--socket "$socket" --tls off)

if wanted cli; then
    run "cli over TLS" "$here/crud_cli.sh" "${tcp[@]}"
    [[ -n $socket ]] && run "cli over the socket" "$here/crud_cli.sh" "${local_socket[@]}"
fi
if wanted dump; then
    run "dump over TLS" "$here/dump.sh" "${tcp[@]}"
fi
if wanted infile; then
    run "infile over TLS" "$here/infile_cli.sh" "${tcp[@]}"
    [[ -n $socket ]] && run "infile over the socket" "$here/infile_cli.sh" "${local_socket[@]}"
fi
if { wanted pymysql || wanted connector; } && prepare python locked install_python; then
    for program in pymysql connector; do
        if wanted $program; then
            run "$program over TLS" "$venv/bin/python" "$here/python/crud_$program.py" "${tcp[@]}"
            [[ -n $socket ]] &&
                run "$program over the socket" "$venv/bin/python" "$here/python/crud_$program.py" "${local_socket[@]}"
        fi
    done
fi
if { wanted go || wanted freshness; } && prepare go build_go; then
    if wanted go; then
        run "go over TLS" "$work/go/crud" "${tcp[@]}"
        [[ -n $socket ]] && run "go over the socket" "$work/go/crud" "${local_socket[@]}"
    fi
    if wanted freshness; then
        run "freshness over TLS" "$work/go/freshness" all --tls required \
            --count "${SKARV_TEST_COUNT:-20000}" --seconds 5 "$host:$port" "$peer"
    fi
fi
if wanted java && prepare "java driver" locked install_java && prepare java build_java; then
    run "java over TLS" java -cp "$jar:$work/java" Crud "${tcp[@]}"
    run "java without TLS" java -cp "$jar:$work/java" Crud "${tcp[@]:0:4}" --tls off
fi

echo "--- summary"
printf %s "$summary"
echo "$passed_total passed, $failed_total failed"
((failed_total == 0 && passed_total > 0))
