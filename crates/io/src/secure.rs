//! Links that only the cluster's nodes can open: mutual TLS 1.3 on TCP.
//!
//! A cluster has a certificate authority of its own, made by `skarv keys` and used for nothing
//! else. It signs one certificate per node, which names node and cluster
//! (`node3.6b1f0c7d9a2e4458.skarv`). Both ends show theirs before anything else is read. The
//! connecting end requires the node that it wants; the accepting end learns the node from the
//! hello, and requires a certificate of that node.
//!
//! Unix sockets between the nodes of one directory need no TLS: the permissions of the files decide
//! which processes may open them.
//!
//! rustls does the cryptography and knows no socket; a [`Secured`] moves its bytes and looks like any other stream. Sessions
//! are not resumed: links last, and every one proves itself anew.

use std::fs;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mio::net::TcpStream;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::{
    AlertDescription, CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct,
    DistinguishedName, RootCertStore, ServerConfig, ServerConnection, SignatureScheme,
};
use types::{ClusterId, NodeId};

use crate::files::{make_dir, write_private};
use crate::hello::{self, First};
use crate::limits::{HELLO_SIZE_MAX, SECURED_BUFFER_SIZE};
use crate::options::StartError;
use crate::stream::Transfer;

/// What a node needs to open links and to let them in.
pub struct LinkKeys {
    cluster: ClusterId,
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

/// The files of a cluster's keys in a directory.
struct Files {
    authority: PathBuf,
    authority_key: PathBuf,
    certificate: PathBuf,
    key: PathBuf,
}

impl Files {
    fn new(dir: &Path, node: NodeId) -> Files {
        Files {
            authority: dir.join("link-ca-cert.pem"),
            authority_key: dir.join("link-ca-key.pem"),
            certificate: dir.join(format!("node{node}-link-cert.pem")),
            key: dir.join(format!("node{node}-link-key.pem")),
        }
    }

    /// Is all there that this node of this cluster needs?
    fn are_of(&self, cluster: ClusterId, node: NodeId) -> bool {
        let certificates = read_certificates(&self.certificate);
        let is_own = certificates.is_ok_and(|own| check_name(&own[0], cluster, node).is_ok());
        is_own && self.key.exists() && self.authority.exists()
    }
}

/// The authority's name in its certificate and in those it signs: the same whatever the cluster, which the names of the nodes
/// tell. A certificate made anew for the same key replaces the old one.
const AUTHORITY: &str = "Skarv cluster authority";

/// What a node's certificate is made out to.
fn name_of(cluster: ClusterId, node: NodeId) -> String {
    format!("node{node}.{:016x}.skarv", cluster.0)
}

fn wrong(path: &Path) -> impl Fn(String) -> StartError + '_ {
    |reason| StartError::LinkKeys { path: path.into(), reason }
}

/// Makes the missing keys of a cluster in `dir`: the authority, and a pair for each node; for all
/// nodes if the authority is new. Returns the new files. With an authority's certificate but not
/// its key nothing can be signed: an error if a node's pair is missing.
pub fn make_keys(
    dir: &Path,
    cluster: ClusterId,
    nodes: impl IntoIterator<Item = NodeId>,
) -> Result<Vec<PathBuf>, StartError> {
    make_dir(dir)
        .map_err(|error| StartError::Directory { path: dir.into(), reason: error.to_string() })?;
    let mut made = Vec::new();
    let authority = Files::new(dir, NodeId(0));
    let is_known = authority.authority_key.exists() || authority.authority.exists();
    let lacks = |node: &NodeId| !is_known || !Files::new(dir, *node).are_of(cluster, *node);
    let missing: Vec<NodeId> = nodes.into_iter().filter(lacks).collect();
    if missing.is_empty() {
        return Ok(made);
    }
    let issuer = &issuer(&authority, &mut made)?;
    for node in missing {
        let files = Files::new(dir, node);
        let refused = |error: rcgen::Error| wrong(&files.certificate)(error.to_string());
        let key = KeyPair::generate().map_err(refused)?;
        let mut params = CertificateParams::new([name_of(cluster, node)]).map_err(refused)?;
        params.distinguished_name.push(DnType::CommonName, name_of(cluster, node));
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        params.use_authority_key_identifier_extension = true;
        let certificate = params.signed_by(&key, issuer).map_err(refused)?;
        keep(&files.key, key.serialize_pem().as_bytes(), &mut made)?;
        keep(&files.certificate, certificate.pem().as_bytes(), &mut made)?;
    }
    Ok(made)
}

