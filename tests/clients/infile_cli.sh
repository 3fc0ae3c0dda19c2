#!/usr/bin/env bash
# LOAD DATA LOCAL INFILE through the mariadb command line client, which sends the files.
#
#   infile_cli.sh [--host H] [--port P] [--socket S] [--user U] [--password W] [--tls required|off]
#
# One line a check, and the closing line "N passed, N failed"; the exit code is not 0 when one failed. What is expected is what
# MariaDB and MySQL 8 do alike (against-mariadb.sh runs it against MariaDB).
set -uo pipefail

host=127.0.0.1 port=3306 socket= user=root password= tls=required
while (($# > 0)); do
    case $1 in
        --host | --port | --socket | --user | --password | --tls)
            (($# >= 2)) || { echo "$1 wants a value" >&2; exit 2; }
            printf -v "${1#--}" %s "$2"
            shift 2 ;;
        *) echo "unknown option $1" >&2; exit 2 ;;
    esac
done

client=(timeout 60 mariadb --no-defaults "--user=$user" "--password=$password" --default-character-set=utf8mb4
    --connect-timeout=20 --force -BN)
if [[ -n $socket ]]; then
    client+=("--socket=$socket")
else
    client+=(--protocol=tcp "--host=$host" "--port=$port")
fi
if [[ $tls == required ]]; then
    client+=(--ssl)
else
    client+=(--skip-ssl)
fi

work=$(mktemp -d -t infile-cli.XXXXXX)
suffix=$(od -An -N6 -tx1 /dev/urandom | tr -d ' \n')
database=infile_$suffix
was=$("${client[@]}" -e "SELECT @@GLOBAL.local_infile" 2>/dev/null)
finish() {
    "${client[@]}" -e "DROP DATABASE IF EXISTS $database; SET GLOBAL local_infile = ${was:-0}" >/dev/null 2>&1
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

passed=0 failed=0
# Runs statements, in which 'FILE' is the path of $work/file, and compares what they answer. Of a warning and an error the number
# counts.
check() { # NAME STATEMENTS EXPECTED
    local actual
    actual=$(sed "s#'FILE'#'$work/file'#g" <<<"USE $database; $2" | "${client[@]}" --local-infile=1 2>&1 |
        sed -E -e 's/^(Warning|Note|Error)\t([0-9]+)\t.*$/\1 \2/' -e 's/^ERROR ([0-9]+) .*$/ERROR \1/' |
        # The client repeats a statement that failed between two dashed lines.
        awk '/^--------------$/ {echoed = !echoed; skip = !echoed; next} skip && !$0 {skip = 0; next} !echoed {skip = 0; print}')
    if [[ $actual == "$3" ]]; then
        passed=$((passed + 1))
        echo "ok     infile: $1"
    else
        failed=$((failed + 1))
        echo "FAILED infile: $1"
        diff <(echo "$3") <(echo "$actual") | sed 's/^/       /' | head -n 30 | cut -c 1-400
    fi
}
# Makes the file: printf's escapes.
file() {
    # shellcheck disable=SC2059 - the text is meant as a format
    printf "$1" >"$work/file"
}

"${client[@]}" -e "SET GLOBAL local_infile = 1; CREATE DATABASE $database CHARACTER SET utf8mb4" || exit 1
"${client[@]}" "$database" -e "
    CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(20), c DECIMAL(6, 2) DEFAULT 1.5);
    CREATE TABLE n (a INT NOT NULL, b VARCHAR(3) NOT NULL, c INT DEFAULT 4, d DATE NULL);
    CREATE TABLE big (id INT PRIMARY KEY, v VARCHAR(100), KEY (v))" || exit 1

file '1\tone\t10\n2\ttwo\t20.256\n3\t\\N\t\\N\n'
check "the default format" "LOAD DATA LOCAL INFILE 'FILE' INTO TABLE t; SHOW WARNINGS; SELECT * FROM t ORDER BY a" \
"Note 1265
1	one	10.00
2	two	20.26
3	NULL	NULL"

file '3\tdrei\t30\n4\tvier\t40\n'
check "taken keys are skipped" "LOAD DATA LOCAL INFILE 'FILE' INTO TABLE t; SHOW WARNINGS; SELECT a, b FROM t WHERE a > 2 ORDER BY a" \
"Warning 1062
3	NULL
4	vier"
check "REPLACE" "LOAD DATA LOCAL INFILE 'FILE' REPLACE INTO TABLE t; SELECT a, b FROM t WHERE a > 2 ORDER BY a" \
"3	drei
4	vier"

file 'id,name,"price"\r\n10,"a, ""b""",1\r\n11,NULL,2\r\n12,"NULL",\\N\r\n13,"x\r\ny",4'
check "quoted fields" "LOAD DATA LOCAL INFILE 'FILE' INTO TABLE t FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"' LINES TERMINATED BY '\\r\\n' IGNORE 1 LINES; SELECT a, HEX(b), c FROM t WHERE a > 9 ORDER BY a" \
"10	612C20226222	1.00
11	NULL	2.00
12	4E554C4C	NULL
13	780D0A79	4.00"

file 'a\\tb\\nc\\\\d\\0\\Z\\b\\q|20>\\N|21>x\\|y\\>z|22'
check "escapes and terminators" "LOAD DATA LOCAL INFILE 'FILE' INTO TABLE t FIELDS TERMINATED BY '|' LINES TERMINATED BY '>' (b, a); SELECT a, HEX(b) FROM t WHERE a BETWEEN 20 AND 29 ORDER BY a" \
"20	6109620A635C64001A0871
21	NULL
22	787C793E7A"

file '1\n1\tabcde\t2\t2024-05-06\t9\n\\N\t\\N\t\\N\t\\N\nx\ty\t\t2024-99-99\n2\tb\t3\t2024-05-07\t9'
check "ragged lines and wrong values" "LOAD DATA LOCAL INFILE 'FILE' INTO TABLE n; SHOW WARNINGS; SELECT * FROM n" \
"Warning 1261
Warning 1261
Warning 1261
Warning 1265
Warning 1262
Warning 1263
Warning 1263
Warning 1366
Warning 1366
Warning 1265
1		0	NULL
1	abc	2	2024-05-06
0		NULL	NULL
0	y	0	0000-00-00
2	b	3	2024-05-07"

file 'xxx30;7;z\nno xxx31;;y\nnothing\nxxx32;9'
check "variables and SET" "LOAD DATA LOCAL INFILE 'FILE' INTO TABLE t FIELDS TERMINATED BY ';' LINES STARTING BY 'xxx' (a, @c, @d) SET c = NULLIF(@c, '') * 2, b = CONCAT(@d, a), a = a + 10; SELECT * FROM t WHERE a BETWEEN 40 AND 49 ORDER BY a; SELECT @c, @d" \
"40	z30	14.00
41	y31	NULL
42	NULL	18.00
9	NULL"

file '50\t\xe9\x80\n'
check "CHARACTER SET latin1" "LOAD DATA LOCAL INFILE 'FILE' INTO TABLE t CHARACTER SET latin1 (a, b); SELECT HEX(b) FROM t WHERE a = 50" \
"C3A9E282AC"
file '51\t\xc3\xa9\xe2\x82\xac\n'
check "the character set of the database" "LOAD DATA LOCAL INFILE 'FILE' INTO TABLE t (a, b); SELECT HEX(b) FROM t WHERE a = 51" \
"C3A9E282AC"

file '60\tx\n'
check "errors before and behind the file leave the connection" "LOAD DATA LOCAL INFILE 'FILE' INTO TABLE nowhere; LOAD DATA LOCAL INFILE 'FILE' INTO TABLE t FIELDS ESCAPED BY 'ab'; SELECT 1; LOAD DATA LOCAL INFILE 'FILE' INTO TABLE t (a, b) SET c = (SELECT a FROM n); SELECT 2" \
"ERROR 1146
ERROR 1083
1
ERROR 1242
2"
check "in a transaction" "BEGIN; LOAD DATA LOCAL INFILE 'FILE' INTO TABLE t (a, b); SELECT COUNT(*) FROM t WHERE a = 60; ROLLBACK; SELECT COUNT(*) FROM t WHERE a = 60" \
"1
0"

seq 1 100000 | awk '{ printf "%d,\"value of row %d\"\n", $1, $1 }' >"$work/file"
check "100,000 rows" "LOAD DATA LOCAL INFILE 'FILE' INTO TABLE big FIELDS TERMINATED BY ',' ENCLOSED BY '\"'; SELECT ROW_COUNT(); SELECT COUNT(*), SUM(id), MIN(v), MAX(LENGTH(v)) FROM big" \
"100000
100000	5000050000	value of row 1	19"

check "an empty file" "LOAD DATA LOCAL INFILE '/dev/null' INTO TABLE t; SELECT ROW_COUNT()" "0"

refused=$("${client[@]}" --local-infile=1 -e "SET GLOBAL local_infile = 0; USE $database; LOAD DATA LOCAL INFILE '$work/file' INTO TABLE t" 2>&1 |
    grep -cE "^ERROR (3948|4166|1148)")
if ((refused == 1)); then
    passed=$((passed + 1))
    echo "ok     infile: local_infile = 0"
else
    failed=$((failed + 1))
    echo "FAILED infile: local_infile = 0"
fi

echo "$passed passed, $failed failed"
((failed == 0 && passed > 0))
