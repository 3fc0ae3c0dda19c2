//! What became of a transaction: commit tokens, and asking (rules.md#answers, rule R16).

use client::{Refusal, TOKEN_LENGTH_MAX, TokenRefusal, TransactionOutcome};
use types::{COMMIT_ID_PREFIX, DateTime};

use super::Session;
use crate::SqlError;
use crate::error::code;
use crate::execute::{Failure, error_of};

/// A token that SET gives.
pub fn checked_token(token: String) -> Result<String, SqlError> {
    // What was no UTF-8 has this in its place by now: two such tokens would be one.
    let is_text = !token.contains(char::REPLACEMENT_CHARACTER);
    if token.starts_with(COMMIT_ID_PREFIX) || token.len() > TOKEN_LENGTH_MAX || !is_text {
        return Err(SqlError::wrong_value_for_variable("skarv_commit_token", &token));
    }
    Ok(token)
}

impl Session {
    /// Commits what is open, under the session's commit token if it has one. The token stays for another try unless that is
    /// done or refused for good. `has_begun`: there is a transaction, whether it has asked for anything or not.
    pub(super) async fn commit_open(&mut self, has_begun: bool) -> Result<(), Failure> {
        let token = self.settings.commit_token.clone().filter(|_| has_begun);
        let Some(token) = token else {
            return self.client.commit().await.map_err(|refusal| self.refused(refusal));
        };
        let lock_wait_timeout_ms = self.settings.lock_wait_timeout_seconds.saturating_mul(1_000);
        let result =
            Box::pin(self.client.commit_with_token(token.as_bytes(), lock_wait_timeout_ms)).await;
        if !matches!(result, Err(TokenRefusal::Refused(_))) {
            self.settings.commit_token = None;
        }
        let error = match result {
            Ok(()) => return Ok(()),
            Err(TokenRefusal::Refused(refusal)) => {
                // Where there is no room a client that tries again at once is none the wiser.
                let lacks_room = matches!(
                    refusal,
                    Refusal::MemoryFull { .. }
                        | Refusal::DiskFull { .. }
                        | Refusal::DiskFailed { .. }
                );
                let ends = refusal.ends_transaction();
                let failure = self.refused(refusal);
                let token_not_written = |code, then| {
                    let why = &failure.error.message;
                    let what = "The transaction was rolled back, because its commit token could not be written";
                    SqlError::new(code, format!("{what} ({why}){then}"))
                };
                let error = match ends {
                    true => failure.error,
                    // Elsewhere these leave the transaction open; here it is gone.
                    false if lacks_room => token_not_written(failure.error.code, ""),
                    false => {
                        token_not_written(code::ER_LOCK_DEADLOCK, "; try restarting transaction")
                    }
                };
                return Err(Failure { error, is_undone: true, ends_transaction: true, ..failure });
            }
            Err(TokenRefusal::AlreadyCommitted { at_micros }) => {
                let at = DateTime::from_micros(at_micros).unwrap_or(DateTime::ZERO);
                SqlError::new(
                    code::ER_ALREADY_COMMITTED,
                    format!(
                        "Already committed: a transaction with commit token '{token}' was committed at {at} UTC; this one was \
                         rolled back"
                    ),
                )
            }
            Err(TokenRefusal::GivenUp) => SqlError::new(
                code::ER_COMMIT_TOKEN_GIVEN_UP,
                format!(
                    "Commit token '{token}' was given up: skarv_transaction_outcome() has said ROLLED BACK of it, and this \
                     transaction was rolled back; run it again with another token"
                ),
            ),
        };
        Err(Failure { error, is_undone: true, ends_transaction: true, replan: false, rerun: false })
    }

    /// SKARV_TRANSACTION_OUTCOME().
    pub(crate) async fn transaction_outcome(
        &mut self,
        name: &[u8],
    ) -> Result<&'static str, SqlError> {
        let text = String::from_utf8_lossy(name);
        let outcome = if text.starts_with(COMMIT_ID_PREFIX) {
            match text.parse() {
                Ok(commit) => self.client.transaction_outcome(commit).await,
                Err(()) => return Err(SqlError::wrong_arguments("skarv_transaction_outcome")),
            }
        } else {
            let is_text = !text.contains(char::REPLACEMENT_CHARACTER);
            let is_token = is_text && (1..=TOKEN_LENGTH_MAX).contains(&name.len());
            if !is_token {
                return Err(SqlError::wrong_arguments("skarv_transaction_outcome"));
            }
            let outcome = self.client.token_outcome(name).await;
            outcome.map_err(|refusal| error_of(refusal, &self.client.client().catalogue()))?
        };
        Ok(match outcome {
            TransactionOutcome::Committed => "COMMITTED",
            TransactionOutcome::RolledBack => "ROLLED BACK",
            TransactionOutcome::RolledBackByRestart => "ROLLED BACK BY RESTART",
            TransactionOutcome::InProgress => "IN PROGRESS",
            TransactionOutcome::Forgotten => "FORGOTTEN",
        })
    }
}