/// Who signs: from its key if that is there, else made.
fn issuer(files: &Files, made: &mut Vec<PathBuf>) -> Result<Issuer<'static, KeyPair>, StartError> {
    let refused = |error: rcgen::Error| wrong(&files.authority_key)(error.to_string());
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, AUTHORITY);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let is_there = files.authority_key.exists();
    if !is_there && files.authority.exists() {
        return Err(wrong(&files.authority_key)(format!(
            "it is missing, so that nothing can be signed by {}: put it back, or remove all link keys of the \
             cluster and make new ones",
            files.authority.display()
        )));
    }
    let key = match is_there {
        true => KeyPair::from_pem(&read_text(&files.authority_key)?),
        false => KeyPair::generate(),
    };
    let key = key.map_err(refused)?;
    if !is_there {
        keep(&files.authority_key, key.serialize_pem().as_bytes(), made)?;
    }
    if !files.authority.exists() {
        let certificate = params.self_signed(&key).map_err(refused)?;
        keep(&files.authority, certificate.pem().as_bytes(), made)?;
    }
    Ok(Issuer::new(params, key))
}

fn keep(path: &Path, bytes: &[u8], made: &mut Vec<PathBuf>) -> Result<(), StartError> {
    write_private(path, bytes).map_err(|error| wrong(path)(error.to_string()))?;
    made.push(path.into());
    Ok(())
}

fn read_text(path: &Path) -> Result<String, StartError> {
    fs::read_to_string(path).map_err(|error| wrong(path)(error.to_string()))
}

fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, StartError> {
    let pem = read_text(path)?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    match certificates {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        Ok(_) => Err(wrong(path)("there is no certificate in it".into())),
        Err(error) => Err(wrong(path)(error.to_string())),
    }
}

/// Does the certificate name this node of this cluster?
fn check_name(
    certificate: &CertificateDer<'_>,
    cluster: ClusterId,
    node: NodeId,
) -> Result<(), String> {
    let name = ServerName::try_from(name_of(cluster, node)).expect("a plain name");
    ParsedCertificate::try_from(certificate)
        .and_then(|parsed| rustls::client::verify_server_name(&parsed, &name))
        .map_err(|error| {
            format!("the certificate is not one of {}: {error}", name_of(cluster, node))
        })
}

