//! Transactions of a session: BEGIN, COMMIT, ROLLBACK, autocommit, and how a statement ends.

use client::{Batch, ReadAt};
use types::contain::Panicked;

use super::Session;
use super::variables::Isolation;
use crate::SqlError;
use crate::error::code;
use crate::execute::Failure;

/// The transaction under way, or the next one.
#[derive(Clone, Copy, Debug)]
pub struct Transaction {
    /// BEGIN or START TRANSACTION was said.
    pub explicit: bool,
    pub read_only: bool,
    pub isolation: Isolation,
}

impl Session {
    /// Is a transaction open that the next statement will be part of?
    pub fn is_in_transaction(&self) -> bool {
        self.transaction.explicit || (!self.settings.autocommit && self.client.in_transaction())
    }

    /// Is the statement, with all that run inside it, its own transaction?
    fn is_own_transaction(&self) -> bool {
        self.settings.autocommit && !self.transaction.explicit
    }

    /// Does the transaction end with the statement under way?
    pub fn ends_with_statement(&self) -> bool {
        self.is_own_transaction() && self.ends_outer_statements()
    }

    /// May the last request of the statement commit it? With a commit token it is the token that is last.
    pub fn commits_with_last_request(&self) -> bool {
        self.ends_with_statement() && self.settings.commit_token.is_none()
    }

    pub fn read_at(&self) -> ReadAt {
        // Statements that run inside it share its snapshot.
        if self.is_own_transaction() {
            return ReadAt::Statement;
        }
        match self.transaction.isolation {
            Isolation::RepeatableRead => ReadAt::Transaction,
            // At SERIALIZABLE reads are of the latest rows, under locks.
            Isolation::ReadCommitted | Isolation::ReadUncommitted | Isolation::Serializable => {
                ReadAt::Statement
            }
        }
    }

    /// SAVEPOINT. One of the same name is replaced; outside of a transaction there is nothing to remember.
    pub fn savepoint(&mut self, name: &str) {
        if self.ends_with_statement() {
            return;
        }
        let name = name.to_lowercase();
        self.savepoints.retain(|(own, _)| *own != name);
        let mark = self.client.savepoint();
        self.savepoints.push((name, mark));
    }

    /// ROLLBACK TO SAVEPOINT: those set after it go, it stays. An unknown name is an error that undoes nothing, so it is no
    /// [`Failure`]: that would undo the statement before.
    pub async fn roll_back_to(&mut self, name: &str) -> Result<(), SqlError> {
        let place = self.find_savepoint(name)?;
        self.savepoints.truncate(place + 1);
        let (_, mark) = self.savepoints[place];
        match self.client.undo_to(mark).await {
            Ok(()) => Ok(()),
            Err(refusal) => {
                let failure = self.refused(refusal);
                Err(self.fail(failure).await)
            }
        }
    }

    /// RELEASE SAVEPOINT: it and those set after it go.
    pub fn release_savepoint(&mut self, name: &str) -> Result<(), SqlError> {
        let place = self.find_savepoint(name)?;
        self.savepoints.truncate(place);
        Ok(())
    }

    fn find_savepoint(&self, name: &str) -> Result<usize, SqlError> {
        let lower = name.to_lowercase();
        self.savepoints.iter().position(|(own, _)| *own == lower).ok_or_else(|| {
            SqlError::new(code::ER_SP_DOES_NOT_EXIST, format!("SAVEPOINT {name} does not exist"))
        })
    }

    /// BEGIN. An open transaction is committed first. WITH CONSISTENT SNAPSHOT takes the snapshot of REPEATABLE READ now; at
    /// other levels there is none.
    pub async fn begin(
        &mut self,
        read_only: Option<bool>,
        consistent_snapshot: bool,
    ) -> Result<(), Failure> {
        if self.transaction.explicit || self.client.in_transaction() {
            self.commit_transaction().await?;
        }
        // Else what SET TRANSACTION chose for the next transaction stands: this is the next one.
        self.transaction.explicit = true;
        self.locked_tables.clear();
        if let Some(read_only) = read_only {
            self.transaction.read_only = read_only;
        }
        if consistent_snapshot && self.read_at() == ReadAt::Transaction {
            let snapshot = Batch { read_at: ReadAt::Transaction, ..Batch::default() };
            self.client.execute(snapshot).await.map_err(|refusal| self.refused(refusal))?;
        }
        Ok(())
    }

    pub async fn commit_transaction(&mut self) -> Result<(), Failure> {
        let has_begun = self.transaction.explicit || self.client.in_transaction();
        let result = self.commit_open(has_begun).await;
        self.end_transaction();
        result
    }

    pub async fn rollback_transaction(&mut self) {
        self.client.rollback().await;
        self.end_transaction();
    }

    /// Ends the command whose statement has panicked: its transaction is rolled back, and its state in the
    /// session is removed. Returns the error that the client gets.
    pub async fn end_panicked(&mut self, panicked: &Panicked) -> SqlError {
        self.rollback_transaction().await;
        self.leave_all_frames();
        let error = SqlError::new(code::ER_INTERNAL_ERROR, panicked.message());
        self.note_error(&error);
        self.show_rest();
        self.end_command();
        error
    }

    /// The next transaction has the session's characteristics again.
    pub fn end_transaction(&mut self) {
        self.savepoints.clear();
        self.transaction = Transaction {
            explicit: false,
            read_only: self.settings.read_only,
            isolation: self.settings.isolation,
        };
    }

    /// SET TRANSACTION without a scope: the next one only.
    pub fn set_next_transaction(
        &mut self,
        isolation: Option<Isolation>,
        read_only: Option<bool>,
    ) -> Result<(), SqlError> {
        if self.is_in_transaction() {
            return Err(SqlError::new(
                code::ER_CANT_CHANGE_TX_CHARACTERISTICS,
                "Transaction characteristics can't be changed while a transaction is in progress",
            ));
        }
        if let Some(isolation) = isolation {
            self.transaction.isolation = isolation;
        }
        if let Some(read_only) = read_only {
            self.transaction.read_only = read_only;
        }
        Ok(())
    }

    /// Ends a statement that went well: an autocommit one commits what it has open. One that changes nothing needs no name.
    pub async fn finish_statement(&mut self, changes: bool) -> Result<(), Failure> {
        if !self.ends_with_statement() {
            return Ok(());
        }
        let result = match changes {
            true => self.commit_open(true).await,
            false => self.client.commit().await.map_err(|refusal| self.refused(refusal)),
        };
        self.end_transaction();
        result
    }

    /// Ends a statement that failed: undone by the engine already, or here. What cannot be undone alone is undone with all the
    /// rest, which the client must hear rather than what was wrong with the statement.
    pub async fn fail_statement(&mut self, failure: &mut Failure) {
        if !self.ends_with_statement() && !failure.ends_transaction {
            if failure.is_undone {
                return;
            }
            match self.client.undo_statement().await {
                Ok(()) => return,
                Err(refusal) => *failure = self.refused(refusal),
            }
        }
        self.client.rollback().await;
        self.end_transaction();
    }
}
