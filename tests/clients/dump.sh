#!/usr/bin/env bash
# Loads dump.sql, which has every type and constraint, dumps it with mariadb-dump and its defaults, loads the dump into
# another database of the same server, and compares the dumps.
#
#   dump.sh [--host H] [--port P] [--socket S] [--user U] [--password W] [--tls required|off] [--reference PORT]
#
# With the port of a MariaDB, a dump of that one is loaded into the server, and the server's dump back into MariaDB, whose
# two dumps must be equal.
#
# One line a check, and the closing line "N passed, N failed"; the exit code is not 0 when one failed.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

host=127.0.0.1 port=3306 socket= user=root password= tls=required reference=
while (($# > 0)); do
    case $1 in
        --host | --port | --socket | --user | --password | --tls | --reference)
            (($# >= 2)) || { echo "$1 wants a value" >&2; exit 2; }
            printf -v "${1#--}" %s "$2"
            shift 2 ;;
        *) echo "unknown option $1" >&2; exit 2 ;;
    esac
done

if [[ -n $socket ]]; then
    own=("--socket=$socket")
else
    own=(--protocol=tcp "--host=$host" "--port=$port")
fi
if [[ $tls == required ]]; then
    own+=(--ssl)
else
    own+=(--skip-ssl)
fi
own+=("--user=$user" "--password=$password")
other=(--protocol=tcp --host=127.0.0.1 "--port=$reference" --user=root --skip-ssl)

work=$(mktemp -d -t dump.XXXXXX)
suffix=$(od -An -N6 -tx1 /dev/urandom | tr -d ' \n')
database=dump_$suffix

# Where `server` is `own` or `other`:
ask() { # SERVER ARG...
    local -n options=$1
    shift
    timeout 60 mariadb --no-defaults "${options[@]}" --default-character-set=utf8mb4 "$@"
}
create() { # SERVER DATABASE
    ask "$1" -e "DROP DATABASE IF EXISTS $2; CREATE DATABASE $2 CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"
}
# Without comments a dump names neither its time nor its server.
dump() { # SERVER DATABASE
    local -n options=$1
    timeout 60 mariadb-dump --no-defaults "${options[@]}" --skip-comments "$2"
}
# The server names the character set of texts in expressions, and MariaDB keeps the name.
normalized() {
    sed "s/_utf8mb4'/'/g" "$1"
}

finish() {
    ask own -e "DROP DATABASE IF EXISTS $database; DROP DATABASE IF EXISTS ${database}_again" >/dev/null 2>&1
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

passed=0 failed=0
check() { # NAME COMMAND ARG...
    local name=$1
    shift
    if "$@" >"$work/output" 2>&1; then
        passed=$((passed + 1))
        echo "ok     dump: $name"
    else
        failed=$((failed + 1))
        echo "FAILED dump: $name"
        head -n 20 "$work/output" | cut -c 1-300
    fi
}

load() { # SERVER DATABASE FILE
    create "$1" "$2" && ask "$1" "$2" <"$3"
}
dumps_equal() { # FILE FILE
    [[ -s $1 && -s $2 ]] && diff --text <(normalized "$1") <(normalized "$2")
}

check "a script loads" load own "$database" "$here/dump.sql"
check "the database is dumped" dump own "$database"
cp "$work/output" "$work/first"
check "the dump loads" load own "${database}_again" "$work/first"
check "the second database is dumped" dump own "${database}_again"
cp "$work/output" "$work/second"
check "both dumps are equal" dumps_equal "$work/first" "$work/second"

if [[ -n $reference ]]; then
    check "MariaDB loads the script" load other "$database" "$here/dump.sql"
    check "MariaDB dumps the database" dump other "$database"
    cp "$work/output" "$work/reference"
    check "its dump loads" load own "$database" "$work/reference"
    check "the server dumps that database" dump own "$database"
    cp "$work/output" "$work/own"
    check "MariaDB loads that dump" load other "${database}_again" "$work/own"
    check "MariaDB dumps that database" dump other "${database}_again"
    cp "$work/output" "$work/returned"
    check "both dumps of MariaDB are equal" dumps_equal "$work/reference" "$work/returned"
fi

echo "$passed passed, $failed failed"
((failed == 0 && passed > 0))
