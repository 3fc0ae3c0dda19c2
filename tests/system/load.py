"""sysbench over both nodes' sockets: every workload runs without an error, and the replicas are equal after each."""

import re
import subprocess

# Those that take rows away come last.
WORKLOADS = ["oltp_point_select", "oltp_read_only", "select_random_points", "select_random_ranges", "oltp_read_write",
             "oltp_write_only", "oltp_update_index", "oltp_update_non_index", "oltp_insert", "oltp_delete"]
TABLES = 4


def sysbench(cluster, workload, action, size, threads, seconds, prepared, tables=TABLES, *flags):
    command = ["sysbench", workload, "--db-driver=mysql", f"--mysql-socket={','.join(cluster.sockets())}",
               "--mysql-user=root", "--mysql-db=sbtest", f"--tables={tables}", f"--table-size={size}",
               f"--threads={threads}", f"--time={seconds}", "--rand-type=uniform", *flags]
    if not prepared:
        command.append("--db-ps-mode=disable")
    result = subprocess.run([*command, action], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                            timeout=seconds + 600)
    what = f"sysbench {workload} {action}, {threads} threads, {'prepared' if prepared else 'text'}"
    said = result.stdout[-1500:] + result.stderr[-1500:]
    assert result.returncode == 0 and "FATAL" not in said, f"{what}: {said}"
    return result.stdout


def figures(output):
    queries = re.search(r"queries: +(\d+) +\(([\d.]+) per sec", output)
    ignored = re.search(r"ignored errors: +(\d+)", output)
    assert queries and ignored, output[-1500:]
    return int(queries[1]), float(queries[2]), int(ignored[1])


def matrix(environment, prepared):
    size, threads_list, seconds = (100_000, (1, 16, 128), 10) if environment.long else (10_000, (1, 16), 2)
    cluster = environment.cluster("data", "--memory", "1G" if environment.long else "256M")
    tables = [f"sbtest.sbtest{number}" for number in range(1, TABLES + 1)]
    cluster.sql(2, "CREATE DATABASE sbtest")
    sysbench(cluster, "oltp_read_write", "prepare", size, TABLES, seconds, True)
    for table in tables:
        assert cluster.desc(table)["rows"] == size
    for workload in WORKLOADS:
        for threads in threads_list:
            queries, rate, ignored = figures(sysbench(cluster, workload, "run", size, threads, seconds, prepared))
            assert queries > 0, f"{workload}: no query was answered"
            rows = [cluster.desc(table)["rows"] for table in tables]
            print(f"       {workload:24} {threads:4} threads {rate:10.0f} queries/s {ignored:6} repeated", flush=True)
            for node in (2, 3):
                counted = [int(cluster.sql(node, f"SELECT COUNT(*) FROM {table}")[0][0]) for table in tables]
                assert counted == rows, f"{workload}: node {node} counts {counted}, desc says {rows}"
            if workload not in ("oltp_insert", "oltp_delete"):
                assert rows == [size] * TABLES, f"{workload}: {rows}"
    sysbench(cluster, "oltp_read_write", "cleanup", size, 1, seconds, True)
    assert cluster.sql(3, "SHOW TABLES FROM sbtest") == []


def test_sysbench_prepared(environment):
    """All workloads with prepared statements."""
    matrix(environment, prepared=True)


def test_sysbench_text(environment):
    """All workloads with statements as text."""
    matrix(environment, prepared=False)
