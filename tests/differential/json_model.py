"""JSON as MySQL 8.0 defines it: values, their texts and order, paths and functions.

json_documents.py compares Skarv with this model, which needs no server. It is written from MySQL's
manual ("JSON Functions", "The JSON Data Type"), and from the behaviour of its server where the
manual leaves a case open; it shares nothing with Skarv's code.

A document is None, bool, int, Unsigned, float, Decimal, Temporal, str, list or dict. The members of
a dict are in any order; `members` gives them in MySQL's. SQL's NULL is `SQL_NULL`, because None is
the document null. Arrays and objects have the order of `<`, which Skarv has in ORDER BY, too.
"""

import copy
import decimal
import functools
import json
import re

DEPTH_MAX = 100
TOO_DEEP = 3157
NO_CELL = 3153
NAME_NULL = 3158
VACUOUS_PATH = 3165


class SqlNull:
    def __repr__(self):
        return "NULL"


SQL_NULL = SqlNull()


class Unsigned(int):
    """An integer without a sign: of a text, one that does not fit 32 bits."""


class Temporal(str):
    """A date, a time or a moment as a document prints it; `kind` is what JSON_TYPE returns."""

    def __new__(cls, kind, text):
        value = super().__new__(cls, text)
        value.kind = kind
        return value

    def __deepcopy__(self, _):
        return self


class Refused(Exception):
    """The error number with which MySQL refuses a statement."""

    def __init__(self, number):
        super().__init__(number)
        self.number = number


def refuse(number):
    raise Refused(number)


# --- texts ---


def integer(text):
    number = int(text)
    if -(1 << 63) <= number < 1 << 32:
        return number
    if 0 <= number < 1 << 64:
        return Unsigned(number)
    return double(text)


def double(text):
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError("a number beyond the range of doubles")
    return number


def no_constant(text):
    raise ValueError(text)


def parse(text):
    """The document of a text that is JSON. Of members of one name the last one counts."""
    return json.loads(text, parse_int=integer, parse_float=double, parse_constant=no_constant)


def is_valid(text):
    def characters(value):
        # Half of a surrogate pair is no character, also in a member that a later one replaces.
        json.dumps(value, ensure_ascii=False).encode()
        return value

    try:
        characters(
            json.loads(
                text,
                parse_int=integer,
                parse_float=double,
                parse_constant=no_constant,
                object_pairs_hook=lambda pairs: dict(characters(pairs)),
            )
        )
    except (ValueError, RecursionError):
        return False
    return True


ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
}


def quoted(text):
    return (
        '"'
        + re.sub(r'["\\\x00-\x1f]', lambda m: ESCAPES.get(m[0]) or f"\\u{ord(m[0]):04x}", text)
        + '"'
    )


def double_text(number):
    """The shortest digits that read back. Beyond 15 places on either side of the point there is an
    exponent, unless digits behind the point are shown."""
    sign, digits, exponent = decimal.Decimal(repr(number)).as_tuple()
    digits = "".join(map(str, digits)).lstrip("0")
    stripped = digits.rstrip("0")
    exponent += len(digits) - len(stripped)
    if not stripped:
        return "-0.0" if sign else "0.0"
    point = len(stripped) + exponent
    if point < -14 or len(stripped) <= point > 15:
        text = stripped[0] + ("." + stripped[1:] if stripped[1:] else "") + f"e{point - 1}"
    elif point <= 0:
        text = "0." + "0" * -point + stripped
    elif exponent < 0:
        text = stripped[:point] + "." + stripped[point:]
    else:
        text = stripped + "0" * exponent + ".0"
    return "-" + text if sign else text


def name_key(name):
    encoded = name.encode()
    return len(encoded), encoded


def members(value):
    """Shorter names first, names of one length by their bytes."""
    return sorted(value.items(), key=lambda member: name_key(member[0]))


def scalar_text(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return double_text(value)
    if isinstance(value, decimal.Decimal):
        return f"{value:f}"
    return quoted(value)


def text(value, depth=0):
    if isinstance(value, (list, dict)) and depth == DEPTH_MAX:
        raise Refused(TOO_DEEP)
    if isinstance(value, list):
        return "[" + ", ".join(text(element, depth + 1) for element in value) + "]"
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{quoted(n)}: {text(v, depth + 1)}" for n, v in members(value)) + "}"
        )
    return scalar_text(value)


def unquoted(value):
    return str(value) if isinstance(value, str) else text(value)


