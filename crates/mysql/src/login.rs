//! Who is there? The exchange of plugins, for the first login and for COM_CHANGE_USER.
//!
//! ```text
//!   token is of another plugin ──> switch ──> token
//!   native:   token matches ──> in
//!   sha2:     the node knows the hash, and the token matches ──> "fast" ──> in
//!             else ──> "full" ──> secure channel: the password       ──> in, or 1045
//!                                 plain TCP: public key, ciphertext  ──> in, or 1045
//! ```
//!
//! Which of these steps a client sees depends on its own packets and on an account's plugin, never on whether the account
//! exists: an unknown user walks the way of caching_sha2_password with a hash that nothing matches.
//!
//! The server checks the account's other demands (TLS, no lock) behind the password, so that a client without the password
//! learns nothing of the account.

use std::sync::Arc;

use types::Account;
use types::account::{AccountName, AuthPlugin, TlsRequirement};
use types::password;

use crate::auth::{self, Plugin};
use crate::backend::Host;
use crate::capabilities as cap;
use crate::commands::Task;
use crate::connection::Transport;
use crate::handshake::{HandshakeResponse, put_auth_more_data, put_auth_switch, text_of};
use crate::limits::{PACKET_BEFORE_AUTH_MAX, USER_NAME_SIZE_MAX};
use crate::pipe::{ReadEnd, read_packet};
use crate::sink;

/// Why a login failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginError {
    Read(ReadEnd),
    /// Error 1045 was sent.
    Denied,
}

impl From<ReadEnd> for LoginError {
    fn from(end: ReadEnd) -> LoginError {
        LoginError::Read(end)
    }
}

const ER_MUST_CHANGE_PASSWORD_LOGIN: u16 = 1862;
const ER_ACCOUNT_HAS_BEEN_LOCKED: u16 = 3118;

/// "Fast authentication succeeded" and "send the password", the two answers of caching_sha2_password.
const FAST_OK: u8 = 3;
const FULL_WANTED: u8 = 4;
/// A client's request for the public key.
const PUBLIC_KEY_REQUEST: &[u8] = &[2];

/// A hash that no password has (no preimage of it is known), for users that do not exist.
const DECOY_HASH: [u8; 32] = [0; 32];
/// The same, as caching_sha2_password stores it: a salt of 20 characters and a hash of 43.
const DECOY_TEXT: &[u8] = b"$A$005$...............................................................";

impl<H: Host> Task<H> {
    /// Returns the account when the client has proved its password. Otherwise the client has got an error, 1045 for a wrong
    /// password.
    pub(crate) async fn log_in(
        &mut self,
        response: &HandshakeResponse,
        payload: &mut Vec<u8>,
    ) -> Result<AccountName, LoginError> {
        let user = text_of(&response.user);
        let known = response.user.len() <= USER_NAME_SIZE_MAX;
        let host = self.start.transport.client_host();
        let account = known.then(|| self.host.account(&user, host)).flatten();
        let plugin_of_client = match &response.plugin {
            Some(name) => Plugin::by_name(name),
            // Clients from before plugins speak native_password only.
            None => Some(Plugin::Native),
        };
        let plugin = plugin_for(account.as_deref(), plugin_of_client);
        let mut token = response.token.clone();
        let can_switch = response.capabilities & cap::PLUGIN_AUTH != 0;
        if plugin_of_client != Some(plugin) {
            if !can_switch {
                return self.deny(&user, !token.is_empty());
            }
            let scramble = self.scramble;
            self.put_packet(|out| put_auth_switch(out, plugin.name(), &scramble));
            read_packet(&self.shared.pipe, payload, PACKET_BEFORE_AUTH_MAX).await?;
            token = std::mem::take(payload);
        }
        // An empty password is sent as nothing, or as the zero byte that ends it.
        let password_used = !matches!(token.as_slice(), [] | [0]);
        let accepted = match (&account, password_used) {
            (Some(account), _) if !account.plugin.has_password() => false,
            (Some(account), used) if account.secret.is_empty() => !used,
            (_, false) => false,
            (account, true) => match plugin {
                Plugin::Native => self.native_matches(account.as_deref(), &token),
                Plugin::CachingSha2 => self.log_in_sha2(account.as_ref(), &token, payload).await?,
            },
        };
        match account.filter(|_| accepted) {
            Some(account) if self.has_transport_for(&account) => {
                self.check_usable(&account, &user)?;
                Ok(account.name.clone())
            }
            _ => self.deny(&user, password_used),
        }
    }

    fn native_matches(&self, account: Option<&Account>, token: &[u8]) -> bool {
        let stored = account.into_iter().flat_map(secrets).filter_map(password::parse_native);
        let matches = |hash: [u8; 20]| auth::native_matches(token, &self.scramble, &hash);
        stored.fold(false, |any, hash| any | matches(hash))
    }

