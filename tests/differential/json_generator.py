"""Random documents, paths, and calls of every JSON function with their results (json_model.py).

A seed and a number stand for the same document and calls everywhere. The table `documents` has the
text of each document in `t` and the document in `d`; a call reads either.
"""

import collections
import decimal
import random
import re

import json_model as model
from json_model import SQL_NULL, Refused, Temporal, Unsigned

INVALID_TEXT = 3141

# A call: the function, its expression over `d` and `t`, what MySQL 8.0 returns, how the result of
# MariaDB is compared ("json", "values", "unquoted", "text", or None where MariaDB lacks the function or
# defines it otherwise), and marks that explanations read.
Call = collections.namedtuple("Call", "function sql expected compared marks")
# A statement of its own, and its rows. MariaDB has other numbers for strings in OWN_COLUMN.
Statement = collections.namedtuple("Statement", "function sql rows compared marks ordered")
OWN_COLUMN = 4

NAMES = [
    "a",
    "b",
    "c",
    "d",
    "ab",
    "ba",
    "key",
    "A",
    "",
    " ",
    "a b",
    "a.b",
    "1",
    "0x",
    "$x",
    "_y",
    "é",
    "ключ",
    "😀",
    'q"q',
    "back\\slash",
    "tab\t",
    "[0]",
    "*",
    "last",
    "name of some length, which is more than the others have",
]
WORDS = [
    "",
    "a",
    "b",
    "abc",
    "ABC",
    "text",
    "a%b",
    "a_b",
    "10",
    "-5",
    "1.5",
    "true",
    "null",
    "é",
    "e",
    "ключ",
    "日本語",
    "😀",
    "👩‍👧",
    'say "x"',
    "back\\slash",
    "line\nbreak",
    "tab\t",
    "\b\f\r",
    "\0",
    "\x1f",
    "\x7f",
    "/",
    "{}",
    "[1]",
    "\u2028",
    "\ufeff",
    "\uffff",
    "2020-01-02",
    " padded ",
    "'",
]
INTEGERS = [int(number) for number in """
    0 1 -1 2 7 10 100 127 128 255 256 32767 32768 -32768 -32769 65535 65536 2147483647
    2147483648 -2147483648 -2147483649 4294967295 4294967296 9007199254740993
    9223372036854775807 9223372036854775808 -9223372036854775808 -9223372036854775809
    18446744073709551615 18446744073709551616 10000000000000000000000000
    -1000000000000000000000000000000
""".split()]
NUMBERS = """
    0.0 -0 -0.0 1.0 1.5 -1.5 0.1 0.10 1e2 1E+2 1e-2 100e-2 1e15 1e16 1e-14 1e-15 1e-16
    123456789012345.6 1234567890123456.7 12345678901234567.8 1e100 -1e100 1e308
    1.7976931348623157e308 5e-324 2.2250738585072014e-308 1e-400 3.141592653589793
    0.30000000000000004 9007199254740993.0 9223372036854775807.0 18446744073709551615.0
    1.00000000000000000000001
""".split()
# Expressions that are refused, with their errors.
REFUSED = [
    *(
        (f"JSON_EXTRACT(d, '{path}')", 3143)
        for path in [
            "",
            "a",
            "$a",
            "$.",
            "$[",
            "$**",
            "$***.a",
            "$.a..b",
            "$[-1]",
            "$[2 to 1]",
            "$[last-1 to last-2]",
            '$."a',
            "$.1a",
            "$[1.5]",
        ]
    ),
    *(
        (f"{function}(d, '{path}', 1)", 3149)
        for function in ["JSON_SET", "JSON_INSERT", "JSON_REPLACE", "JSON_ARRAY_APPEND"]
        for path in ["$.*", "$[*]", "$**.a", "$[0 to 1]"]
    ),
    ("JSON_REMOVE(d, '$[0]', '$.*')", 3149),
    ("JSON_LENGTH(d, '$**.a')", 3149),
    ("JSON_CONTAINS(d, '1', '$[*]')", 3149),
    ("JSON_KEYS(d, '$.*')", 3149),
    ("JSON_REMOVE(d, '$')", 3165),
    ("JSON_ARRAY_INSERT(d, '$', 1)", 3153),
    ("JSON_ARRAY_INSERT(d, '$[0].a', 1)", 3153),
    ("JSON_CONTAINS_PATH(d, 'some', '$')", 3154),
    ("JSON_SEARCH(d, 'any', 'a')", 3154),
    ("JSON_DEPTH(1)", 3146),
    ("JSON_MERGE_PRESERVE(d, 1.5)", 3146),
    ("JSON_OBJECT(NULL, d)", 3158),
    ("JSON_TYPE(X'5b5d')", 3144),
    ("JSON_OVERLAPS(d, '')", 3141),
    ("JSON_SET(d, '$.', 1, NULL, 2)", 3143),
    ("JSON_QUOTE(1)", 3064),
    ("JSON_SEARCH(d, 'one', 'a', 'ab')", 1210),
    ("1 MEMBER OF ('[1')", 3141),
]
# Pieces of JSON, and of texts that resemble it.
# fmt: off
PIECES = [
    '"', "\\", "{", "}", "[", "]", ":", ",", "0", "1", "9", "-", "+", ".", "e", "E", "t", "null",
    "true", " ", "\n", "\t", "\v", "\x00", "\x1f", "'", "/", "#", "\u00a0", "\ufeff", "\\u",
    "\\ud83d", "\\ude00", "\\x", "NaN", "Infinity", "a", "é",
]
# fmt: on
SPACES = ["", "", "", "", " ", "  ", "\n", "\t", "\r\n "]


