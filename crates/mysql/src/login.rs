//! Who is there? The exchange of plugins, for the first login and for COM_CHANGE_USER.
//!
//! ```text
//!   token is of another plugin ──> switch ──> token
//!   native:   token matches ──> in
//!   sha2:     token matches ──> "fast" ──> in
//!             else ──> "full" ──> secure channel: the password       ──> in, or 1045
//!                                 plain TCP: public key, ciphertext  ──> in, or 1045
//! ```
//!
//! Which of these steps a client sees depends on its own packets and on an account's plugin, never on whether the account
//! exists: an unknown user walks the way of caching_sha2_password with a hash that nothing matches.

use sql::Account;

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

/// "Fast authentication succeeded" and "send the password", the two answers of caching_sha2_password.
const FAST_OK: u8 = 3;
const FULL_WANTED: u8 = 4;
/// A client's request for the public key.
const PUBLIC_KEY_REQUEST: &[u8] = &[2];

/// A hash that no password has (no preimage of it is known), for users that do not exist.
const DECOY_HASH: [u8; 32] = [0; 32];

impl<H: Host> Task<H> {
    /// Returns when the user has proved to be who it says. Otherwise error 1045 has been sent.
    pub(crate) async fn log_in(
        &mut self,
        response: &HandshakeResponse,
        payload: &mut Vec<u8>,
    ) -> Result<(), LoginError> {
        let user = text_of(&response.user);
        let known = response.user.len() <= USER_NAME_SIZE_MAX;
        let account =
            known.then(|| self.host.account(&user, self.start.transport.is_local())).flatten();
        let plugin_of_client = match &response.plugin {
            Some(name) => Plugin::by_name(name),
            // Clients from before plugins speak native_password only.
            None => Some(Plugin::Native),
        };
        let plugin = plugin_for(account.as_ref(), plugin_of_client);
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
            (Some(Account { native_hash: None, sha2_hash: None }), used) => !used,
            (_, false) => false,
            (account, true) => match plugin {
                Plugin::Native => {
                    let stored = account.as_ref().and_then(|account| account.native_hash);
                    let decoy = DECOY_HASH.first_chunk::<20>().expect("32 bytes have 20");
                    let hash = stored.as_ref().unwrap_or(decoy);
                    auth::native_matches(&token, &self.scramble, hash) & stored.is_some()
                }
                Plugin::CachingSha2 => {
                    let stored = account.as_ref().and_then(|account| account.sha2_hash);
                    self.log_in_sha2(&token, stored, payload).await?
                }
            },
        };
        if accepted { Ok(()) } else { self.deny(&user, password_used) }
    }

    async fn log_in_sha2(
        &mut self,
        token: &[u8],
        stored: Option<[u8; 32]>,
        payload: &mut Vec<u8>,
    ) -> Result<bool, LoginError> {
        let hash = stored.unwrap_or(DECOY_HASH);
        if auth::sha2_matches(token, &self.scramble, &hash) & stored.is_some() {
            self.put_packet(|out| put_auth_more_data(out, &[FAST_OK]));
            return Ok(true);
        }
        self.put_packet(|out| put_auth_more_data(out, &[FULL_WANTED]));
        read_packet(&self.shared.pipe, payload, PACKET_BEFORE_AUTH_MAX).await?;
        if self.tls_is_on || self.start.transport == Transport::UnixSocket {
            return Ok(auth::sha2_password_matches(payload, &hash) & stored.is_some());
        }
        let Some(rsa) = self.config.rsa.clone() else { return Ok(false) };
        if payload == PUBLIC_KEY_REQUEST {
            self.put_packet(|out| put_auth_more_data(out, rsa.public_pem()));
            read_packet(&self.shared.pipe, payload, PACKET_BEFORE_AUTH_MAX).await?;
        }
        let password = rsa.decrypt_password(payload, &self.scramble).unwrap_or_default();
        Ok(auth::sha2_password_matches(&password, &hash) & stored.is_some())
    }

    fn deny(&self, user: &str, password_used: bool) -> Result<(), LoginError> {
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

/// The plugin a user must prove itself with: the one of its account, or the client's choice where any will do.
fn plugin_for(account: Option<&Account>, plugin_of_client: Option<Plugin>) -> Plugin {
    match account {
        Some(Account { native_hash: Some(_), sha2_hash: None }) => Plugin::Native,
        Some(Account { native_hash: None, sha2_hash: Some(_) }) => Plugin::CachingSha2,
        Some(Account { native_hash: Some(_), sha2_hash: Some(_) })
        | Some(Account { native_hash: None, sha2_hash: None })
        | None => plugin_of_client.unwrap_or(Plugin::CachingSha2),
    }
}
