//! TLS: the server's configuration from PEM, and a certificate for servers that were given none.
//!
//! Encryption itself is rustls's, driven without sockets by the connection. The self-signed certificate is made once, at
//! a node's first start, and kept by whoever owns the files: like MySQL's, it encrypts but proves nothing.

use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// A certificate chain and its private key, both PEM.
pub struct CertificatePem {
    pub certificate: Vec<u8>,
    pub private_key: Vec<u8>,
}

/// Why there is no TLS configuration. The text is for the node's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsError(pub String);

impl std::fmt::Display for TlsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}
impl std::error::Error for TlsError {}

/// Makes a self-signed certificate for these names (host names or addresses). Draws from the system's random source.
pub fn generate_certificate(names: &[String]) -> Result<CertificatePem, TlsError> {
    let made = rcgen::generate_simple_self_signed(names)
        .map_err(|error| TlsError(format!("cannot make a certificate: {error}")))?;
    Ok(CertificatePem {
        certificate: made.cert.pem().into_bytes(),
        private_key: made.signing_key.serialize_pem().into_bytes(),
    })
}

/// Another one for a key that is there.
pub fn certificate_of_key(names: &[String], private_key: &[u8]) -> Result<Vec<u8>, TlsError> {
    let made = || {
        let text = String::from_utf8_lossy(private_key);
        let key = rcgen::KeyPair::from_pem(&text)?;
        rcgen::CertificateParams::new(names.to_vec())?.self_signed(&key)
    };
    let made = made().map_err(|error| {
        TlsError(format!("cannot make a certificate for the private key that is there: {error}"))
    })?;
    Ok(made.pem().into_bytes())
}

/// A configuration for TLS 1.2 and 1.3 that asks clients for no certificate.
pub fn server_config(pem: &CertificatePem) -> Result<Arc<ServerConfig>, TlsError> {
    let chain = CertificateDer::pem_slice_iter(&pem.certificate)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| TlsError(format!("cannot read the certificate: {error}")))?;
    if chain.is_empty() {
        return Err(TlsError("the certificate file has no certificate in it".into()));
    }
    let key = PrivateKeyDer::from_pem_slice(&pem.private_key)
        .map_err(|error| TlsError(format!("cannot read the private key: {error}")))?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| TlsError(format!("no TLS version to offer: {error}")))?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| TlsError(format!("certificate and key do not work: {error}")))?;
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A certificate made here is usable; wrong files are refused with a text.
    #[test]
    fn certificates_become_configurations() {
        let names = ["localhost".to_string(), "127.0.0.1".to_string()];
        let made = generate_certificate(&names).unwrap();
        assert!(server_config(&made).is_ok());
        let other = generate_certificate(&names).unwrap();
        let mixed = CertificatePem {
            certificate: made.certificate.clone(),
            private_key: other.private_key,
        };
        assert!(server_config(&mixed).is_err());
        let empty = CertificatePem { certificate: Vec::new(), private_key: made.private_key };
        let refused = server_config(&empty).unwrap_err();
        assert!(refused.to_string().contains("no certificate"));
        let keyless = CertificatePem { certificate: made.certificate, private_key: Vec::new() };
        assert!(server_config(&keyless).is_err());
    }
}
