"""The written statements of the .sql files in this directory and their recorded answers, without a server.

statements.py has the forms of the files.
"""

import collections
import glob
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from values import equal_values, is_close, is_number  # noqa: E402

SQL_MODE = ("ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,"
            "NO_ENGINE_SUBSTITUTION")
# What MySQL has by default.
SETTINGS = ["SET group_concat_max_len = 1024"]
ROWS_SHOWN = 8

Statement = collections.namedtuple("Statement", "text error reference_error")
RELOAD = object()


def lines(path):
    with open(path, encoding="utf-8") as file:
        return file.read().split("\n")


def schema(reverse=False):
    for line in lines(os.path.join(HERE, "schema.sql")):
        if line and not line.startswith("--"):
            line = line.removesuffix(";")
            if reverse and line.startswith("INSERT "):
                head, rows = line.split(" VALUES ")
                line = f"{head} VALUES ({'), ('.join(reversed(rows[1:-1].split('), (')))})"
            yield line


def statements(feature):
    """The statements of a feature, and RELOAD."""
    error = 0, 0
    for number, line in enumerate(lines(os.path.join(HERE, f"{feature}.sql")), 1):
        if line == "-- reload":
            yield RELOAD
        elif found := re.fullmatch(r"-- error (\d+)(?:, reference (\d+))?", line):
            error = int(found[1]), int(found[2] or found[1])
        elif line and not line.startswith("--"):
            if not line.endswith(";"):
                raise ValueError(f"{feature}.sql:{number}: no `;` at the end")
            yield Statement(line.removesuffix(";"), *error)
            error = 0, 0


def features(only):
    found = sorted(os.path.basename(path).removesuffix(".sql") for path in glob.glob(f"{HERE}/*.sql"))
    found.remove("schema")
    if only:
        unknown = set(only.split(",")) - set(found)
        if unknown:
            sys.exit(f"no such feature: {', '.join(sorted(unknown))}")
        found = [feature for feature in found if feature in only.split(",")]
    return found


def is_ordered(statement):
    """Whether the outermost query has an ORDER BY: one outside of parentheses, but for those around the whole."""
    outline, depth = "", 0
    # No parenthesis in a text counts.
    statement = re.sub(r"'(?:[^'\\]|\\.|'')*'|`[^`]*`", lambda found: "x" * len(found[0]), statement).strip()
    whole = statement
    while whole.startswith("(") and closing(whole) == len(whole) - 1:
        whole = whole[1:-1].strip()
    for character in whole:
        depth += {"(": 1, ")": -1}.get(character, 0)
        outline += character if depth == 0 else " "
    return re.search(r"\bORDER\s+BY\b", outline, re.IGNORECASE) is not None


def closing(statement):
    """The position of the parenthesis that closes the first one."""
    depth = 0
    for position, character in enumerate(statement):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0:
            return position
    return None


def sort_key(row):
    """Rows that are equal to `equal_values` are next to each other: the last digits of doubles do not count."""
    return [("",) if value is None else ("0", f"{float(value):.9e}") if is_number(value) else ("1", value)
            for value in row]


def as_recorded(statement, result):
    """A result whose rows have one order."""
    if result[0] == "rows" and not is_ordered(statement):
        return (*result[:3], sorted(result[3], key=sort_key))
    return result


def shown(result):
    if result[0] == "rows":
        return f"{len(result[3])} rows {[list(row) for row in result[3][:ROWS_SHOWN]]!r}"
    return repr(result)


def differences(place, statement, ours, theirs):
    """[(text, value, value)], each text as explained.txt has it; values where the difference is one of two values."""
    ours, theirs = as_recorded(statement, ours), as_recorded(statement, theirs)
    if not (ours[0] == theirs[0] == "rows" and len(ours[1]) == len(theirs[1]) and len(ours[3]) == len(theirs[3])):
        equal = ours[0] != "rows" and ours[:2] == theirs[:2]
        return [] if equal else [(f"{place}: {shown(ours)} <> {shown(theirs)}", None, None)]
    _, names, types, rows = ours
    found = [f"{place}: column {i}: name {a!r} <> {b!r}" for i, (a, b) in enumerate(zip(names, theirs[1])) if a != b]
    found += [f"{place}: column {name}: type {a} <> {b}" for name, a, b in zip(names, types, theirs[2]) if a != b]
    found = [(text, None, None) for text in found]
    for row, their_row in zip(rows, theirs[3]):
        found += [(f"{place}: column {name}: {a!r} <> {b!r}", a, b) for name, a, b in zip(names, row, their_row)
                  if not equal_values(a, b)]
    return found


ROUNDED_VARIANCE = "MariaDB rounds a deviation or a variance to a few digits"


def is_rounded_variance(text, a, b):
    """Of a value of STDDEV or VARIANCE, to the fourth digit behind the decimal point."""
    return re.search(r"\b(STD|VAR)[A-Z_]*\(", text) is not None and is_close(a, b, rel_tol=0, abs_tol=5e-5)


def explanation(explained, difference):
    if is_rounded_variance(*difference):
        return ROUNDED_VARIANCE
    return next((reason for expression, reason in explained if expression.search(difference[0])), None)


# The recorded form. A block for each statement:
#
#   > STATEMENT
#   N rows: NAME TYPE, tab, NAME TYPE ...     and the rows, each on a line, with tabs between the values
#   error NUMBER
#   N affected

ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\0": "\\0"}
COLUMN = r"(.*?) ([A-Z_0-9]+(?:\(\d+\))?(?: UNSIGNED)?)"
ESCAPED = {escape: character for character, escape in ESCAPES.items()} | {"\\s": " "}


def escaped(value):
    """A value without spaces at its end; \\N is NULL, \\e an empty text, \\s a space, \\xHH a byte that is no UTF-8."""
    if not value:
        return "\\N" if value is None else "\\e"
    if value.endswith(" "):
        return escaped(value.rstrip(" ")) + "\\s" * (len(value) - len(value.rstrip(" ")))
    return re.sub(r"[\\\t\n\r\0\udc80-\udcff]",
                  lambda found: ESCAPES.get(found[0]) or f"\\x{ord(found[0]) - 0xDC00:02x}", value)


def unescaped(value):
    if value == "\\N":
        return None
    value = value.removeprefix("\\e")
    return re.sub(r"\\(x..|.)", lambda found: ESCAPED.get(found[0]) or chr(0xDC00 + int(found[1][1:], 16)), value)


def recorded_path(feature):
    return os.path.join(HERE, "recorded", f"{feature}.txt")


def read_recorded(feature):
    """[(statement, result)]"""
    found = []
    source = iter(lines(recorded_path(feature)))
    for line in source:
        if not line.startswith("> "):
            continue
        head = next(source)
        if head.startswith("error "):
            result = ("error", int(head.removeprefix("error ")), "")
        elif head.endswith(" affected"):
            result = ("ok", int(head.removesuffix(" affected")))
        else:
            count, columns = head.split(" rows: ", 1)
            columns = [re.fullmatch(COLUMN, column) for column in columns.split("\t")]
            rows = [tuple(map(unescaped, next(source).split("\t"))) for _ in range(int(count))]
            result = ("rows", [unescaped(column[1]) for column in columns], [column[2] for column in columns], rows)
        found.append((line[2:], result))
    return found