impl LinkKeys {
    /// The keys in a node's directory; none if there are none at all. A part of them is an error: who has keys means to use
    /// them.
    pub fn load(
        dir: &Path,
        cluster: ClusterId,
        node: NodeId,
    ) -> Result<Option<Arc<LinkKeys>>, StartError> {
        let files = Files::new(dir, node);
        if ![&files.authority, &files.certificate, &files.key].into_iter().any(|file| file.exists())
        {
            return Ok(None);
        }
        let mut roots = RootCertStore::empty();
        for authority in read_certificates(&files.authority)? {
            roots.add(authority).map_err(|error| wrong(&files.authority)(error.to_string()))?;
        }
        let roots = Arc::new(roots);
        let chain = read_certificates(&files.certificate)?;
        check_name(&chain[0], cluster, node).map_err(wrong(&files.certificate))?;
        let key = PrivateKeyDer::from_pem_slice(read_text(&files.key)?.as_bytes())
            .map_err(|error| wrong(&files.key)(error.to_string()))?;
        let refused = |error: rustls::Error| wrong(&files.certificate)(error.to_string());
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider))
                .build()
                .map_err(|error| wrong(&files.authority)(error.to_string()))?;
        let versions = &[&rustls::version::TLS13];
        let mut server = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions)
            .map_err(refused)?
            .with_client_cert_verifier(Arc::new(SignedDirectly(verifier)))
            .with_single_cert(chain.clone(), key.clone_key())
            .map_err(refused)?;
        server.send_tls13_tickets = 0;
        let verifier = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider))
            .build()
            .map_err(|error| wrong(&files.authority)(error.to_string()))?;
        let mut client = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .map_err(refused)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(SignedDirectly(verifier)))
            .with_client_auth_cert(chain, key)
            .map_err(refused)?;
        client.resumption = Resumption::disabled();
        let (client, server) = (Arc::new(client), Arc::new(server));
        Ok(Some(Arc::new(LinkKeys { cluster, client, server })))
    }

    /// The connecting end, of a link to this node.
    pub fn connect(&self, socket: TcpStream, peer: NodeId) -> Result<Secured, String> {
        let name = ServerName::try_from(name_of(self.cluster, peer)).expect("a plain name");
        let tls = ClientConnection::new(Arc::clone(&self.client), name)
            .map_err(|error| error.to_string())?;
        Ok(Secured::new(socket, tls.into()))
    }

    /// The accepting end.
    pub fn accept(&self, socket: TcpStream) -> Result<Secured, String> {
        let tls =
            ServerConnection::new(Arc::clone(&self.server)).map_err(|error| error.to_string())?;
        Ok(Secured::new(socket, tls.into()))
    }

    /// Is the other end the node it says it is?
    pub fn check_peer(&self, stream: &Secured, node: NodeId) -> Result<(), String> {
        let chain = stream.tls.peer_certificates().unwrap_or_default();
        let certificate = chain.first().ok_or("it has shown no certificate")?;
        check_name(certificate, self.cluster, node)
    }
}

/// A verifier that takes a certificate only if the authority has signed it itself, as it has those of all nodes. Others come
/// with a chain, and looking for a way through one that a stranger has made up takes as long as he likes.
#[derive(Debug)]
struct SignedDirectly<V: ?Sized>(Arc<V>);

fn refuse_chain(intermediates: &[CertificateDer<'_>]) -> Result<(), rustls::Error> {
    match intermediates.is_empty() {
        true => Ok(()),
        false => Err(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer)),
    }
}

type Signed = Result<HandshakeSignatureValid, rustls::Error>;

/// What both verifiers leave to the one inside.
macro_rules! signatures_as_inside {
    () => {
        fn verify_tls12_signature(
            &self,
            message: &[u8],
            certificate: &CertificateDer<'_>,
            signed: &DigitallySignedStruct,
        ) -> Signed {
            self.0.verify_tls12_signature(message, certificate, signed)
        }
        fn verify_tls13_signature(
            &self,
            message: &[u8],
            certificate: &CertificateDer<'_>,
            signed: &DigitallySignedStruct,
        ) -> Signed {
            self.0.verify_tls13_signature(message, certificate, signed)
        }
        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            self.0.supported_verify_schemes()
        }
    };
}

impl ClientCertVerifier for SignedDirectly<dyn ClientCertVerifier> {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.0.root_hint_subjects()
    }
    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        refuse_chain(intermediates)?;
        self.0.verify_client_cert(certificate, intermediates, now)
    }
    signatures_as_inside!();
}

impl ServerCertVerifier for SignedDirectly<WebPkiServerVerifier> {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        refuse_chain(intermediates)?;
        self.0.verify_server_cert(certificate, intermediates, name, ocsp, now)
    }
    signatures_as_inside!();
}

/// How a record of TLS begins: its type, and a version that is 3.something in all of them.
const TLS_HANDSHAKE: u8 = 0x16;
const TLS_ALERT: u8 = 0x15;
const TLS_MAJOR: u8 = 3;

/// Why TLS came to nothing, and what to do.
pub fn tls_text(error: &io::Error) -> String {
    format!(
        "TLS between the nodes fails: {error}; every node needs keys of the same cluster's authority (skarv keys), and \
         its own address in the configuration"
    )
}

