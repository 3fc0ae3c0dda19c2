#!/usr/bin/env bash
# From a fresh clone to a running cluster: installs what is needed, builds, starts two data nodes on this machine in
# ./skarv-data, and runs a few statements through each of them. Done again it uses the cluster that is there.
#
#   quickstart.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/install-packages.sh
PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin
echo "quickstart: building (some minutes the first time)"
cargo build --release --locked -p skarv
skarv=${CARGO_TARGET_DIR:-target}/release/skarv
dir=skarv-data

# A fact about a node from cluster.json, or about the cluster with node 0; nothing when it is null.
fact() { # NODE FIELD
    python3 - "$dir/cluster.json" "$1" "$2" <<'END'
import json, sys
path, node, field = sys.argv[1:]
with open(path) as file:
    status = json.load(file)
found = next((entry for entry in status["nodes"] if entry["id"] == int(node)), status)
value = found[field]
print("" if value is None else value)
END
}

# Are these two ports free?
are_free() {
    python3 - "$@" <<'END'
import socket, sys
for port in map(int, sys.argv[1:]):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
            probe.listen()
        except OSError:
            sys.exit(1)
END
}

if [[ -e $dir/cluster.json ]] && "$skarv" mgm --dir "$dir" -e SHOW 2>/dev/null | grep -q '^id=2 .*started'; then
    echo "quickstart: the cluster in ./$dir is running already"
else
    port=0
    for candidate in 3306 13306 23306 33060; do
        if are_free $candidate $((candidate + 1)); then
            port=$candidate
            break
        fi
    done
    if ((port != 3306)); then
        echo "quickstart: port 3306 or 3307 is taken on this machine, so Skarv uses other ports (listed below)"
    fi
    "$skarv" up --detach --dir "$dir" --port "$port"
fi

over_tcp() { # NODE SQL
    mariadb --no-defaults --user=root --protocol=tcp --host=127.0.0.1 --port="$(fact "$1" port)" --table --execute="$2"
}
over_socket() { # NODE SQL
    mariadb --no-defaults --user=root --socket="$(fact "$1" socket)" --table --execute="$2"
}

echo
echo "quickstart: writing through node 2 (TCP port $(fact 2 port))"
over_tcp 2 "CREATE DATABASE IF NOT EXISTS quickstart;
    DROP TABLE IF EXISTS quickstart.greeting;
    CREATE TABLE quickstart.greeting (id INT PRIMARY KEY, said VARCHAR(40));
    INSERT INTO quickstart.greeting VALUES (1, 'hello from node 2')"
echo "quickstart: writing and reading through node 3 (socket $(fact 3 socket))"
over_socket 3 "INSERT INTO quickstart.greeting VALUES (2, 'hello from node 3');
    SELECT * FROM quickstart.greeting ORDER BY id"
echo "quickstart: reading through node 2 (socket), then node 3 (TCP port $(fact 3 port))"
over_socket 2 "SELECT COUNT(*) AS greetings FROM quickstart.greeting"
over_tcp 3 "SELECT COUNT(*) AS greetings FROM quickstart.greeting"
"$skarv" mgm --dir "$dir" -e SHOW
cat <<END

Skarv is running. What next:
  connect      mariadb --host 127.0.0.1 --port $(fact 2 port) --user root      (or --port $(fact 3 port): both are equal)
  look         $skarv mgm -e SHOW
               $skarv desc quickstart.greeting
  stop         $skarv down
  start again  $skarv up --detach           (with its rows)
  test         ./scripts/test.sh
END
