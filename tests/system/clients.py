"""The client programs of tests/clients against a cluster of two data nodes."""

import os
import re
import subprocess


def totals(output):
    """The closing line of a program."""
    lines = re.findall(r"^(\d+) passed, (\d+) failed$", output, re.MULTILINE)
    assert lines, f"no closing line:\n{output[-2000:]}"
    return int(lines[-1][0]), int(lines[-1][1])


def test_drivers(environment):
    """tests/clients/run.sh over TCP with TLS and the socket: the command line, dumps and files that it sends; in the long tier also PyMySQL, Connector/Python, Go and
    Connector/J, which come from their registries."""
    cluster = environment.cluster()
    first, second = cluster.sql_nodes()
    script = os.path.join(environment.root, "tests", "clients", "run.sh")
    variables = dict(os.environ, SKARV_TEST_PEER=f"127.0.0.1:{second['port']}")
    variables.setdefault("SKARV_TEST_COUNT", "100000" if environment.long else "10000")
    if not environment.long:
        variables.setdefault("SKARV_TEST_ONLY", "@(cli|dump|infile)")
    result = subprocess.run([script, "127.0.0.1", str(first["port"]), first["socket"]], env=variables,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            timeout=3000)
    passed, failed = totals(result.stdout)
    # Each with the lines below it, which say why.
    failures = re.findall(r"^FAILED.*(?:\n {7}.*){0,20}", result.stdout, re.MULTILINE)
    summary = result.stdout[result.stdout.rfind("--- summary"):]
    # A program that ends without naming what failed is caught too.
    assert not failures and failed == 0 and passed > 0, "\n".join(failures[:60]) + "\n" + summary
    print(f"       {passed} checks of the client programs passed", flush=True)


def test_freshness(environment):
    """What one node has acknowledged every other node shows, and no node shows a torn state; over the sockets."""
    cluster = environment.cluster()
    program = environment.path("freshness")
    settings = dict(os.environ, GOTOOLCHAIN="local", GOFLAGS="-mod=readonly -buildvcs=false")
    subprocess.run(["go", "build", "-o", program, "./freshness"], check=True, env=settings, timeout=600,
                   cwd=os.path.join(environment.root, "tests", "clients", "go"))
    count, seconds = (100_000, 30) if environment.long else (10_000, 5)
    for form in ([], ["--interpolated"]):
        result = subprocess.run([program, "all", "--tls", "off", "--count", str(count), "--seconds", str(seconds), *form,
                                 *cluster.sockets()],
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                timeout=600)
        passed, failed = totals(result.stdout)
        assert result.returncode == 0 and failed == 0 and passed > 0, result.stdout[-4000:]
    for row in cluster.sql(2, "SELECT table_schema, table_name FROM information_schema.tables "
                              "WHERE table_schema LIKE 'freshness%'"):
        cluster.desc(".".join(row))