def pretty(value, level=0):
    if not isinstance(value, (list, dict)) or not value:
        return text(value)
    if isinstance(value, list):
        parts, ends = [pretty(element, level + 1) for element in value], "[]"
    else:
        parts, ends = [f"{quoted(n)}: {pretty(v, level + 1)}" for n, v in members(value)], "{}"
    inner, outer = "\n" + "  " * (level + 1), "\n" + "  " * level
    return ends[0] + inner + f",{inner}".join(parts) + outer + ends[1]


# --- kinds, sizes and order ---


def type_name(value):
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "BOOLEAN"
    if isinstance(value, Unsigned):
        return "UNSIGNED INTEGER"
    if isinstance(value, Temporal):
        return value.kind
    return {
        int: "INTEGER",
        float: "DOUBLE",
        decimal.Decimal: "DECIMAL",
        str: "STRING",
        list: "ARRAY",
        dict: "OBJECT",
    }[type(value)]


def depth(value):
    inner = value if isinstance(value, list) else value.values() if isinstance(value, dict) else []
    return 1 + max(map(depth, inner), default=0)


def length(value):
    return len(value) if isinstance(value, (list, dict)) else 1


def varying(size):
    """A length takes a byte for each seven of its bits."""
    return max(1, -(-size.bit_length() // 7))


def is_inlined(value, is_large):
    if value is None or isinstance(value, bool):
        return True
    if not isinstance(value, int):
        return False
    if isinstance(value, Unsigned):
        return value < 1 << 16 or (is_large and value < 1 << 32)
    bits = 31 if is_large else 15
    return -(1 << bits) <= value < 1 << bits


def payload_size(value):
    """Bytes of a value in MySQL's binary form, without the byte of its type."""
    if value is None or isinstance(value, bool):
        return 1
    if isinstance(value, int):
        if isinstance(value, Unsigned):
            return 2 if value < 1 << 16 else 4 if value < 1 << 32 else 8
        return 2 if -(1 << 15) <= value < 1 << 15 else 4 if -(1 << 31) <= value < 1 << 31 else 8
    if isinstance(value, float):
        return 8
    if isinstance(value, str) and not isinstance(value, Temporal):
        size = len(value.encode())
        return varying(size) + size
    small = container_size(value, False)
    return small if small < 1 << 16 else container_size(value, True)


def container_size(value, is_large):
    offset = 4 if is_large else 2
    size = 2 * offset
    for name in value if isinstance(value, dict) else ():
        size += offset + 2 + len(name.encode())
    for inner in value.values() if isinstance(value, dict) else value:
        size += 1 + offset + (0 if is_inlined(inner, is_large) else payload_size(inner))
    return size


def storage_size(value):
    return 1 + payload_size(value)


RANKS = ["NULL", "number", "STRING", "OBJECT", "ARRAY", "BOOLEAN", "DATE", "TIME", "DATETIME"]


def rank(value):
    is_number = isinstance(value, (int, float, decimal.Decimal)) and not isinstance(value, bool)
    return RANKS.index("number" if is_number else type_name(value))


def exact(number):
    """Numbers compare by their digits; those of a double are the shortest that read back."""
    return decimal.Decimal(repr(number)) if isinstance(number, float) else decimal.Decimal(number)


def sign(a, b):
    return (a > b) - (a < b)


def compare(a, b):
    """-1, 0 or 1: the order of the manual's "Comparison and Ordering of JSON Values"."""
    if rank(a) != rank(b):
        return sign(rank(a), rank(b))
    if a is None:
        return 0
    if isinstance(a, list):
        for x, y in zip(a, b):
            if found := compare(x, y):
                return found
        return sign(len(a), len(b))
    if isinstance(a, dict):
        if len(a) != len(b):
            return sign(len(a), len(b))
        for (name, x), (other, y) in zip(members(a), members(b)):
            if found := sign(name_key(name), name_key(other)) or compare(x, y):
                return found
        return 0
    if isinstance(a, str):
        return sign(str(a).encode(), str(b).encode())
    if isinstance(a, bool):
        return sign(a, b)
    return sign(exact(a), exact(b))


order_key = functools.cmp_to_key(compare)


# --- paths ---

# A leg is (kind, ...): ("member", name), ("members",), ("cell", number, from the end?), ("cells",),
# ("range", (number, from the end?), (number, from the end?)) or ("ellipsis",).
MULTIPLE = {"members", "cells", "range", "ellipsis"}


def is_multiple(legs):
    return any(leg[0] in MULTIPLE for leg in legs)


# Names that the generator writes without quotation marks.
PLAIN_NAME = re.compile(r"[^\W\d][\w$]*|[$_][\w$]*")


def index_text(index):
    number, from_end = index
    if not from_end:
        return str(number)
    return f"last-{number}" if number else "last"


def leg_text(leg):
    if leg[0] == "member":
        return "." + (leg[1] if PLAIN_NAME.fullmatch(leg[1]) else quoted(leg[1]))
    if leg[0] == "cell":
        return f"[{index_text(leg[1:])}]"
    if leg[0] == "range":
        return f"[{index_text(leg[1])} to {index_text(leg[2])}]"
    return {"members": ".*", "cells": "[*]", "ellipsis": "**"}[leg[0]]


def path_text(legs):
    return "$" + "".join(map(leg_text, legs))


def place(index, count):
    """The position of a cell in an array of `count` elements, and whether there is one."""
    number, from_end = index
    position = count - 1 - number if from_end else number
    return min(max(position, 0), count), 0 <= position < count


def range_of(leg, count):
    first = place(leg[1], count)[0]
    last, is_inside = place(leg[2], count)
    return range(first, last + 1 if is_inside else last)


def step(found, leg, wraps):
    """The values that a leg leads to from (location, value). A location is a tuple of names and
    positions."""
    location, value = found
    kind = leg[0]
    if kind == "member":
        if isinstance(value, dict) and leg[1] in value:
            yield (*location, leg[1]), value[leg[1]]
    elif kind == "members":
        if isinstance(value, dict):
            for name, inner in members(value):
                yield (*location, name), inner
    elif kind == "cells":
        if isinstance(value, list):
            for position, inner in enumerate(value):
                yield (*location, position), inner
    elif kind == "ellipsis":
        yield found
        inner = (
            enumerate(value)
            if isinstance(value, list)
            else members(value) if isinstance(value, dict) else ()
        )
        for key, element in inner:
            yield from step(((*location, key), element), leg, wraps)
    elif isinstance(value, list):
        if kind == "range":
            positions = range_of(leg, len(value))
        else:
            position, is_inside = place(leg[1:], len(value))
            positions = [position] if is_inside else []
        for position in positions:
            yield (*location, position), value[position]
    # A value that is no array counts as the only element of one.
    elif wraps and (len(range_of(leg, 1)) if kind == "range" else place(leg[1:], 1)[1]):
        yield found


def seek(value, legs, wraps=True):
    """[(location, value)], each once."""
    found = {(): value}
    for leg in legs:
        following = {}
        for one in found.items():
            for location, inner in step(one, leg, wraps):
                following.setdefault(location, inner)
        found = following
    return list(found.items())


def location_legs(location):
    return [("member", key) if isinstance(key, str) else ("cell", key, False) for key in location]


# --- functions that read ---


def extract(value, *paths):
    found = [inner for legs in paths for _, inner in seek(value, legs)]
    if not found:
        return SQL_NULL
    return found if len(paths) > 1 or is_multiple(paths[0]) else found[0]


def at(value, legs, wraps=True):
    """The value at a path that names one at most."""
    found = seek(value, legs, wraps)
    return found[0][1] if found else SQL_NULL


def keys(value, legs=()):
    value = at(value, legs, wraps=False)
    return [name for name, _ in members(value)] if isinstance(value, dict) else SQL_NULL


def length_at(value, legs):
    value = at(value, legs)
    return value if value is SQL_NULL else length(value)


def contains(target, candidate):
    if isinstance(target, list):
        candidates = candidate if isinstance(candidate, list) else [candidate]
        return all(any(contains(element, one) for element in target) for one in candidates)
    if isinstance(target, dict):
        return isinstance(candidate, dict) and all(
            name in target and contains(target[name], inner) for name, inner in candidate.items()
        )
    return compare(target, candidate) == 0


def contains_at(target, candidate, legs):
    target = at(target, legs)
    return target if target is SQL_NULL else int(contains(target, candidate))


def contains_path(value, which, *paths):
    found = [bool(seek(value, legs)) for legs in paths]
    return int(any(found) if which == "one" else all(found))


def elements(value):
    return value if isinstance(value, list) else [value]


def overlaps(a, b):
    if isinstance(a, dict) and isinstance(b, dict):
        return int(any(name in b and compare(value, b[name]) == 0 for name, value in a.items()))
    return int(any(compare(x, y) == 0 for x in elements(a) for y in elements(b)))


def member_of(value, array):
    return int(any(compare(value, element) == 0 for element in elements(array)))


def like(pattern, escape="\\"):
    """The expression of a LIKE pattern."""
    found, rest = "", iter(pattern)
    for character in rest:
        if character == escape:
            found += re.escape(next(rest, escape))
        else:
            found += {"%": ".*", "_": "."}.get(character) or re.escape(character)
    return re.compile(found, re.DOTALL)


def strings(location, value):
    if isinstance(value, list):
        for position, inner in enumerate(value):
            yield from strings((*location, position), inner)
    elif isinstance(value, dict):
        for name, inner in members(value):
            yield from strings((*location, name), inner)
    elif isinstance(value, str) and not isinstance(value, Temporal):
        yield location, value


def search(value, which, pattern, escape="\\", *paths):
    """The paths of strings. A path without wildcards begins with the argument, `last` included."""
    expression, found = like(pattern, escape), {}
    for legs in paths or [()]:
        for location, inner in seek(value, legs, wraps=False):
            start = path_text(location_legs(location) if is_multiple(legs) else legs)
            for below, string in strings((), inner):
                if expression.fullmatch(string):
                    found[start + path_text(location_legs(below))[1:]] = True
    found = list(found)[: 1 if which == "one" else None]
    return SQL_NULL if not found else found[0] if len(found) == 1 else found


def json_value(value, legs):
    """JSON_VALUE without RETURNING: a VARCHAR(512), NULL for a longer text, for null, and for
    several values."""
    found = seek(value, legs)
    if len(found) != 1 or found[0][1] is None:
        return SQL_NULL
    result = unquoted(found[0][1])
    return result if len(result) <= 512 else SQL_NULL


# --- functions that change ---


def find(holder, legs, wraps=True):
    """(container, key) of the value at a path that names one at most; None without it. `holder` is
    [document]."""
    where = (holder, 0)
    for leg in legs:
        value = where[0][where[1]]
        if leg[0] == "member":
            if not isinstance(value, dict) or leg[1] not in value:
                return None
            where = (value, leg[1])
        elif isinstance(value, list):
            position, is_inside = place(leg[1:], len(value))
            if not is_inside:
                return None
            where = (value, position)
        elif not wraps or not place(leg[1:], 1)[1]:
            return None
    return where


def put(value, pairs, inserts, replaces):
    holder = [copy.deepcopy(value)]
    for legs, new in pairs:
        new = copy.deepcopy(new)
        if where := find(holder, legs):
            if replaces:
                where[0][where[1]] = new
            continue
        parent = find(holder, legs[:-1])
        if not inserts or not parent:
            continue
        container, leg = parent[0][parent[1]], legs[-1]
        if leg[0] == "member":
            if isinstance(container, dict):
                container[leg[1]] = new
        else:
            cells = container if isinstance(container, list) else [container]
            cells.insert(place(leg[1:], len(cells))[0], new)
            parent[0][parent[1]] = cells
    return holder[0]


def array_append(value, pairs):
    holder = [copy.deepcopy(value)]
    for legs, new in pairs:
        if where := find(holder, legs):
            where[0][where[1]] = [*elements(where[0][where[1]]), copy.deepcopy(new)]
    return holder[0]


def array_insert(value, pairs):
    holder = [copy.deepcopy(value)]
    for legs, new in pairs:
        if not legs or legs[-1][0] != "cell":
            raise Refused(NO_CELL)
        where = find(holder, legs[:-1], wraps=False)
        if where and isinstance(where[0][where[1]], list):
            cells = where[0][where[1]]
            cells.insert(place(legs[-1][1:], len(cells))[0], copy.deepcopy(new))
    return holder[0]


def remove(value, paths):
    if not all(paths):
        raise Refused(VACUOUS_PATH)
    holder = [copy.deepcopy(value)]
    for legs in paths:
        where = find(holder, legs)
        # The document itself stays.
        if where and where[0] is not holder:
            del where[0][where[1]]
    return holder[0]


def merge_preserve(*values):
    def merged(a, b):
        if isinstance(a, dict) and isinstance(b, dict):
            return {
                name: (
                    merged(a[name], b[name])
                    if name in a and name in b
                    else a.get(name, b.get(name))
                )
                for name in {**a, **b}
            }
        return elements(a) + elements(b)

    return functools.reduce(merged, values)


def merge_patch(*values):
    """RFC 7396; SQL's NULL merged with an object is NULL, and any other value replaces it."""

    def merged(a, b):
        if not isinstance(b, dict):
            return b
        result = dict(a) if isinstance(a, dict) else {}
        for name, value in b.items():
            if value is None:
                result.pop(name, None)
            else:
                result[name] = merged(result.get(name), value)
        return result

    result = values[0]
    for value in values[1:]:
        if value is SQL_NULL or (result is SQL_NULL and isinstance(value, dict)):
            result = SQL_NULL
        else:
            result = merged(result, value)
    return result