/// What rustls found, in words that stay the same from one attempt to the next: its own tell the second.
fn reason(error: &rustls::Error) -> String {
    let date = |seconds: UnixTime| format!("{} s after 1970 (UTC)", seconds.as_secs());
    match error {
        rustls::Error::InvalidCertificate(CertificateError::ExpiredContext {
            not_after, ..
        }) => format!("invalid peer certificate: certificate expired, {}", date(*not_after)),
        rustls::Error::InvalidCertificate(CertificateError::NotValidYetContext {
            not_before,
            ..
        }) => format!(
            "invalid peer certificate: certificate not valid yet, but from {}; is the clock of this machine right?",
            date(*not_before)
        ),
        // TLS has one alert for both.
        rustls::Error::AlertReceived(AlertDescription::CertificateExpired) => format!(
            "{error}: to the other end this node's certificate has expired or is not valid yet; are the clocks of both \
             machines right?"
        ),
        error => error.to_string(),
    }
}

/// A TCP connection inside TLS.
#[derive(Debug)]
pub struct Secured {
    pub wire: Wire,
    tls: rustls::Connection,
}

/// A socket that remembers its first bytes: they identify a peer without TLS.
#[derive(Debug)]
pub struct Wire {
    pub socket: TcpStream,
    first: Vec<u8>,
}

impl Read for Wire {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = self.socket.read(buffer)?;
        let room = HELLO_SIZE_MAX - self.first.len();
        self.first.extend_from_slice(&buffer[..size.min(room)]);
        Ok(size)
    }
}

impl Secured {
    fn new(socket: TcpStream, mut tls: rustls::Connection) -> Secured {
        tls.set_buffer_limit(Some(SECURED_BUFFER_SIZE));
        Secured { wire: Wire { socket, first: Vec::new() }, tls }
    }

    /// Why there is no TLS with the other end.
    fn failure(&self, error: &rustls::Error) -> io::Error {
        let first = &self.wire.first;
        let speaks_tls = first.starts_with(&[TLS_HANDSHAKE, TLS_MAJOR])
            || first.starts_with(&[TLS_ALERT, TLS_MAJOR]);
        let said = match hello::parse(first) {
            _ if speaks_tls => None,
            First::Refusal(text) => Some(format!("the peer has no keys and says: {text}")),
            First::Stranger(text) => Some(text),
            First::Hello(..) | First::Incomplete => None,
        };
        io::Error::new(ErrorKind::InvalidData, said.unwrap_or_else(|| reason(error)))
    }

    /// Decrypts until the buffer is full or the socket has no more: what fills only a part of the buffer is all there is,
    /// as with a plain socket.
    pub fn read(&mut self, buffer: &mut [u8]) -> Transfer {
        let mut filled = 0;
        loop {
            match self.tls.reader().read(&mut buffer[filled..]) {
                Ok(0) if filled == buffer.len() => return Transfer::Bytes(filled),
                Ok(0) => return ended(filled, None),
                Ok(size) => {
                    filled += size;
                    if filled == buffer.len() {
                        return Transfer::Bytes(filled);
                    }
                    continue;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // Without a word of TLS before: nodes end like that.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                    return ended(filled, None);
                }
                Err(error) => return ended(filled, Some(error)),
            }
            match self.tls.read_tls(&mut self.wire) {
                Ok(0) => return ended(filled, None),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return if filled == 0 { Transfer::Blocked } else { Transfer::Bytes(filled) };
                }
                Err(error) => return ended(filled, Some(error)),
            }
            let processed = self.tls.process_new_packets();
            // The handshake's next step, or an alert that tells the other end why not.
            let sent = self.flush();
            if let Err(error) = processed {
                return Transfer::Ended(Some(self.failure(&error)));
            }
            if let Transfer::Ended(error) = sent {
                return ended(filled, error);
            }
        }
    }

    /// Takes what fits; what the socket does not take at once is pending.
    pub fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> Transfer {
        if let blocked @ (Transfer::Blocked | Transfer::Ended(_)) = self.flush() {
            return blocked;
        }
        let taken = match self.tls.writer().write_vectored(slices) {
            Ok(taken) => taken,
            Err(error) => return Transfer::Ended(Some(error)),
        };
        match self.flush() {
            Transfer::Ended(error) => Transfer::Ended(error),
            Transfer::Blocked if taken == 0 => Transfer::Blocked,
            Transfer::Blocked | Transfer::Bytes(_) => Transfer::Bytes(taken),
        }
    }

    /// Is something encrypted that the socket has not taken?
    pub fn has_pending(&self) -> bool {
        self.tls.wants_write()
    }

    /// Sends pending bytes.
    pub fn flush(&mut self) -> Transfer {
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut self.wire.socket) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Transfer::Blocked,
                Err(error) => return Transfer::Ended(Some(error)),
            }
        }
        Transfer::Bytes(0)
    }
}

