//! TLS in front of a test's own Valkey server, with certificates of a private authority. The front records
//! every login, and can accept tokens as ElastiCache does.

use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use fanfold_core::Time;
use fanfold_runtime::clock::now;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use super::dice;

/// A certificate authority. Its certificate is in a file that is removed on drop.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub file: PathBuf,
}

impl Authority {
    pub fn new() -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(Vec::new()).expect("an authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).expect("a certificate");
        let file = std::env::temp_dir().join(format!("fanfold-ca-{:x}.pem", dice::fresh()));
        std::fs::write(&file, certificate.pem()).expect("a file");
        Self { issuer: Issuer::new(params, key), file }
    }

    pub fn path(&self) -> &str {
        self.file.to_str().expect("a path")
    }

    fn server(&self, name: &str) -> ServerConfig {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions of TLS")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .expect("a server's settings")
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        let _gone = std::fs::remove_file(&self.file);
    }
}

/// An `AUTH` with a user.
#[derive(Debug, Clone)]
pub struct Login {
    /// The number of the connection, in the order in which the connections were opened.
    pub connection: usize,
    pub user: String,
    pub password: String,
    pub at: Time,
}

type Accepts = dyn Fn(&Login) -> bool + Send + Sync;

/// Terminates TLS in front of a server. Dropping it closes all connections.
pub struct Front {
    pub port: u16,
    state: Arc<State>,
    /// Increases when the connections are to be closed.
    cuts: watch::Sender<u64>,
}

struct State {
    server: u16,
    accepts: Box<Accepts>,
    logins: Mutex<Vec<Login>>,
    connections: AtomicUsize,
    closed: AtomicBool,
}

impl Front {
    /// Starts a front for the server at a port, with a certificate for the host `name`. If `accepts` returns true
    /// for a login, the front adds its password to the user before it passes the login on.
    pub fn start(
        authority: &Authority,
        name: &str,
        server: u16,
        accepts: impl Fn(&Login) -> bool + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let acceptor = TlsAcceptor::from(Arc::new(authority.server(name)));
        let (cuts, cut) = watch::channel(0);
        let state = Arc::new(State {
            server,
            accepts: Box::new(accepts),
            logins: Mutex::default(),
            connections: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
        });
        let front = Self { port, state: state.clone(), cuts };
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(serve(listener, acceptor, state, cut));
        });
        front
    }

    pub fn logins(&self) -> Vec<Login> {
        self.state.logins.lock().expect("logins").clone()
    }

    /// The number of connections with a completed TLS handshake.
    pub fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }

    /// Closes all connections.
    pub fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        self.state.closed.store(true, Ordering::SeqCst);
        self.cut();
    }
}

async fn serve(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    state: Arc<State>,
    mut cut: watch::Receiver<u64>,
) {
    listener.set_nonblocking(true).expect("a non-blocking listener");
    let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
    while !state.closed.load(Ordering::SeqCst) {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                let (acceptor, state, cut) = (acceptor.clone(), state.clone(), cut.clone());
                tokio::spawn(pass(stream, acceptor, state, cut));
            }
            _ = cut.changed() => {}
        }
    }
}

/// Copies bytes in both directions until either side closes the connection or the front cuts it.
async fn pass(
    stream: TcpStream,
    acceptor: TlsAcceptor,
    state: Arc<State>,
    mut cut: watch::Receiver<u64>,
) {
    cut.mark_unchanged();
    let Ok(mut client) = acceptor.accept(stream).await else { return };
    let connection = state.connections.fetch_add(1, Ordering::SeqCst);
    let Ok(mut server) = TcpStream::connect(("127.0.0.1", state.server)).await else { return };
    let (mut asked, mut answered) = (vec![0; 65_536], vec![0; 65_536]);
    let mut unread = Vec::new();
    loop {
        tokio::select! {
            count = client.read(&mut asked) => {
                let Ok(count @ 1..) = count else { return };
                unread.extend_from_slice(&asked[..count]);
                while let Some((words, length)) = command(&unread) {
                    state.record_login(connection, &words).await;
                    if server.write_all(&unread[..length]).await.is_err() {
                        return;
                    }
                    unread.drain(..length);
                }
            }
            count = server.read(&mut answered) => {
                let Ok(count @ 1..) = count else { return };
                let written = client.write_all(&answered[..count]).await;
                if written.is_err() || client.flush().await.is_err() {
                    return;
                }
            }
            _ = cut.changed() => return,
        }
    }
}

/// The first complete command (an array of strings) and its length in bytes. Read here, because the front passes on the
/// bytes themselves, and `redis::parse_redis_value` does not say how many bytes a value has.
fn command(bytes: &[u8]) -> Option<(Vec<String>, usize)> {
    let mut at = 0;
    let number = |at: &mut usize| -> Option<usize> {
        let end = *at + bytes[*at..].windows(2).position(|two| two == b"\r\n")?;
        let text = std::str::from_utf8(&bytes[*at + 1..end]).expect("a number");
        *at = end + 2;
        Some(text.parse().expect("a number"))
    };
    let mut words = Vec::new();
    for _ in 0..number(&mut at)? {
        let length = number(&mut at)?;
        let word = bytes.get(at..at + length)?;
        bytes.get(at + length..at + length + 2)?;
        words.push(String::from_utf8_lossy(word).into_owned());
        at += length + 2;
    }
    Some((words, at))
}

impl State {
    async fn record_login(&self, connection: usize, words: &[String]) {
        let [auth, user, password] = words else { return };
        if !auth.eq_ignore_ascii_case("AUTH") {
            return;
        }
        let (user, password) = (user.clone(), password.clone());
        let login = Login { connection, user, password, at: now() };
        if (self.accepts)(&login) {
            let client = redis::Client::open(format!("redis://127.0.0.1:{}", self.server));
            let mut valkey = client
                .expect("a client")
                .get_multiplexed_async_connection()
                .await
                .expect("the server behind the front");
            let mut add = redis::cmd("ACL");
            add.arg("SETUSER").arg(&login.user).arg(format!(">{}", login.password));
            let () = add.query_async(&mut valkey).await.expect("a password");
        }
        self.logins.lock().expect("logins").push(login);
    }
}
