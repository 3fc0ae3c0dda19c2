"""The schemas of products: the packages that have them, and their statements.

schemas_sources.txt lists the files, one a line, with tabs in between:

    PRODUCT REGISTRY PACKAGE VERSION PATH SHA256

REGISTRY is `maven` (PACKAGE is GROUP:ARTIFACT, PATH is in its jar) or `debian` (PATH is in the
package; VERSION is `-`, because the distribution has one version at a time). The checksum is that
of the file, not of the package. The cache keeps a file under its checksum, so that only the first
run needs the registries.

Needs mvn for `maven`, apt-get and dpkg-deb for `debian`.
"""

import collections
import gzip
import hashlib
import os
import re
import shutil
import subprocess
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.join(HERE, "schemas_sources.txt")
MAVEN = [
    "mvn",
    "--batch-mode",
    "--quiet",
    "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy",
    "-Dmdep.useBaseVersion=true",
]
DOWNLOAD_SECONDS = 300

Source = collections.namedtuple("Source", "product registry package version path checksum")


class Missing(Exception):
    """A file that cannot be had, or is another one than that of the checksum."""


def sources():
    """{product: [its files, in the order in which they run]}"""
    found = {}
    with open(SOURCES, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                source = Source(*line.rstrip("\n").split("\t"))
                found.setdefault(source.product, []).append(source)
    return found


def checksum(content):
    return hashlib.sha256(content).hexdigest()


def run(command, **options):
    try:
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=DOWNLOAD_SECONDS,
            stdin=subprocess.DEVNULL,
            **options,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Missing(f"{command[0]}: {error}") from error
    if done.returncode != 0:
        lines = done.stdout.decode("utf-8", "replace").strip().splitlines() or ["no output"]
        raise Missing(f"{command[0]}: {lines[0][:300]}")


class Files:
    """The files of the products. `cache` outlives the run, `work` does not."""

    def __init__(self, cache, work):
        self.cache = cache
        self.work = work
        os.makedirs(cache, exist_ok=True)

    def content(self, source, check=True):
        kept = os.path.join(self.cache, source.checksum)
        if check and os.path.exists(kept):
            with open(kept, "rb") as file:
                content = file.read()
            if checksum(content) == source.checksum:
                return content
        content = getattr(self, source.registry)(source)
        found = checksum(content)
        if check and found != source.checksum:
            raise Missing(
                f"{source.package}: {source.path} has the checksum {found}, not {source.checksum}: "
                "another version"
            )
        # A reader sees a whole file or none.
        with open(f"{kept}.{os.getpid()}", "wb") as file:
            file.write(content)
        os.replace(f"{kept}.{os.getpid()}", os.path.join(self.cache, found))
        return content

    def folder(self, source):
        """A directory of one package: whether it is new, and its path."""
        folder = os.path.join(
            self.work, re.sub(r"[^\w.-]", "_", f"{source.package}-{source.version}")
        )
        new = not os.path.exists(folder)
        os.makedirs(folder, exist_ok=True)
        return new, folder

    def maven(self, source):
        new, folder = self.folder(source)
        if new:
            try:
                run(
                    [
                        *MAVEN,
                        f"-Dartifact={source.package}:{source.version}",
                        f"-DoutputDirectory={folder}",
                    ],
                    cwd=folder,
                )
            except Missing:
                shutil.rmtree(folder)
                raise
        for name in os.listdir(folder):
            with zipfile.ZipFile(os.path.join(folder, name)) as jar:
                try:
                    return jar.read(source.path)
                except KeyError as error:
                    raise Missing(
                        f"{source.package}:{source.version} has no {source.path}"
                    ) from error
        raise Missing(f"{source.package}:{source.version} has no jar")

    def debian(self, source):
        new, folder = self.folder(source)
        if new:
            try:
                run(
                    ["apt-get", "download", "-o", "APT::Sandbox::User=root", source.package],
                    cwd=folder,
                )
                (package,) = os.listdir(folder)
                run(["dpkg-deb", "--extract", package, "."], cwd=folder)
                os.remove(os.path.join(folder, package))
            except Missing as error:
                shutil.rmtree(folder)
                raise Missing(f"{error} (apt-get update brings the lists of packages)") from error
        path = os.path.join(folder, source.path)
        if not os.path.isfile(path):
            raise Missing(f"{source.package} has no {source.path}")
        with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
            return file.read()


def wordpress(text):
    """The statements of wp-admin/includes/schema.php, with the variables of a single site."""
    found = {}
    for name, table in re.findall(
        r"CREATE TABLE \$wpdb->(\w+) (\(.*?\) \$charset_collate;)", text, re.DOTALL
    ):
        # The table of users is there twice, for one site and for several.
        found.setdefault(name, f"CREATE TABLE wp_{name} {table}")
    return (
        "\n".join(found.values())
        .replace("$max_index_length", "191")
        .replace("$charset_collate", "DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci")
    )


def mediawiki(text):
    """Its installer writes the options of tables for a comment."""
    return text.replace("/*$wgDBTableOptions*/", "ENGINE=InnoDB, DEFAULT CHARSET=binary")


PREPARED = {"WordPress": wordpress, "MediaWiki": mediawiki}


def statements(product, content):
    """The statements of a file of a product."""
    return split(PREPARED.get(product, str)(content.decode("utf-8")))


TOKEN = re.compile(
    r"""
    (?P<text> '(?:[^'\\]|\\.|'')*' | "(?:[^"\\]|\\.|"")*" | `(?:[^`]|``)*` )
  | (?P<executed> /\*[!+].*?\*/ )
  | (?P<comment> /\*.*?\*/ | \#[^\n]* | --(?=\s|$)[^\n]* )
  | (?P<delimiter> ^[ \t]*DELIMITER[ \t]+(?P<new>\S+)[^\n]*$ )
  | (?P<word> \w+ )
  | (?P<other> . )
""",
    re.VERBOSE | re.DOTALL | re.MULTILINE | re.IGNORECASE,
)


def split(script):
    """The statements of a script of the `mysql` command line, without comments."""
    found, statement, delimiter, place = [], "", ";", 0
    while place < len(script):
        if script.startswith(delimiter, place):
            found.append(statement.strip())
            statement = ""
            place += len(delimiter)
            continue
        token = TOKEN.match(script, place)
        place = token.end()
        if token["delimiter"] and not statement.strip():
            delimiter = token["new"]
        elif token["comment"]:
            statement += " "
        else:
            statement += token[0]
    found.append(statement.strip())
    return [statement for statement in found if statement]