def literal(text):
    """A text as a literal of SQL."""
    for character, escape in ("\\", "\\\\"), ("'", "\\'"), ("\0", "\\0"):
        text = text.replace(character, escape)
    return f"'{text}'"


class Document:
    """A text, and the document that it is."""

    def __init__(self, text):
        self.text = text
        self.value = model.parse(text)
        self.marks = marks(self.value)


def marks(value):
    # MariaDB has 32 levels.
    return ["deep"] if model.depth(value) > 24 else []


class Generator:
    def __init__(self, seed, number):
        self.random = random.Random(f"{seed} {number}")
        self.left = 0

    # --- documents ---

    def chance(self, probability):
        return self.random.random() < probability

    def space(self):
        return self.random.choice(SPACES) if self.spaced else ""

    def string(self, value):
        """The text as JSON, with escapes that need not be."""
        out = ""
        for character in value:
            code = ord(character)
            plain = model.quoted(character)[1:-1]
            if character == "/" and self.chance(0.5):
                plain = "\\/"
            elif self.chance(0.06 if code < 128 else 0.3):
                units = (
                    [code]
                    if code < 0x10000
                    else [0xD800 + (code - 0x10000 >> 10), 0xDC00 + (code & 0x3FF)]
                )
                plain = "".join(f"\\u{unit:{self.random.choice(['04x', '04X'])}}" for unit in units)
            out += plain
        return f'"{out}"'

    def word(self):
        if self.chance(0.8):
            return self.random.choice(WORDS)
        alphabet = "abcdxyz019 _%\\\"'/éüß日😀\n\x01"
        size = self.random.choice([1, 3, 8, 30, 127, 128, 300]) if self.chance(0.997) else 17000
        return "".join(self.random.choice(alphabet) for _ in range(size))

    def number(self):
        choice = self.random.random()
        if choice < 0.35:
            return str(self.random.randint(-3, 12))
        if choice < 0.6:
            return str(self.random.choice(INTEGERS))
        if choice < 0.8:
            return self.random.choice(NUMBERS)
        if choice < 0.9:
            return repr(self.random.uniform(-1, 1) * 10.0 ** self.random.randint(-320, 300))
        return f"{self.random.randint(-10 ** 6, 10 ** 6)}.{self.random.randint(0, 999)}"

    def scalar(self):
        choice = self.random.random()
        if choice < 0.4:
            return self.number()
        if choice < 0.75:
            return self.string(self.word())
        return self.random.choice(["true", "false", "null"])

    def value(self, level):
        self.left -= 1
        if self.left <= 0 or level == 0 or self.chance(0.3):
            return (
                self.scalar()
                if self.chance(0.9)
                else self.random.choice(["[]", "{}", "[ ]", "{\n}"])
            )
        count = self.random.choice([0, 1, 1, 2, 2, 3, 4, 6])
        if self.chance(0.5):
            parts = [self.space() + self.value(level - 1) + self.space() for _ in range(count)]
            return "[" + ",".join(parts) + "]" if parts else "[]"
        parts = [
            f"{self.space()}{self.string(self.random.choice(NAMES))}{self.space()}:"
            f"{self.space()}{self.value(level - 1)}"
            for _ in range(count)
        ]
        return "{" + ",".join(parts) + self.space() + "}" if parts else "{}"

    def document(self):
        self.spaced = self.chance(0.5)
        choice = self.random.random()
        self.left = self.random.choice([1, 4, 10, 20, 40])
        if choice < 0.06:
            found = self.scalar()
        elif choice < 0.10:
            level = self.random.choice([20, 33, 60, 98, 99, 100])
            found = self.scalar()
            for _ in range(level):
                found = (
                    f"[{found}]"
                    if self.chance(0.6)
                    else f'{{"{self.random.choice("ab")}": {found}}}'
                )
        elif choice < 0.107:
            # Above 64 KiB: the large form.
            found = (
                "[" + ",".join(self.scalar() for _ in range(self.random.choice([400, 9000]))) + "]"
            )
        elif choice < 0.113:
            found = (
                "{"
                + ",".join(
                    f'"{n}{self.random.choice(NAMES[:6])}": {self.number()}' for n in range(4000)
                )
                + "}"
            )
        else:
            # The root is a container more often than other values are.
            found = max((self.value(5) for _ in range(2)), key=len)
        return Document(self.space() + found + self.space())

    def damaged(self, text):
        """The text with a few characters that are lost, added or others."""
        for _ in range(self.random.choice([1, 1, 2, 3])):
            at = self.random.randrange(len(text) + 1)
            added = self.random.choice(PIECES)
            text = (
                text[:at]
                + (added if self.chance(0.6) else "")
                + text[at + self.random.choice([0, 1]) :]
            )
            if self.chance(0.1):
                text = text[: self.random.randrange(len(text) + 1)]
        return text

    # --- paths ---

    def index(self, count):
        number = (
            self.random.randrange(count)
            if count and self.chance(0.8)
            else self.random.choice([0, 1, count, count + 2])
        )
        return number, self.chance(0.3)

    def path(self, value, multiple=False, cell=False):
        """Legs that lead somewhere in the document more often than not."""
        legs = []
        while self.chance(0.85) and len(legs) < 5:
            if not isinstance(value, (list, dict)) and self.chance(0.7):
                break
            if multiple and self.chance(0.25):
                kind = self.random.choice(["members", "cells", "range", "ellipsis"])
                if kind == "range":
                    legs.append(self.range(len(value) if isinstance(value, list) else 1))
                elif kind != "ellipsis" or legs[-1:] != [("ellipsis",)]:
                    legs.append((kind,))
                found = model.seek(value, [legs[-1]]) if legs else []
                value = self.random.choice(found)[1] if found else value
                continue
            if isinstance(value, dict) and self.chance(0.95):
                name = (
                    self.random.choice(list(value) or NAMES)
                    if self.chance(0.93)
                    else self.random.choice(NAMES)
                )
                legs.append(("member", name))
            elif isinstance(value, list) or self.chance(0.5):
                legs.append(("cell", *self.index(len(value) if isinstance(value, list) else 1)))
            else:
                legs.append(("member", self.random.choice(NAMES)))
            found = model.at(value, [legs[-1]])
            value = None if found is SQL_NULL else found
        if cell and (not legs or legs[-1][0] != "cell"):
            legs.append(("cell", *self.index(len(value) if isinstance(value, list) else 1)))
        if legs[-1:] == [("ellipsis",)]:
            legs.append(
                self.random.choice(
                    [("member", self.random.choice(NAMES[:5])), ("cell", 0, False), ("cells",)]
                )
            )
        return legs

    def range(self, count):
        first, last = self.index(count), self.index(count)
        if first[1] == last[1] and ((first < last) if first[1] else (last < first)):
            first, last = last, first
        return ("range", first, last)

    def spelled(self, legs):
        """The path as text, at times with spaces."""
        text = model.path_text(legs)
        if self.chance(0.02) and not any(leg[0] == "member" for leg in legs):
            text = text.replace("[", "[ ").replace("]", " ]").replace("$", " $ ")
        return text

    # --- values of SQL ---

    def sql_value(self):
        """(an SQL expression, the value that it is inside a document)"""
        choice = self.random.random()
        if choice < 0.2:
            number = self.random.choice(INTEGERS[:-2])
            if -(1 << 63) < number < 1 << 63:
                return str(number), number
            if 0 < number < 1 << 64:
                return str(number), Unsigned(number)
            return str(number), decimal.Decimal(number)
        if choice < 0.3:
            text = self.random.choice(
                ["1.50", "-0.1", "12345678901234567890.123456789", "0.0", "7.0"]
            )
            return text, decimal.Decimal(text)
        if choice < 0.35:
            text = self.random.choice(["1e0", "1.5e0", "-2e100", "0.1e0"])
            return text, float(text)
        if choice < 0.6:
            word = self.random.choice(WORDS)
            return literal(word), word
        if choice < 0.7:
            return self.random.choice([("TRUE", True), ("FALSE", False)])
        if choice < 0.8:
            return "NULL", None
        if choice < 0.84:
            return self.random.choice(
                [
                    ("DATE'2020-01-02'", Temporal("DATE", "2020-01-02")),
                    ("TIME'10:11:12.5'", Temporal("TIME", "10:11:12.500000")),
                    (
                        "TIMESTAMP'2020-01-02 03:04:05'",
                        Temporal("DATETIME", "2020-01-02 03:04:05.000000"),
                    ),
                ]
            )
        self.left, self.spaced = 5, False
        value = model.parse(self.value(2))
        return f"JSON_EXTRACT({literal(model.text(value))}, '$')", value

    def small(self, value):
        """A document that shares something with `value`: (its text, the document)"""
        found = model.seek(value, self.path(value, multiple=True))
        if found and self.chance(0.6):
            part = self.random.choice(found)[1]
        else:
            self.left, self.spaced = 4, False
            part = model.parse(self.value(2))
        if self.chance(0.2):
            part = [part]
        elif isinstance(part, list) and part and self.chance(0.5):
            part = self.random.sample(part, self.random.randint(1, min(len(part), 4)))
        elif isinstance(part, dict) and part and self.chance(0.5):
            names = self.random.sample(list(part), self.random.randint(1, min(len(part), 3)))
            part = {name: part[name] for name in names}
        text = model.text(part) if model.depth(part) <= model.DEPTH_MAX else "1"
        return text, model.parse(text)

    # --- calls ---

    def calls(self, document):
        """Calls of each function on the document."""
        value = document.value
        found = []

        def add(function, sql, result, compared="json", paths=()):
            """`result` returns a document for "json", "document" and "values", otherwise a text or
            an int; SQL_NULL for NULL. "document" and "here" are not compared with MariaDB."""
            marked = list(document.marks)
            if any(
                model.seek(value, legs) != model.seek(value, legs, wraps=False) for legs in paths
            ):
                marked.append("wraps")
            if any(not legs for legs in paths):
                marked.append("root")
            try:
                expected = result()
                if expected is SQL_NULL:
                    expected = None
                elif compared in ("json", "document", "values"):
                    expected = model.text(expected)
                else:
                    expected = str(expected)
            except Refused as error:
                expected = ("error", error.number)
            compared = None if compared in ("document", "here") else compared
            found.append(Call(function, sql, expected, compared, marked))

        def source():
            return self.random.choice(["d", "t"])

        def path_argument(legs):
            return literal(self.spelled(legs))

        one = [self.path(value) for _ in range(8)]
        many = [self.path(value, multiple=True) for _ in range(6)]
        cells = [self.path(value, cell=True) for _ in range(3)]
        arguments = [path_argument(legs) for legs in one]
        many_arguments = [path_argument(legs) for legs in many]

        # The whole document.
        add("column", "d", lambda: value)
        add("CAST AS JSON", "CAST(t AS JSON)", lambda: value, "document")
        add("CAST AS CHAR", "CAST(d AS CHAR)", lambda: model.text(value), "here")
        add("JSON_TYPE", f"JSON_TYPE({source()})", lambda: model.type_name(value), "text")
        add("JSON_DEPTH", f"JSON_DEPTH({source()})", lambda: model.depth(value), "text")
        add("JSON_VALID", f"JSON_VALID({source()})", lambda: 1, "text")
        add("JSON_LENGTH", f"JSON_LENGTH({source()})", lambda: model.length(value), "text")
        add(
            "JSON_LENGTH",
            f"JSON_LENGTH({source()}, {arguments[0]})",
            lambda: model.length_at(value, one[0]),
            "text",
            one[:1],
        )
        add("JSON_PRETTY", f"JSON_PRETTY({source()})", lambda: model.pretty(value), "here")
        add(
            "JSON_STORAGE_SIZE",
            f"JSON_STORAGE_SIZE({source()})",
            lambda: model.storage_size(value),
            "here",
        )
        add("JSON_STORAGE_FREE", "JSON_STORAGE_FREE(d)", lambda: 0, "here")

        # Damaged texts, and arguments that are refused.
        for _ in range(2 if len(document.text) < 3000 and not document.marks else 0):
            damaged = self.damaged(document.text)
            is_valid = model.is_valid(damaged)
            add("JSON_VALID", f"JSON_VALID({literal(damaged)})", lambda v=is_valid: int(v), "text")
            add(
                "CAST AS JSON",
                f"CAST({literal(damaged)} AS JSON)",
                lambda v=is_valid, t=damaged: model.parse(t) if v else model.refuse(INVALID_TEXT),
                "document",
            )
        sql, error = self.random.choice(REFUSED)
        add(sql.partition("(")[0], sql, lambda: model.refuse(error), "here")

        # Its parts.
        legs = self.random.choice([one[1], many[0]])
        for inner in model.seek(value, legs)[:1]:
            add(
                "JSON_TYPE",
                f"JSON_TYPE(JSON_EXTRACT({source()}, {literal(model.path_text(legs))}))",
                lambda: model.type_name(model.extract(value, legs)),
                "text",
                [legs],
            )
        add(
            "JSON_EXTRACT",
            f"JSON_EXTRACT({source()}, {arguments[1]})",
            lambda: model.extract(value, one[1]),
            paths=one[1:2],
        )
        add(
            "JSON_EXTRACT",
            f"JSON_EXTRACT({source()}, {many_arguments[0]})",
            lambda: model.extract(value, many[0]),
            "values",
            many[:1],
        )
        add(
            "JSON_EXTRACT",
            f"JSON_EXTRACT({source()}, {many_arguments[1]}, {arguments[2]})",
            lambda: model.extract(value, many[1], one[2]),
            "values",
            [many[1], one[2]],
        )
        add("->", f"d->{many_arguments[2]}", lambda: model.extract(value, many[2]), "document")

        def unquoted(result):
            return result if result is SQL_NULL else model.unquoted(result)

        add("->>", f"d->>{arguments[3]}", lambda: unquoted(model.extract(value, one[3])), "here")
        add(
            "JSON_UNQUOTE",
            f"JSON_UNQUOTE(JSON_EXTRACT({source()}, {arguments[4]}))",
            lambda: unquoted(model.extract(value, one[4])),
            "unquoted",
            one[4:5],
        )
        add(
            "JSON_VALUE",
            f"JSON_VALUE({source()}, {many_arguments[3]})",
            lambda: model.json_value(value, many[3]),
            "here",
        )
        add(
            "JSON_VALUE",
            f"JSON_VALUE({source()}, {arguments[5]})",
            lambda: model.json_value(value, one[5]),
            "text",
            one[5:6],
        )
        add("JSON_KEYS", f"JSON_KEYS({source()})", lambda: model.keys(value))
        add(
            "JSON_KEYS",
            f"JSON_KEYS({source()}, {arguments[6]})",
            lambda: model.keys(value, one[6]),
            paths=one[6:7],
        )

        # Searches in it.
        text, candidate = self.small(value)
        add(
            "JSON_CONTAINS",
            f"JSON_CONTAINS({source()}, {literal(text)})",
            lambda: int(model.contains(value, candidate)),
            "text",
        )
        text2, candidate2 = self.small(value)
        add(
            "JSON_CONTAINS",
            f"JSON_CONTAINS({source()}, {literal(text2)}, {arguments[7]})",
            lambda: model.contains_at(value, candidate2, one[7]),
            "text",
            one[7:8],
        )
        text3, other = self.small(value)
        left, right = self.random.choice([(source(), literal(text3)), (literal(text3), source())])
        add(
            "JSON_OVERLAPS",
            f"JSON_OVERLAPS({left}, {right})",
            lambda: model.overlaps(value, other),
            "text",
        )
        text4, member = self.small(value)
        add(
            "MEMBER OF",
            f"JSON_EXTRACT({literal(text4)}, '$') MEMBER OF ({source()})",
            lambda: model.member_of(member, value),
            "here",
        )
        sql, scalar = self.sql_value()
        add(
            "MEMBER OF",
            f"{sql} MEMBER OF ({source()})",
            lambda: SQL_NULL if sql == "NULL" else model.member_of(scalar, value),
            "here",
        )
        which = self.random.choice(["one", "all"])
        add(
            "JSON_CONTAINS_PATH",
            f"JSON_CONTAINS_PATH({source()}, '{which}', {many_arguments[4]}, {arguments[0]})",
            lambda: model.contains_path(value, which, many[4], one[0]),
            "text",
            [many[4], one[0]],
        )
        word = self.random.choice([string for _, string in model.strings((), value)] or WORDS)
        pattern, escape = self.pattern(word)
        ending = "" if escape == "\\" else f", {literal(escape)}"
        add(
            "JSON_SEARCH",
            f"JSON_SEARCH({source()}, '{which}', {literal(pattern)}{ending})",
            lambda: model.search(value, which, pattern, escape),
        )
        places = [self.random.choice([many[5], one[1]]), *([one[2]] if self.chance(0.3) else [])]
        add(
            "JSON_SEARCH",
            f"JSON_SEARCH({source()}, 'all', {literal(pattern)}, {literal(escape)}, "
            f"{', '.join(literal(model.path_text(legs)) for legs in places)})",
            lambda: model.search(value, "all", pattern, escape, *places),
            paths=places,
        )

        # Changes.
        def pairs(paths):
            parts, values = [], []
            for legs in paths:
                sql, new = self.sql_value()
                parts.append(f"{path_argument(legs)}, {sql}")
                values.append((legs, new))
            return ", ".join(parts), values

        for function, change, paths in [
            ("JSON_SET", lambda p: model.put(value, p, True, True), one[0:2]),
            ("JSON_SET", lambda p: model.put(value, p, True, True), one[4:5]),
            ("JSON_INSERT", lambda p: model.put(value, p, True, False), one[2:4]),
            ("JSON_REPLACE", lambda p: model.put(value, p, False, True), one[4:6]),
            ("JSON_ARRAY_APPEND", lambda p: model.array_append(value, p), one[5:7]),
            (
                "JSON_ARRAY_INSERT",
                lambda p: model.array_insert(value, p),
                cells[: self.random.choice([1, 2])],
            ),
        ]:
            sql, values = pairs(paths)
            add(
                function,
                f"{function}({source()}, {sql})",
                lambda c=change, v=values: c(v),
                paths=paths,
            )
        removed = [legs for legs in (cells[2], one[6], one[7]) if legs][
            : self.random.choice([1, 2])
        ]
        add(
            "JSON_REMOVE",
            f"JSON_REMOVE({source()}, {', '.join(path_argument(legs) for legs in removed)})",
            lambda: model.remove(value, removed),
            paths=removed,
        )
        text5, other5 = self.small(value)
        add(
            "JSON_MERGE_PRESERVE",
            f"JSON_MERGE_PRESERVE({source()}, {literal(text5)})",
            lambda: model.merge_preserve(value, other5),
        )
        self.left, self.spaced = 8, False
        text6 = model.text(model.parse(self.value(3)))
        add(
            "JSON_MERGE_PATCH",
            f"JSON_MERGE_PATCH({source()}, {literal(text6)}, {literal(text5)})",
            lambda: model.merge_patch(value, model.parse(text6), other5),
        )
        add(
            "JSON_MERGE_PATCH",
            f"JSON_MERGE_PATCH({literal(text6)}, {source()})",
            lambda: model.merge_patch(model.parse(text6), value),
        )
        merged = [(source(), value), (literal(text5), other5), ("NULL", SQL_NULL)]
        self.random.shuffle(merged)
        add(
            "JSON_MERGE_PATCH",
            f"JSON_MERGE_PATCH({', '.join(sql for sql, _ in merged)})",
            lambda: model.merge_patch(*(own for _, own in merged)),
            "document",
        )
        add(
            "JSON_MERGE",
            f"JSON_MERGE({literal(text6)}, {source()})",
            lambda: model.merge_preserve(model.parse(text6), value),
        )

        # Documents of SQL values.
        values = [self.sql_value() for _ in range(self.random.randint(0, 4))]
        add(
            "JSON_ARRAY",
            f"JSON_ARRAY({', '.join(['d', *(sql for sql, _ in values)])})",
            lambda: [value, *(own for _, own in values)],
        )
        named = [
            (self.random.choice(NAMES), *self.sql_value()) for _ in range(self.random.randint(0, 4))
        ]
        add(
            "JSON_OBJECT",
            "JSON_OBJECT({})".format(
                ", ".join(
                    [*(f"{literal(name)}, {sql}" for name, sql, _ in named), "'of the column', d"]
                )
            ),
            lambda: {**{name: own for name, _, own in named}, "of the column": value},
        )
        add("JSON_QUOTE", f"JSON_QUOTE({literal(word)})", lambda: model.quoted(word), "text")
        add("JSON_UNQUOTE", f"JSON_UNQUOTE({literal(self.string(word))})", lambda: word, "text")

        # Comparisons and casts.
        legs = one[0]
        inner = model.extract(value, legs)
        extracted = f"JSON_EXTRACT(d, {literal(model.path_text(legs))})"
        sql, scalar = self.comparable(inner)
        operator = self.random.choice(["=", "<", ">", "<=", ">=", "<>"])
        add(
            "comparison",
            f"{extracted} {operator} {sql}",
            lambda: compared(inner, operator, scalar),
            "here",
        )
        sql2, scalar2 = self.comparable(inner)
        add(
            "comparison",
            f"{extracted} IN ({sql}, {sql2})",
            lambda: (
                inner
                if inner is SQL_NULL
                else int(0 in (model.compare(inner, scalar), model.compare(inner, scalar2)))
            ),
            "here",
        )
        for legs in self.numbers(value):
            inner = model.extract(value, legs)
            extracted = f"JSON_EXTRACT({source()}, {literal(model.path_text(legs))})"
            add("CAST AS SIGNED", f"CAST({extracted} AS SIGNED)", lambda: signed(inner), "here")
            add("CAST AS DOUBLE", f"CAST({extracted} AS DOUBLE)", lambda: as_double(inner), "here")
            for target, result in [
                ("DOUBLE", lambda: as_double(inner)),
                ("SIGNED", lambda: returned(inner, -1)),
                ("UNSIGNED", lambda: returned(inner, 0)),
                ("JSON", lambda: model.text(inner)),
            ]:
                add(
                    "JSON_VALUE",
                    f"JSON_VALUE({source()}, {literal(model.path_text(legs))} RETURNING {target})",
                    result,
                    "here",
                )
        return found

    def pattern(self, word):
        """A pattern of LIKE and its escape character."""
        word = word[:40]
        escape = self.random.choice(["\\", "\\", "|"])
        pattern = "".join(escape + c if c in "%_\\|" and self.chance(0.7) else c for c in word)
        choice = self.random.random()
        if choice < 0.2:
            return "%", escape
        if choice < 0.6 and pattern and pattern[-1] not in "\\|":
            return pattern + "%", escape
        if choice < 0.8 and word and word[0] not in "%_\\|":
            return "_" + pattern[1:] + "%", escape
        return (
            pattern if len(word) < 40 and not re.search(r"[\\|]$", pattern) else pattern + "%"
        ), escape

    def comparable(self, value):
        """(an SQL expression, its value as a document) near the value, never NULL"""
        if self.chance(0.4) and isinstance(value, str):
            return literal(value), value
        if self.chance(0.4) and isinstance(value, (int, float)) and not isinstance(value, bool):
            text = (
                model.double_text(value) + ("" if "e" in model.double_text(value) else "e0")
                if isinstance(value, float)
                else str(int(value))
            )
            return text, float(text) if isinstance(value, float) else value
        while True:
            sql, found = self.sql_value()
            if sql != "NULL":
                return sql, found

    def numbers(self, value):
        """Paths of a number or a truth value."""
        found = [
            location
            for location, inner in model.seek(value, [("ellipsis",)])
            if isinstance(inner, (int, float))
        ]
        return [model.location_legs(self.random.choice(found))] if found else []

    # --- statements ---

    def table(self, document, number):
        """A call of JSON_TABLE on the document."""
        value = document.value
        rows_legs = self.path(value, multiple=True) or [("cells",)]
        found = [inner for _, inner in model.seek(value, rows_legs)][:1]
        inner = found[0] if found else None
        legs = [self.path(inner, multiple=self.chance(0.2)) for _ in range(4)]
        nested = self.path(inner, multiple=True) or [("cells",)]
        deep = self.path(None)
        rows, refused = [], None
        try:
            for position, (_, row) in enumerate(model.seek(value, rows_legs), 1):
                own = [
                    str(position),
                    text_column(row, legs[0]),
                    document_column(row, legs[1]),
                    str(int(bool(model.seek(row, legs[2])))),
                    integer_column(row, legs[3]),
                ]
                below = [
                    [str(n), document_column(one, deep)]
                    for n, (_, one) in enumerate(model.seek(row, nested), 1)
                ]
                rows += [own + one for one in below or [[None, None]]]
        except Refused as error:
            refused = ("error", error.number)

        def path(path_legs):
            return literal(model.path_text(path_legs))

        sql = (
            f"SELECT o, s, j, e, i, n, k FROM documents, "
            f"JSON_TABLE({self.random.choice('dt')}, {path(rows_legs)} COLUMNS ("
            f"o FOR ORDINALITY, s VARCHAR(2000) PATH {path(legs[0])}, j JSON PATH {path(legs[1])}, "
            f"e INT EXISTS PATH {path(legs[2])}, i BIGINT PATH {path(legs[3])}, "
            f"NESTED PATH {path(nested)} COLUMNS ("
            f"n FOR ORDINALITY, k JSON PATH {path(deep)}))) AS jt WHERE id = {number} ORDER BY o, n"
        )
        found = [
            (value, rows_legs),
            *((row, one) for _, row in model.seek(value, rows_legs) for one in [*legs, nested]),
            *(
                (one, deep)
                for _, row in model.seek(value, rows_legs)
                for _, one in model.seek(row, nested)
            ),
        ]
        marked = list(document.marks)
        if any(
            model.seek(inner, one) != model.seek(inner, one, wraps=False) for inner, one in found
        ):
            marked.append("wraps")
        return Statement("JSON_TABLE", sql, refused or rows, "json", marked, True)