    async fn log_in_sha2(
        &mut self,
        account: Option<&Arc<Account>>,
        token: &[u8],
        payload: &mut Vec<u8>,
    ) -> Result<bool, LoginError> {
        let known = account.and_then(|account| self.host.fast_hash(account));
        let hash = known.unwrap_or(DECOY_HASH);
        if auth::sha2_matches(token, &self.scramble, &hash) & known.is_some() {
            self.put_packet(|out| put_auth_more_data(out, &[FAST_OK]));
            return Ok(true);
        }
        self.put_packet(|out| put_auth_more_data(out, &[FULL_WANTED]));
        read_packet(&self.shared.pipe, payload, PACKET_BEFORE_AUTH_MAX).await?;
        if self.tls_is_on || self.start.transport == Transport::UnixSocket {
            return Ok(self.is_password(account, payload).await);
        }
        let Some(rsa) = self.config.rsa.clone() else { return Ok(false) };
        if payload == PUBLIC_KEY_REQUEST {
            self.put_packet(|out| put_auth_more_data(out, rsa.public_pem()));
            read_packet(&self.shared.pipe, payload, PACKET_BEFORE_AUTH_MAX).await?;
        }
        let sent = rsa.decrypt_password(payload, &self.scramble).unwrap_or_default();
        Ok(self.is_password(account, &sent).await)
    }

    /// Is it what the account stores? That takes milliseconds, on another thread, and as long for a user that does not exist.
    async fn is_password(&self, account: Option<&Arc<Account>>, sent: &[u8]) -> bool {
        let Some(password) = auth::sent_password(sent) else { return false };
        let of_account = account.into_iter().flat_map(|account| secrets(account));
        let mut stored: Vec<Vec<u8>> = of_account.map(<[u8]>::to_vec).collect();
        if stored.is_empty() {
            stored.push(DECOY_TEXT.to_vec());
        }
        let secret = self.host.matching_secret(password.to_vec(), stored).await;
        let (Some(account), Some(secret)) = (account, secret) else { return false };
        self.host.keep_fast_hash(account, secret, password::sha2_fast_hash(password));
        true
    }

    /// Has the connection the TLS that the account demands? No client shows a certificate.
    fn has_transport_for(&self, account: &Account) -> bool {
        match &account.tls {
            TlsRequirement::None => true,
            TlsRequirement::Ssl => self.tls_is_on,
            TlsRequirement::X509 => false,
            TlsRequirement::Specified { subject, issuer, cipher } => {
                let names = self.shared.pipe.borrow().tls_names();
                let has_cipher = |cipher: &String| names.is_some_and(|(own, _)| own == *cipher);
                subject.is_none()
                    && issuer.is_none()
                    && self.tls_is_on
                    && cipher.as_ref().is_none_or(has_cipher)
            }
        }
    }

    fn check_usable(&self, account: &Account, user: &str) -> Result<(), LoginError> {
        let (error, message) = if account.is_locked {
            let host = self.start.transport.account_host();
            let message = format!("Access denied for user '{user}'@'{host}'. Account is locked.");
            (ER_ACCOUNT_HAS_BEEN_LOCKED, message)
        } else if account.is_expired {
            let message = "Your password has expired. To log in you must change it using a client that supports expired passwords.";
            (ER_MUST_CHANGE_PASSWORD_LOGIN, message.into())
        } else {
            return Ok(());
        };
        sink::put_error(&self.shared.pipe, error, &message);
        Err(LoginError::Denied)
    }

    fn deny<T>(&self, user: &str, password_used: bool) -> Result<T, LoginError> {
        let end = user.floor_char_boundary(USER_NAME_SIZE_MAX);
        let message = format!(
            "Access denied for user '{}'@'{}' (using password: {})",
            &user[..end],
            self.start.transport.account_host(),
            if password_used { "YES" } else { "NO" }
        );
        sink::put_error(&self.shared.pipe, sql::code::ER_ACCESS_DENIED_ERROR, &message);
        Err(LoginError::Denied)
    }
}

/// What the account stores of its passwords.
fn secrets(account: &Account) -> impl Iterator<Item = &[u8]> {
    let secrets = [Some(&account.secret), account.secret_before.as_ref()];
    secrets.into_iter().flatten().map(Vec::as_slice)
}

/// The plugin a user must prove itself with: the one of its account, or the client's choice where any will do.
fn plugin_for(account: Option<&Account>, plugin_of_client: Option<Plugin>) -> Plugin {
    let of_client = plugin_of_client.unwrap_or(Plugin::CachingSha2);
    match account {
        None => Plugin::CachingSha2,
        Some(account) if account.secret.is_empty() => of_client,
        Some(account) => match account.plugin {
            AuthPlugin::Native => Plugin::Native,
            AuthPlugin::CachingSha2 => Plugin::CachingSha2,
            AuthPlugin::Socket | AuthPlugin::NoLogin => of_client,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_decoy_takes_as_long_as_a_password() {
        assert!(password::is_sha2_text(DECOY_TEXT));
        assert!(!password::sha2_text_matches(b"secret", DECOY_TEXT));
    }
}
