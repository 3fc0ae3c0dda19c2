"""The anomalies of the Hermitage list as scripts, with what each level lets happen: data, read by isolation.py.

A line of a script is a step: the session's number, the statement, and after `->` what it comes to:

    2 select * from t -> a=10 b=20        these rows, in any order; `nothing` is no row
    2 delete from t ... -> 1 changed      so many rows; nothing after the statement: it goes well
    2 update t ... -> blocks              no answer for a while
    2 -> 1 changed                        the answer of the statement that was blocked, due to the step before
    2 update t ... -> error 1213          this error
    2 update t ... -> deadlock            of all statements under way exactly one ends with 1213, and at once
    2 update t ... -> done or deadlock    it goes well, or the same
    2 update t ... -> done, or deadlock over shards    the same, but within one shard it goes well
    end -> a=12 b=20                      what both nodes show in the end

a and b are the keys of the table's two rows (a=10, b=20), c and d keys of rows to come. Every session has begun a
transaction. Outcomes that differ by level are separated by `|`: READ COMMITTED (and READ UNCOMMITTED, which is the same
here), REPEATABLE READ, REPEATABLE READ with skarv_strict_snapshot; what is left out is as the one before it.

SERIALIZABLE has scripts of its own, because plain SELECTs lock there. Who of a circle is the victim is the server's
choice, so after a deadlock the others just commit, and what has been read and what remains must be what some serial
order of the committed transactions makes. `done or deadlock` stands where InnoDB's versions differ among themselves or
where the order of locking over several shards decides; the anomaly is prevented both ways.
"""

from collections import namedtuple

# marks: for READ COMMITTED, REPEATABLE READ, REPEATABLE READ strict, SERIALIZABLE: x may happen, ok is prevented.
Case = namedtuple("Case", "name marks weak serializable")

