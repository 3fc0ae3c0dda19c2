#!/usr/bin/env bash
# Runs crud.sql and a few larger things through the mariadb command line client, as a person at a shell would.
#
#   crud_cli.sh [--host H] [--port P] [--socket S] [--user U] [--password W] [--tls required|off]
#
# Skarv refuses some groups by design: where it does, the group must answer as in crud.refused, which is written by hand
# and in which an error 1235 names the feature.
#
# One line a check group, and the closing line "N passed, N failed"; the exit code is not 0 when one failed.
# "--write-expected" replaces crud.expected with what this server answers (for changing crud.sql, against a server
# that is known to be right; read the difference before keeping it).
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

host=127.0.0.1 port=3306 socket= user=root password= tls=required write_expected=
while (($# > 0)); do
    case $1 in
        --write-expected) write_expected=1; shift; continue ;;
        --host | --port | --socket | --user | --password | --tls)
            (($# >= 2)) || { echo "$1 wants a value" >&2; exit 2; }
            printf -v "${1#--}" %s "$2"
            shift 2 ;;
        *) echo "unknown option $1" >&2; exit 2 ;;
    esac
done

# A server that hangs costs a check this long, not the whole run.
client=(timeout 60 mariadb --no-defaults "--user=$user" "--password=$password" --default-character-set=utf8mb4
    --max-allowed-packet=64M --connect-timeout=20)
admin=(timeout 60 mariadb-admin --no-defaults "--user=$user" "--password=$password" --connect-timeout=20)
if [[ -n $socket ]]; then
    where=("--socket=$socket")
else
    where=(--protocol=tcp "--host=$host" "--port=$port")
fi
if [[ $tls == required ]]; then
    where+=(--ssl)
else
    where+=(--skip-ssl)
fi
client+=("${where[@]}")
admin+=("${where[@]}")

work=$(mktemp -d -t crud-cli.XXXXXX)
suffix=$(od -An -N6 -tx1 /dev/urandom | tr -d ' \n')
database=crud_$suffix
finish() {
    "${client[@]}" -e "DROP DATABASE IF EXISTS ${database}_big" >/dev/null 2>&1
    "${client[@]}" -e "DROP DATABASE IF EXISTS $database" >/dev/null 2>&1
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

passed=0 failed=0
ok() {
    passed=$((passed + 1))
    echo "ok     cli: $1"
}
fail() { # NAME REASON
    failed=$((failed + 1))
    echo "FAILED cli: $1"
    sed 's/^/       /' <<<"$2" | head -n 30 | cut -c 1-400
}
check() { # NAME EXPECTED ACTUAL
    if [[ $2 == "$3" ]]; then
        ok "$1"
    else
        fail "$1" "$(diff <(echo "$2") <(echo "$3"))"
    fi
}

# Error texts (but the feature that an error 1235 names), display widths of integer types and warnings' texts differ between servers. Some versions of the client
# repeat a failed statement between two dashed lines.
normalise() {
    sed -E -e "s/$database/crud_database/g" \
        -e "s/^ERROR 1235 \\((.{5})\\) at line [0-9]+: .*doesn't yet support '(.*)'\$/ERROR 1235 (\\1) \\2/" \
        -e '/^ERROR 1235 /!s/^ERROR ([0-9]+) \((.{5})\).*$/ERROR \1 (\2)/' \
        -e 's/\b((tiny|small|medium|big)?int)\([0-9]+\)/\1/' \
        -e 's/^(Warning|Note|Error)\t([0-9]+)\t.*$/\1\t\2/' |
        awk '/^--------------$/ {echoed = !echoed; skip = !echoed; next} skip && !$0 {skip = 0; next} !echoed {skip = 0; print}'
}

# The lines of one group of crud.expected or of the output.
group() { # NAME FILE
    awk -v name="== $1" '/^== /{inside = ($0 == name); next} inside && !/^==$/' "$2"
}

sed "s/crud_database/$database/g" "$here/crud.sql" |
    "${client[@]}" --batch --force --unbuffered --column-names >"$work/raw" 2>&1
normalise <"$work/raw" >"$work/output"
if [[ -n $write_expected ]]; then
    cp "$work/output" "$here/crud.expected"
    exit
fi
version=$("${client[@]}" -BN -e "SELECT VERSION()" 2>&1)
while IFS= read -r name; do
    if ! grep -qxF "== $name" "$work/output"; then
        fail "$name" "the group did not run: $(tail -n 3 "$work/output")"
    else
        actual=$(group "$name" "$work/output")
        refusal=$(group "$name" "$here/crud.refused")
        if [[ $version == *skarv* && -n $refusal && $actual == *"ERROR 1235 "* ]]; then
            check "$name (refused with error 1235)" "$refusal" "$actual"
        else
            check "$name" "$(group "$name" "$here/crud.expected")" "$actual"
        fi
    fi
done < <(sed -n 's/^== //p' "$here/crud.expected")

# What does not fit into a script with fixed text.

database=${database}_big
"${client[@]}" -e "CREATE DATABASE $database CHARACTER SET utf8mb4" 2>&1
client+=("--database=$database")

cipher=$("${client[@]}" -BN -e "SHOW STATUS LIKE 'Ssl_cipher'" 2>&1)
status=$("${client[@]}" -e status 2>&1)
if [[ $tls == required && $cipher == Ssl_cipher$'\t'?* && $status == *"Cipher in use is"* ]] ||
    [[ $tls == off && $cipher == Ssl_cipher$'\t' && $status == *"SSL:"*"Not in use"* ]]; then
    ok "encryption as asked for ($tls)"
else
    fail "encryption as asked for ($tls)" "$cipher; $(grep -i ssl <<<"$status")"
fi

counts=$("${client[@]}" -vv 2>&1 <<'END' | grep -E '^(Query OK|Rows matched|Records|ERROR|[0-9]+ rows? in set|Empty set)' | sed -E 's/ \([0-9.]+ sec\)//'
CREATE TABLE pair (id INT PRIMARY KEY, v INT);
INSERT INTO pair VALUES (1, 1), (2, 2), (3, 3);
UPDATE pair SET v = 2 WHERE id <= 2;
DELETE FROM pair WHERE id > 1;
SELECT * FROM pair;
SELECT * FROM pair WHERE id = 9;
DROP TABLE pair;
END
)
check "what the client says about affected rows" "Query OK, 0 rows affected
Query OK, 3 rows affected
Records: 3  Duplicates: 0  Warnings: 0
Query OK, 1 row affected
Rows matched: 2  Changed: 1  Warnings: 0
Query OK, 2 rows affected
1 row in set
Empty set
Query OK, 0 rows affected" "$counts"

vertical=$("${client[@]}" --vertical -e "SELECT 1 AS one, NULL AS nothing, 'ä' AS letter" 2>&1)
check "vertical output" "*************************** 1. row ***************************
    one: 1
nothing: NULL
 letter: ä" "$vertical"

if "${client[@]}" -e "SELECT * FROM no_such_table; SELECT 'went on'" >"$work/stopped" 2>&1; then
    fail "an error ends the script" "the exit code was 0"
elif grep -q "went on" "$work/stopped" || ! grep -q "^ERROR 1146" "$work/stopped"; then
    fail "an error ends the script" "$(cat "$work/stopped")"
else
    ok "an error ends the script"
fi

{
    echo "CREATE TABLE big (id INT PRIMARY KEY, content LONGBLOB);"
    printf "INSERT INTO big VALUES (1, X'"
    head -c 9500000 /dev/urandom | od -An -v -tx1 | tr -d ' \n' | tr a-f A-F | tee "$work/sent"
    echo "');"
} | "${client[@]}" >"$work/insert" 2>&1
"${client[@]}" -BN --quick -e "SELECT HEX(content) FROM big WHERE id = 1" 2>&1 | tr -d '\n' >"$work/received"
if cmp -s "$work/sent" "$work/received"; then
    ok "a statement and a result above 16 MB"
else
    fail "a statement and a result above 16 MB" "$(cat "$work/insert"; head -c 200 "$work/received"; wc -c "$work/received")"
fi

{
    echo "CREATE TABLE many (id INT PRIMARY KEY, name VARCHAR(40) NOT NULL, v BIGINT);"
    seq 0 9999 | awk '{
        printf "%s(%d, '\''name-%d'\'', %d)", NR % 1000 == 1 ? "INSERT INTO many VALUES " : ", ", $1, $1, $1 * $1
        if (NR % 1000 == 0) print ";"
    }'
} | "${client[@]}" >"$work/insert" 2>&1
seq 0 9999 | awk '{printf "%d\tname-%d\t%d\n", $1, $1, $1 * $1}' >"$work/sent"
for way in --skip-quick --quick; do
    "${client[@]}" -BN $way -e "SELECT * FROM many ORDER BY id" >"$work/received" 2>&1
    if cmp -s "$work/sent" "$work/received"; then
        ok "10,000 rows ($way)"
    else
        fail "10,000 rows ($way)" "$(cat "$work/insert"; diff "$work/sent" "$work/received" | head -n 5)"
    fi
done

# What SHOW CREATE TABLE says must make the same table again.
"${client[@]}" -e "CREATE TABLE shown (id INT UNSIGNED NOT NULL AUTO_INCREMENT, a VARCHAR(20) NOT NULL DEFAULT 'it''s',
    b DECIMAL(8,3), c DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6), d TEXT, PRIMARY KEY (id), UNIQUE KEY shown_a (a),
    KEY shown_b_c (b, c))" >"$work/create" 2>&1
