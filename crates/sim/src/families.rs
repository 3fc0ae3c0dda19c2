//! Families of tables for tests of foreign keys: parents, children of each action, grandchildren, and a table that is its own parent.

use sql::Session;
use sql::check::random::Random;

use crate::statements::succeed;

const PARENT_COUNT: usize = 12;

const TABLES: [&str; 7] = [
    "CREATE TABLE p (id INT PRIMARY KEY, u INT NOT NULL, UNIQUE KEY (u))",
    "CREATE TABLE kept (id INT PRIMARY KEY, pid INT, FOREIGN KEY (pid) REFERENCES p (id))",
    "CREATE TABLE gone (id INT PRIMARY KEY, pid INT NOT NULL, FOREIGN KEY (pid) REFERENCES p (id) \
     ON DELETE CASCADE ON UPDATE CASCADE)",
    "CREATE TABLE freed (id INT PRIMARY KEY, pid INT, FOREIGN KEY (pid) REFERENCES p (id) \
     ON DELETE SET NULL ON UPDATE SET NULL)",
    "CREATE TABLE far (id INT PRIMARY KEY, pu INT, FOREIGN KEY (pu) REFERENCES p (u) \
     ON DELETE CASCADE ON UPDATE CASCADE)",
    "CREATE TABLE grand (id INT PRIMARY KEY, gid INT, FOREIGN KEY (gid) REFERENCES gone (id) \
     ON DELETE CASCADE ON UPDATE SET NULL)",
    "CREATE TABLE tree (id INT PRIMARY KEY, up INT, FOREIGN KEY (up) REFERENCES tree (id) \
     ON DELETE CASCADE)",
];

/// Each counts children without a parent.
pub const ORPHANS: [&str; 6] = [
    "SELECT COUNT(*) FROM kept c LEFT JOIN p ON p.id = c.pid WHERE c.pid IS NOT NULL AND p.id IS NULL",
    "SELECT COUNT(*) FROM gone c LEFT JOIN p ON p.id = c.pid WHERE p.id IS NULL",
    "SELECT COUNT(*) FROM freed c WHERE c.pid IS NOT NULL AND c.pid NOT IN (SELECT id FROM p)",
    "SELECT COUNT(*) FROM far c LEFT JOIN p ON p.u = c.pu WHERE c.pu IS NOT NULL AND p.u IS NULL",
    "SELECT COUNT(*) FROM grand c WHERE c.gid IS NOT NULL AND NOT EXISTS (SELECT 1 FROM gone g WHERE g.id = c.gid)",
    "SELECT COUNT(*) FROM tree c LEFT JOIN tree p ON p.id = c.up WHERE c.up IS NOT NULL AND p.id IS NULL",
];

/// Makes the tables, in a database of their own.
pub async fn prepare(mut session: Session) {
    succeed(&mut session, "CREATE DATABASE test").await;
    succeed(&mut session, "USE test").await;
    for table in TABLES {
        succeed(&mut session, table).await;
    }
    for id in 1..=PARENT_COUNT {
        succeed(&mut session, &format!("INSERT INTO p (id, u) VALUES ({id}, {})", 100 + id)).await;
        succeed(&mut session, &format!("INSERT INTO tree (id, up) VALUES ({id}, NULL)")).await;
    }
}

/// A statement about some family.
pub fn statement(random: &mut Random) -> String {
    let parent = 1 + random.below(PARENT_COUNT);
    let other = 1 + random.below(PARENT_COUNT);
    let child = 1 + random.below(40);
    let other_child = 1 + random.below(40);
    match random.below(20) {
        0 | 1 => format!("INSERT INTO kept (id, pid) VALUES ({child}, {parent})"),
        2 | 3 => format!(
            "INSERT INTO gone (id, pid) VALUES ({child}, {parent}), ({}, {other})",
            child + 40
        ),
        4 => format!("REPLACE INTO freed (id, pid) VALUES ({child}, {parent})"),
        5 => format!(
            "INSERT INTO far (id, pu) VALUES ({child}, {}) ON DUPLICATE KEY UPDATE pu = VALUES(pu)",
            100 + parent
        ),
        6 => format!(
            "INSERT IGNORE INTO grand (id, gid) VALUES ({child}, {other_child}), ({}, {child})",
            child + 40
        ),
        7 => format!("DELETE FROM p WHERE id = {parent}"),
        8 => format!("DELETE FROM p WHERE id IN ({parent}, {other})"),
        9 => format!("INSERT IGNORE INTO p (id, u) VALUES ({parent}, {})", 100 + parent),
        10 => format!(
            "INSERT IGNORE INTO p (id, u) VALUES ({parent}, {}), ({other}, {})",
            100 + parent,
            100 + other
        ),
        11 => format!("UPDATE p SET id = {other} WHERE id = {parent}"),
        12 => format!("UPDATE p SET u = {} WHERE id = {parent}", 100 + other),
        13 => format!("UPDATE gone SET pid = {parent} WHERE id = {child}"),
        14 => format!("UPDATE gone SET id = {other_child} WHERE id = {child}"),
        15 => format!("DELETE FROM kept WHERE pid = {parent} OR id = {child}"),
        16 => format!("DELETE FROM gone WHERE id < {}", random.below(20)),
        17 => format!("UPDATE tree SET up = {parent} WHERE id = {other}"),
        18 => format!("DELETE FROM tree WHERE id = {parent}"),
        _ => format!(
            "INSERT INTO tree (id, up) VALUES ({}, {parent}), ({}, {})",
            child + 20,
            child + 60,
            child + 20
        ),
    }
}