CASES = [
    Case("G0 dirty write", "ok ok ok ok", """
        1 update t set value = 11 where id = {a}
        2 update t set value = 12 where id = {a} -> blocks
        1 update t set value = 21 where id = {b}
        1 commit
        2 -> 1 changed
        1 select * from t -> a=11 b=21
        2 update t set value = 22 where id = {b} -> 1 changed
        2 commit
        1 select * from t -> a=12 b=22
        end -> a=12 b=22
    """, """
        1 update t set value = 11 where id = {a}
        2 update t set value = 12 where id = {a} -> blocks
        1 update t set value = 21 where id = {b}
        1 commit
        2 -> 1 changed
        1 select * from t -> a=11 b=21
        2 update t set value = 22 where id = {b} -> 1 changed
        2 commit
        1 select * from t -> a=12 b=22
        end -> a=12 b=22
    """),
    Case("G1a aborted read", "ok ok ok ok", """
        1 update t set value = 101 where id = {a}
        2 select * from t -> a=10 b=20
        1 rollback
        2 select * from t -> a=10 b=20
        2 commit
        end -> a=10 b=20
    """, """
        1 update t set value = 101 where id = {a}
        2 select * from t -> blocks
        1 rollback
        2 -> a=10 b=20
        2 select * from t -> a=10 b=20
        2 commit
        end -> a=10 b=20
    """),
    Case("G1b intermediate read", "ok ok ok ok", """
        1 update t set value = 101 where id = {a}
        2 select * from t -> a=10 b=20
        1 update t set value = 11 where id = {a}
        1 commit
        2 select * from t -> a=11 b=20 | a=10 b=20
        2 commit
        end -> a=11 b=20
    """, """
        1 update t set value = 101 where id = {a}
        2 select * from t -> blocks
        1 update t set value = 11 where id = {a}
        1 commit
        2 -> a=11 b=20
        2 commit
        end -> a=11 b=20
    """),
    Case("G1c circular information flow", "ok ok ok ok", """
        1 update t set value = 11 where id = {a}
        2 update t set value = 22 where id = {b}
        1 select * from t where id = {b} -> b=20
        2 select * from t where id = {a} -> a=10
        1 commit
        2 commit
        end -> a=11 b=22
    """, """
        1 update t set value = 11 where id = {a}
        2 update t set value = 22 where id = {b}
        1 select * from t where id = {b} -> blocks
        2 select * from t where id = {a} -> deadlock
    """),
    Case("OTV observed transaction vanishes", "ok ok ok ok", """
        1 update t set value = 11 where id = {a}
        1 update t set value = 19 where id = {b}
        2 update t set value = 12 where id = {a} -> blocks
        1 commit
        2 -> 1 changed
        3 select * from t -> a=11 b=19
        2 update t set value = 18 where id = {b} -> 1 changed
        3 select * from t -> a=11 b=19
        2 commit
        3 select * from t -> a=12 b=18 | a=11 b=19
        3 commit
        end -> a=12 b=18
    """, """
        1 update t set value = 11 where id = {a}
        1 update t set value = 19 where id = {b}
        2 update t set value = 12 where id = {a} -> blocks
        1 commit
        2 -> 1 changed
        3 select * from t -> blocks
        2 update t set value = 18 where id = {b} -> done, or deadlock over shards
    """),
    Case("PMP predicate-many-preceders, read", "x ok ok ok", """
        1 select * from t where value = 30 -> nothing
        2 insert into t (id, value) values ({c}, 30)
        2 commit
        1 select * from t where value % 3 = 0 -> c=30 | nothing
        1 commit
        end -> a=10 b=20 c=30
    """, """
        1 select * from t where value = 30 -> nothing
        2 insert into t (id, value) values ({c}, 30) -> blocks
        1 select * from t where value % 3 = 0 -> nothing
        1 commit
        2 -> 1 changed
        2 commit
        end -> a=10 b=20 c=30
    """),
    Case("PMP predicate-many-preceders, write", "x x ok ok", """
        1 update t set value = value + 10 -> 2 changed
        2 select * from t where value = 20 -> b=20
        2 delete from t where value = 20 -> blocks
        1 commit
        2 -> 1 changed | 1 changed | error 1213
        2 select * from t -> b=30 | b=20 | a=20 b=30
        2 commit
        end -> b=30 | b=30 | a=20 b=30
    """, """
        2 select * from t where value = 20 -> b=20
        1 update t set value = value + 10 -> blocks
        2 delete from t where value = 20 -> done or deadlock
    """),
    Case("P4 lost update", "x x ok ok", """
        1 select * from t where id = {a} -> a=10
        2 select * from t where id = {a} -> a=10
        1 update t set value = 11 where id = {a}
        2 update t set value = 12 where id = {a} -> blocks
        1 commit
        2 -> 1 changed | 1 changed | error 1213
        2 commit
        end -> a=12 b=20 | a=12 b=20 | a=11 b=20
    """, """
        1 select * from t where id = {a} -> a=10
        2 select * from t where id = {a} -> a=10
        1 update t set value = 11 where id = {a} -> blocks
        2 update t set value = 12 where id = {a} -> deadlock
    """),
    Case("G-single read skew, read-only", "x ok ok ok", """
        1 select * from t where id = {a} -> a=10
        2 select * from t where id = {a} -> a=10
        2 select * from t where id = {b} -> b=20
        2 update t set value = 12 where id = {a}
        2 update t set value = 18 where id = {b}
        2 commit
        1 select * from t where id = {b} -> b=18 | b=20
        1 commit
        end -> a=12 b=18
    """, """
        1 select * from t where id = {a} -> a=10
        2 select * from t where id = {a} -> a=10
        2 select * from t where id = {b} -> b=20
        2 update t set value = 12 where id = {a} -> blocks
        1 select * from t where id = {b} -> b=20
        1 commit
        2 -> 1 changed
        2 update t set value = 18 where id = {b} -> 1 changed
        2 commit
        end -> a=12 b=18
    """),
    Case("G-single read skew, predicate dependencies", "x ok ok ok", """
        1 select * from t where value % 5 = 0 -> a=10 b=20
        2 update t set value = 12 where value = 10 -> 1 changed
        2 commit
        1 select * from t where value % 3 = 0 -> a=12 | nothing
        1 commit
        end -> a=12 b=20
    """, """
        1 select * from t where value % 5 = 0 -> a=10 b=20
        2 update t set value = 12 where value = 10 -> blocks
        1 select * from t where value % 3 = 0 -> nothing
        1 commit
        2 -> 1 changed
        2 commit
        end -> a=12 b=20
    """),
    Case("G-single read skew, write predicate", "x x ok ok", """
        1 select * from t where id = {a} -> a=10
        2 select * from t -> a=10 b=20
        2 update t set value = 12 where id = {a}
        2 update t set value = 18 where id = {b}
        2 commit
        1 delete from t where value = 20 -> 0 changed | 0 changed | error 1213
        1 select * from t where id = {b} -> b=18 | b=20 | b=18
        1 commit
        end -> a=12 b=18
    """, """
        1 select * from t where id = {a} -> a=10
        2 select * from t -> a=10 b=20
        2 update t set value = 12 where id = {a} -> blocks
        1 delete from t where value = 20 -> deadlock
    """),
    Case("G2-item write skew", "x x x ok", """
        1 select * from t where id in ({a}, {b}) -> a=10 b=20
        2 select * from t where id in ({a}, {b}) -> a=10 b=20
        1 update t set value = 11 where id = {a}
        2 update t set value = 21 where id = {b}
        1 commit
        2 commit
        end -> a=11 b=21
    """, """
        1 select * from t where id in ({a}, {b}) -> a=10 b=20
        2 select * from t where id in ({a}, {b}) -> a=10 b=20
        1 update t set value = 11 where id = {a} -> blocks
        2 update t set value = 21 where id = {b} -> deadlock
    """),
    Case("G2 anti-dependency circle, predicate", "x x x ok", """
        1 select * from t where value % 3 = 0 -> nothing
        2 select * from t where value % 3 = 0 -> nothing
        1 insert into t (id, value) values ({c}, 30)
        2 insert into t (id, value) values ({d}, 42)
        1 commit
        2 commit
        2 select * from t where value % 3 = 0 -> c=30 d=42
        end -> a=10 b=20 c=30 d=42
    """, """
        1 select * from t where value % 3 = 0 -> nothing
        2 select * from t where value % 3 = 0 -> nothing
        1 insert into t (id, value) values ({c}, 30) -> blocks
        2 insert into t (id, value) values ({d}, 42) -> deadlock
    """),
    Case("G2 read-only anomaly (Fekete)", "x x x ok", """
        1 select * from t -> a=10 b=20
        2 update t set value = value + 5 where id = {b}
        2 commit
        3 select * from t -> a=10 b=25
        3 commit
        1 update t set value = 0 where id = {a}
        1 commit
        end -> a=0 b=25
    """, """
        1 select * from t -> a=10 b=20
        2 update t set value = value + 5 where id = {b} -> blocks
        3 select * from t -> blocks
        1 update t set value = 0 where id = {a} -> done or deadlock
    """),
    # Not of Hermitage's list: what several nodes and this server's choices add.
    Case("stale read in another session", "ok ok ok ok", """
        1 update t set value = 11 where id = {a}
        1 update t set value = 21 where id = {b}
        1 commit
        2 select * from t where id = {a} -> a=11
        2 select * from t -> a=11 b=21
        2 commit
        end -> a=11 b=21
    """, """
        1 update t set value = 11 where id = {a}
        1 update t set value = 21 where id = {b}
        1 commit
        2 select * from t where id = {a} -> a=11
        2 select * from t -> a=11 b=21
        2 commit
        end -> a=11 b=21
    """),
    Case("plain read outside a transaction waits", "ok ok ok ok", """
        2 commit
        1 update t set value = 11 where id = {a}
        2 select * from t -> a=10 b=20
        2 select * from t where id = {a} -> a=10
        1 commit
        2 select * from t -> a=11 b=20
        end -> a=11 b=20
    """, """
        2 commit
        1 update t set value = 11 where id = {a}
        2 select * from t -> a=10 b=20
        2 select * from t where id = {a} -> a=10
        1 commit
        2 select * from t -> a=11 b=20
        end -> a=11 b=20
    """),
    # The one difference to InnoDB at REPEATABLE READ, where the INSERT would wait for a gap.
    Case("phantom below a locking read", "x x x ok", """
        1 select * from t where value >= 20 for update -> b=20
        2 insert into t (id, value) values ({c}, 30)
        2 commit
        1 select * from t where value >= 20 for update -> b=20 c=30
        1 commit
        end -> a=10 b=20 c=30
    """, """
        1 select * from t where value >= 20 for update -> b=20
        2 insert into t (id, value) values ({c}, 30) -> blocks
        1 select * from t where value >= 20 for update -> b=20
        1 commit
        2 -> 1 changed
        2 commit
        end -> a=10 b=20 c=30
    """),
]
