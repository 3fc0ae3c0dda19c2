#!/usr/bin/env bash
# Runs a command (by default all client programs) against a private, throw-away MariaDB with TLS.
#
# The client programs judge Skarv, so something must judge them: a check that MariaDB fails is a doubtful check.
# The server lives in a temporary directory, on free ports, and is stopped and removed when the command ends.
#
#   against-mariadb.sh                  runs run.sh against it
#   against-mariadb.sh COMMAND ARG...   runs COMMAND with HOST, PORT and SOCKET set
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d -t clients-mariadb.XXXXXX)
server_pid=
command_pid=

stop() {
    if [[ -n $command_pid ]] && kill "$command_pid" 2>/dev/null; then
        wait "$command_pid" 2>/dev/null || true
    fi
    if [[ -n $server_pid ]] && kill "$server_pid" 2>/dev/null; then
        wait "$server_pid" 2>/dev/null || true
    fi
    rm -rf "$work"
}
trap stop EXIT
trap 'exit 130' INT TERM

openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost \
    -keyout "$work/key.pem" -out "$work/certificate.pem" 2>/dev/null
PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
HOST=127.0.0.1
SOCKET=$work/server.sock
export HOST PORT SOCKET

# MariaDB calls itself 5.5.5-10.x in the handshake, and drivers then leave out microseconds; above 5.7.19 they ask for
# variables of MySQL 8 that it does not have.
cat >"$work/my.cnf" <<END
[mysqld]
user=$(id -un)
datadir=$work/data
socket=$SOCKET
port=$PORT
bind-address=127.0.0.1
pid-file=$work/server.pid
character-set-server=utf8mb4
collation-server=utf8mb4_general_ci
max_allowed_packet=64M
innodb_buffer_pool_size=256M
innodb_flush_log_at_trx_commit=0
skip-log-bin
skip-name-resolve
version=5.7.19-MariaDB
ssl_cert=$work/certificate.pem
ssl_key=$work/key.pem
END
mariadb-install-db --no-defaults --user="$(id -un)" --datadir="$work/data" \
    --auth-root-authentication-method=normal >"$work/install.log" 2>&1 || { cat "$work/install.log" >&2; exit 1; }
mariadbd --defaults-file="$work/my.cnf" >"$work/server.log" 2>&1 &
server_pid=$!
for _ in $(seq 150); do
    mariadb --no-defaults -S "$SOCKET" -uroot -e 'SELECT 1' >/dev/null 2>&1 && break
    kill -0 "$server_pid" 2>/dev/null || { tail -n 20 "$work/server.log" >&2; exit 1; }
    sleep 0.2
done

if (($# == 0)); then
    set -- "$here/run.sh" "$HOST" "$PORT" "$SOCKET"
fi
# In the background, as bash handles a signal only after the command in the foreground.
"$@" <&0 &
command_pid=$!
status=0
wait "$command_pid" || status=$?
command_pid=
exit "$status"