first=$("${client[@]}" -BNr -e "SHOW CREATE TABLE shown" 2>>"$work/create" | cut -f 2-)
"${client[@]}" -e "DROP TABLE shown; $first" >>"$work/create" 2>&1
second=$("${client[@]}" -BNr -e "SHOW CREATE TABLE shown" 2>>"$work/create" | cut -f 2-)
if [[ $first == "CREATE TABLE"*shown_b_c* && $first == "$second" ]]; then
    ok "SHOW CREATE TABLE can be executed"
else
    fail "SHOW CREATE TABLE can be executed" "$(cat "$work/create")
$first
$second"
fi

ping=$("${admin[@]}" ping 2>&1)
uptime=$("${admin[@]}" status 2>&1)
if [[ $ping == *"is alive" && $uptime == Uptime:\ [0-9]* ]]; then
    ok "mariadb-admin ping and status"
else
    fail "mariadb-admin ping and status" "$ping
$uptime"
fi

wrong=$("${client[@]}" --user=no_such_user --password=wrong -e "SELECT 1" 2>&1)
if [[ $wrong == "ERROR 1045 (28000)"* ]]; then
    ok "an unknown user is refused"
else
    fail "an unknown user is refused" "$wrong"
fi

echo "$passed passed, $failed failed"
((failed == 0 && passed > 0))
