"""Values of answers as texts: which are equal, and which differences a line of explained.txt explains. Needs no driver."""

import math
import re


def is_number(text):
    return isinstance(text, str) and re.fullmatch(r"-?\d+(\.\d+)?(e[-+]?\d+)?", text) is not None


def equal_values(a, b):
    if isinstance(a, bytes):
        a = a.decode("utf-8", "surrogateescape")
    if isinstance(b, bytes):
        b = b.decode("utf-8", "surrogateescape")
    if a == b:
        return True
    # Doubles: the last digits depend on the library's functions.
    if is_number(a) and is_number(b) and ("e" in a + b or len(a.split(".")[-1]) > 6 or len(b.split(".")[-1]) > 6):
        return math.isclose(float(a), float(b), rel_tol=1e-12, abs_tol=1e-15)
    return False


def is_close(v, w, **tolerance):
    return is_number(v) and is_number(w) and math.isclose(float(v), float(w), **tolerance)


def explanations(path):
    """The lines of an explained.txt: [(compiled expression, reason)]."""
    found = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            line = line.rstrip("\n")
            if line and not line.startswith("#"):
                expression, reason = line.split("\t")
                found.append((re.compile(expression, re.DOTALL), reason))
    return found