def compared(a, operator, b):
    if a is SQL_NULL:
        return SQL_NULL
    found = model.compare(a, b)
    return int(
        {
            "=": found == 0,
            "<": found < 0,
            ">": found > 0,
            "<=": found <= 0,
            ">=": found >= 0,
            "<>": found != 0,
        }[operator]
    )


def signed(value):
    """CAST AS SIGNED: a double is rounded, a half to the even number, and cut at the range."""
    if isinstance(value, float):
        value = round(value)
        return min(max(value, -(1 << 63)), (1 << 63) - 1)
    value = int(value)
    return value - (1 << 64) if value >= 1 << 63 else value


def as_double(value):
    return re.sub(r"\.0$", "", model.double_text(float(value)))


def returned(value, sign):
    """JSON_VALUE RETURNING SIGNED, or UNSIGNED for the sign 0: NULL for a number out of range."""
    value = whole(value)
    least, most = (0, 1 << 64) if sign == 0 else (-(1 << 63), 1 << 63)
    return SQL_NULL if value is None or not least <= value < most else int(value)


def whole(value):
    """A number as an integer; None for a double outside of the range of integers with a sign."""
    if isinstance(value, float):
        return round(value) if abs(value) < 1 << 63 else None
    return value


def text_column(row, legs):
    found = model.seek(row, legs)
    if len(found) != 1 or found[0][1] is None or isinstance(found[0][1], (list, dict)):
        return None
    result = model.unquoted(found[0][1])
    return result if len(result) <= 2000 else None


def document_column(row, legs):
    found = [inner for _, inner in model.seek(row, legs)]
    if not found:
        return None
    return model.text(found[0] if len(found) == 1 else found)


def integer_column(row, legs):
    found = model.seek(row, legs)
    if len(found) != 1:
        return None
    value = found[0][1]
    if isinstance(value, str) and re.fullmatch(r"[ \t]*[-+]?[0-9]+", value):
        value = int(value)
    value = whole(value)
    if not isinstance(value, int) or not -(1 << 63) <= value < 1 << 63:
        return None
    return str(int(value))
