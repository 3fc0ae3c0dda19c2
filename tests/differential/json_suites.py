"""The public JSON suites, and what MySQL 8.0 does with each of their files.

The files are those of nst/JSONTestSuite, of json.org's JSON_checker, and of the round trips of
nativejson-benchmark. The source package of orjson has them all; PyPI provides it, and a cache keeps
it under its checksum. The project has none of the files: they are the work of others. pip builds
the package's description, for which it needs cargo.
"""

import hashlib
import io
import lzma
import os
import re
import shutil
import subprocess
import sys
import tarfile

import json_model as model

PACKAGE = "orjson==3.8.8"
CHECKSUM = "c096d7a523bae6ffb9c4a228ba4691d66113f0f2231579dc945523fbef09c6da"
DOWNLOAD_SECONDS = 600
# Files of each directory: fewer means another package.
COUNTS = {"parsing": 318, "jsonchecker": 36, "roundtrip": 27, "transform": 18}

TOO_DEEP = 3157
INVALID_TEXT = 1300
ACCEPTED, REFUSED = "accepted", "refused"

# Files that RFC 8259 leaves open, and those that MySQL treats otherwise than their names say: what
# MySQL does, and why.
OPEN = {
    "i_number_double_huge_neg_exp": (ACCEPTED, "a number too small for a double is 0"),
    "i_number_real_underflow": (ACCEPTED, "a number too small for a double is 0"),
    "i_number_huge_exp": (REFUSED, "a number beyond the range of doubles"),
    "i_number_neg_int_huge_exp": (REFUSED, "a number beyond the range of doubles"),
    "i_number_pos_double_huge_exp": (REFUSED, "a number beyond the range of doubles"),
    "i_number_real_neg_overflow": (REFUSED, "a number beyond the range of doubles"),
    "i_number_real_pos_overflow": (REFUSED, "a number beyond the range of doubles"),
    "i_number_too_big_neg_int": (ACCEPTED, "an integer beyond 64 bits is a double"),
    "i_number_too_big_pos_int": (ACCEPTED, "an integer beyond 64 bits is a double"),
    "i_number_very_big_negative_int": (ACCEPTED, "an integer beyond 64 bits is a double"),
    "i_object_key_lone_2nd_surrogate": (REFUSED, "half of a surrogate pair is no character"),
    "i_string_1st_surrogate_but_2nd_missing": (REFUSED, "half of a surrogate pair is no character"),
    "i_string_1st_valid_surrogate_2nd_invalid": (
        REFUSED,
        "half of a surrogate pair is no character",
    ),
    "i_string_incomplete_surrogate_and_escape_valid": (
        REFUSED,
        "half of a surrogate pair is no character",
    ),
    "i_string_incomplete_surrogate_pair": (REFUSED, "half of a surrogate pair is no character"),
    "i_string_incomplete_surrogates_escape_valid": (
        REFUSED,
        "half of a surrogate pair is no character",
    ),
    "i_string_invalid_lonely_surrogate": (REFUSED, "half of a surrogate pair is no character"),
    "i_string_invalid_surrogate": (REFUSED, "half of a surrogate pair is no character"),
    "i_string_inverted_surrogates_U+1D11E": (REFUSED, "half of a surrogate pair is no character"),
    "i_string_lone_second_surrogate": (REFUSED, "half of a surrogate pair is no character"),
    "i_structure_500_nested_arrays": (TOO_DEEP, "at most 100 levels"),
    "i_structure_UTF-8_BOM_empty_object": (REFUSED, "a byte order mark is no space"),
    "n_structure_100000_opening_arrays": (
        TOO_DEEP,
        "at most 100 levels, which counts before the missing bracket",
    ),
    "n_structure_open_array_object": (
        TOO_DEEP,
        "at most 100 levels, which counts before the missing bracket",
    ),
    # JSON_checker is older than RFC 8259, and an opinion on the rest.
    "fail01": (ACCEPTED, "a document may be a scalar"),
    "fail18": (ACCEPTED, "nineteen levels are few"),
}


class Missing(Exception):
    """The package cannot be had, or is another one than that of the checksum."""


def package(cache, work):
    """The source package: from the cache, or from PyPI."""
    kept = os.path.join(cache, CHECKSUM)
    if os.path.exists(kept):
        with open(kept, "rb") as file:
            content = file.read()
        if hashlib.sha256(content).hexdigest() == CHECKSUM:
            return content
    folder = os.path.join(work, "suites")
    os.makedirs(folder, exist_ok=True)
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--no-binary",
        PACKAGE.partition("=")[0],
        "--dest",
        folder,
        PACKAGE,
    ]
    try:
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            timeout=DOWNLOAD_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Missing(f"pip: {error}") from error
    files = os.listdir(folder)
    if done.returncode != 0 or len(files) != 1:
        lines = done.stdout.decode("utf-8", "replace").strip().splitlines() or ["no output"]
        raise Missing(f"pip: {lines[-1][:300]}")
    path = os.path.join(folder, files[0])
    with open(path, "rb") as file:
        content = file.read()
    found = hashlib.sha256(content).hexdigest()
    if found != CHECKSUM:
        raise Missing(f"{PACKAGE} has the checksum {found}, not {CHECKSUM}")
    os.makedirs(cache, exist_ok=True)
    # A reader sees a whole file or none.
    shutil.copy(path, f"{kept}.{os.getpid()}")
    os.replace(f"{kept}.{os.getpid()}", kept)
    return content


def files(cache, work):
    """[(directory, name without endings, content)]"""
    found = []
    with tarfile.open(fileobj=io.BytesIO(package(cache, work))) as archive:
        for member in archive:
            match = re.fullmatch(r"[^/]*/data/(\w+)/(.*)\.json(\.xz)?", member.name)
            if match and match[1] in COUNTS:
                content = archive.extractfile(member).read()
                found.append(
                    (match[1], match[2], lzma.decompress(content) if match[3] else content)
                )
    counts = {directory: sum(one[0] == directory for one in found) for directory in COUNTS}
    if counts != COUNTS:
        raise Missing(f"{PACKAGE} has {counts} files, not {COUNTS}")
    return sorted(found)


def expected(directory, name, content):
    """ACCEPTED, REFUSED, or an error number."""
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return INVALID_TEXT
    if name in OPEN:
        return OPEN[name][0]
    if directory == "parsing":
        if name[0] not in "yn":
            raise Missing(f"no line of OPEN says what MySQL does with {name}")
        return ACCEPTED if name[0] == "y" else REFUSED
    if directory == "jsonchecker":
        return ACCEPTED if name.startswith("pass") else REFUSED
    if directory == "transform" and not model.is_valid(content.decode("utf-8")):
        return REFUSED
    return ACCEPTED