/// The end, unless something was read before it: then that first, and the end will be found again.
fn ended(filled: usize, error: Option<io::Error>) -> Transfer {
    if filled == 0 { Transfer::Ended(error) } else { Transfer::Bytes(filled) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    const CLUSTER: ClusterId = ClusterId(0x6b1f_0c7d_9a2e_4458);

    fn keys_of(dir: &Path, cluster: ClusterId, node: u16) -> Arc<LinkKeys> {
        LinkKeys::load(dir, cluster, NodeId(node)).expect("good").expect("there")
    }

    /// A connected pair: node 2 connects to node 3.
    fn connected(client: &LinkKeys, server: &LinkKeys) -> (Secured, Secured) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        for stream in [&socket, &accepted] {
            stream.set_nonblocking(true).unwrap();
        }
        let client = client.connect(TcpStream::from_std(socket), NodeId(3)).unwrap();
        (client, server.accept(TcpStream::from_std(accepted)).unwrap())
    }

    /// Moves bytes both ways until nothing moves: what each end has read, or why it ended.
    fn exchange(mut ends: [&mut Secured; 2]) -> [Result<Vec<u8>, String>; 2] {
        let mut read = [Ok(Vec::new()), Ok(Vec::new())];
        for _ in 0..200 {
            for (end, read) in ends.iter_mut().zip(&mut read) {
                let Ok(bytes) = read else { continue };
                let _ = end.flush();
                let mut buffer = [0; 1000];
                match end.read(&mut buffer) {
                    Transfer::Bytes(size) => bytes.extend_from_slice(&buffer[..size]),
                    Transfer::Blocked => {}
                    Transfer::Ended(error) => {
                        *read = Err(error.map_or("closed".into(), |error| error.to_string()));
                    }
                }
            }
        }
        read
    }

    fn assert_speak(client: &LinkKeys, server: &LinkKeys) {
        let (mut client, mut server) = connected(client, server);
        client.write_vectored(&[IoSlice::new(b"hello")]);
        assert_eq!(exchange([&mut client, &mut server]), [Ok(Vec::new()), Ok(b"hello".to_vec())]);
    }

    /// Keys are made once; a node added later gets its pair from the same authority; files are the owner's alone.
    #[test]
    fn keys_are_made_once() {
        let dir = tempfile::tempdir().unwrap();
        assert!(LinkKeys::load(dir.path(), CLUSTER, NodeId(2)).unwrap().is_none());
        let made = make_keys(dir.path(), CLUSTER, [NodeId(1), NodeId(2)]).unwrap();
        assert_eq!(made.len(), 6);
        for path in &made {
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert_eq!(
            make_keys(dir.path(), CLUSTER, [NodeId(1), NodeId(2)]).unwrap(),
            [""; 0].map(PathBuf::from)
        );
        assert_eq!(make_keys(dir.path(), CLUSTER, [NodeId(1), NodeId(3)]).unwrap().len(), 2);
        let (two, three) = (keys_of(dir.path(), CLUSTER, 2), keys_of(dir.path(), CLUSTER, 3));
        assert_speak(&two, &three);
        // The authority's certificate is made again from its key, and is the same to those it has signed.
        fs::remove_file(dir.path().join("link-ca-cert.pem")).unwrap();
        let error = LinkKeys::load(dir.path(), CLUSTER, NodeId(2)).err().unwrap().to_string();
        assert!(error.contains("link-ca-cert.pem") && error.contains("skarv keys"), "{error}");
        let made = make_keys(dir.path(), CLUSTER, [NodeId(2)]).unwrap();
        assert_eq!(made[0], dir.path().join("link-ca-cert.pem"));
        assert_speak(&keys_of(dir.path(), CLUSTER, 2), &three);
        // For another cluster the same authority signs anew; a new authority does it for all nodes.
        let other = ClusterId(77);
        assert_eq!(make_keys(dir.path(), other, [NodeId(2), NodeId(3)]).unwrap().len(), 4);
        assert_speak(&keys_of(dir.path(), other, 2), &keys_of(dir.path(), other, 3));
        for name in ["link-ca-cert.pem", "link-ca-key.pem"] {
            fs::remove_file(dir.path().join(name)).unwrap();
        }
        assert_eq!(make_keys(dir.path(), CLUSTER, [NodeId(2), NodeId(3)]).unwrap().len(), 6);
        assert_speak(&keys_of(dir.path(), CLUSTER, 2), &keys_of(dir.path(), CLUSTER, 3));
        fs::remove_file(dir.path().join("link-ca-key.pem")).unwrap();
        let error = make_keys(dir.path(), CLUSTER, [NodeId(4)]).unwrap_err().to_string();
        assert!(error.contains("link-ca-key.pem") && error.contains("missing"), "{error}");
        let error = LinkKeys::load(dir.path(), CLUSTER, NodeId(4)).err().unwrap().to_string();
        assert!(error.contains("node4-link-cert.pem"), "{error}");
        // The pair of another node, or of another cluster, is not this node's.
        fs::copy(dir.path().join("node3-link-cert.pem"), dir.path().join("node4-link-cert.pem"))
            .unwrap();
        let error = LinkKeys::load(dir.path(), CLUSTER, NodeId(4)).err().unwrap().to_string();
        assert!(error.contains("not one of node4."), "{error}");
        let error = LinkKeys::load(dir.path(), ClusterId(9), NodeId(3)).err().unwrap().to_string();
        assert!(error.contains("not one of node3.0000000000000009"), "{error}");
    }

    /// More than any buffer holds goes through whole and in order, both ways at once, in pieces of any size.
    #[test]
    fn bytes_go_through() {
        let dir = tempfile::tempdir().unwrap();
        make_keys(dir.path(), CLUSTER, [NodeId(2), NodeId(3)]).unwrap();
        let (mut client, mut server) =
            connected(&keys_of(dir.path(), CLUSTER, 2), &keys_of(dir.path(), CLUSTER, 3));
        let data: Vec<u8> =
            (0..8_000_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let mut sent = [0, 0];
        let mut read = [Vec::new(), Vec::new()];
        let mut buffer = vec![0; 100_000];
        let mut turns = 0;
        while read.iter().any(|read| read.len() < data.len()) {
            turns += 1;
            assert!(turns < 100_000, "{sent:?}");
            for (index, end) in [&mut client, &mut server].into_iter().enumerate() {
                let rest = &data[sent[index]..];
                let (first, second) = rest.split_at(rest.len().min(turns * 7919 % 300_000));
                if let Transfer::Bytes(size) = end.write_vectored(&[
                    IoSlice::new(first),
                    IoSlice::new(&second[..second.len().min(50_000)]),
                ]) {
                    sent[index] += size;
                }
                let size = 1 + turns * 104_729 % buffer.len();
                match end.read(&mut buffer[..size]) {
                    Transfer::Bytes(size) => read[index].extend_from_slice(&buffer[..size]),
                    Transfer::Blocked => {}
                    Transfer::Ended(error) => panic!("{error:?}"),
                }
            }
        }
        assert!(read[0] == data && read[1] == data);
        assert!(!client.has_pending() && !server.has_pending());
        let three = keys_of(dir.path(), CLUSTER, 3);
        assert_eq!(three.check_peer(&server, NodeId(2)), Ok(()));
        let refused = three.check_peer(&server, NodeId(1)).unwrap_err();
        assert!(refused.contains("not one of node1."), "{refused}");
        drop(client);
        assert!(matches!(server.read(&mut buffer), Transfer::Ended(_)));
    }

    /// Keys of another authority, and a node in another's place, are refused, and both ends can say why.
    #[test]
    fn others_are_refused() {
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for dir in [&dir, &other] {
            make_keys(dir.path(), CLUSTER, [NodeId(2), NodeId(3), NodeId(4)]).unwrap();
        }
        // Trusts the cluster's authority, and shows a certificate of another's.
        let mixed = tempfile::tempdir().unwrap();
        for (from, name) in [
            (&dir, "link-ca-cert.pem"),
            (&other, "node2-link-cert.pem"),
            (&other, "node2-link-key.pem"),
        ] {
            fs::copy(from.path().join(name), mixed.path().join(name)).unwrap();
        }
        let ours = |node| keys_of(dir.path(), CLUSTER, node);
        let theirs = |node| keys_of(other.path(), CLUSTER, node);
        let cases = [
            (keys_of(mixed.path(), CLUSTER, 2), ours(3), "received fatal alert", "invalid peer"),
            (theirs(2), ours(3), "invalid peer certificate", "received fatal alert"),
            (ours(2), theirs(3), "invalid peer certificate", "received fatal alert"),
            (ours(2), ours(4), "not valid for name", "received fatal alert"),
        ];
        for (client, server, at_client, at_server) in cases {
            let (mut client, mut server) = connected(&client, &server);
            client.write_vectored(&[IoSlice::new(b"hello")]);
            let [at_two, at_three] = exchange([&mut client, &mut server]);
            let text = at_two.unwrap_err();
            assert!(text.contains(at_client), "{text}");
            // Who is refused first hears it from TLS; later bytes may only find the connection gone.
            let text = at_three.unwrap_err();
            assert!(text.contains(at_server), "{text}");
        }
    }

    /// Who answers without TLS is named, and what a node without keys says is passed on.
    #[test]
    fn others_without_tls_are_named() {
        let dir = tempfile::tempdir().unwrap();
        make_keys(dir.path(), CLUSTER, [NodeId(2), NodeId(3)]).unwrap();
        let three = keys_of(dir.path(), CLUSTER, 3);
        let refusal = hello::encode_refusal("no keys here");
        for (answer, expected) in [
            (&b"\x49\0\0\0\x0a8.0.40\0"[..], "a MySQL server"),
            (b"HTTP/1.1 400 Bad Request\r\n", "something that is not a Skarv node"),
            (&refusal, "has no keys and says: no keys here"),
            (b"\x15\x03\x03\0\x02\x02\x2d", "to the other end this node's certificate has expired"),
        ] {
            let (mut client, server) = connected(&keys_of(dir.path(), CLUSTER, 2), &three);
            (&server.wire.socket).write_all(answer).unwrap();
            let mut buffer = [0; 100];
            let Transfer::Ended(Some(error)) = client.read(&mut buffer) else {
                panic!("{expected}")
            };
            assert!(tls_text(&error).contains(expected), "{error}");
        }
    }

    /// Whatever arrives instead of TLS ends the connection, and nothing panics.
    #[test]
    fn garbage_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        make_keys(dir.path(), CLUSTER, [NodeId(2), NodeId(3)]).unwrap();
        let three = keys_of(dir.path(), CLUSTER, 3);
        let mut state = 1u64;
        for round in 0..300 {
            let (client, mut server) = connected(&keys_of(dir.path(), CLUSTER, 2), &three);
            let mut bytes = [0u8; 700];
            for byte in &mut bytes {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                *byte = (state >> 56) as u8;
            }
            if round % 2 == 0 {
                bytes[..5].copy_from_slice(&[0x16, 3, 1, 2, 0xb7]);
            }
            (&client.wire.socket).write_all(&bytes).unwrap();
            let mut buffer = [0; 100];
            let answers: Vec<Transfer> = (0..5).map(|_| server.read(&mut buffer)).collect();
            drop(client);
            let last = server.read(&mut buffer);
            // Where a length announces more than has come it waits, for as long as the door's patience lasts.
            let is_nothing = |answer: &Transfer| !matches!(answer, Transfer::Bytes(_));
            assert!(answers.iter().all(is_nothing), "round {round}: {answers:?}");
            assert!(matches!(last, Transfer::Ended(_)), "round {round}: {last:?}");
        }
    }
}
