//! LOAD DATA: may the statement have its file?

use super::Session;
use crate::ResultSink;
use crate::error::{SqlError, code};
use crate::parser::ast;

impl Session {
    /// Like MySQL before it looks at the table: 3948 for a file of the client where either side does not allow it, 1290 for a
    /// file of the server.
    pub(super) fn check_load(
        &self,
        load: &ast::LoadData,
        sink: &dyn ResultSink,
    ) -> Result<(), SqlError> {
        let is_allowed = self.server.global("local_infile").as_deref() == Some("ON");
        match load.is_local {
            true if is_allowed && sink.sends_files() => Ok(()),
            true => Err(SqlError::new(
                code::ER_CLIENT_LOCAL_FILES_DISABLED,
                "Loading local data is disabled; this must be enabled on both the client and \
                 server sides",
            )),
            false if self.server.config().secure_file_priv.is_some() => Ok(()),
            false => Err(SqlError::option_prevents("--secure-file-priv")),
        }
    }
}
