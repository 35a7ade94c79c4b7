//! TLS in front of a Valkey server of a test's own, with certificates of a private authority. It takes
//! down who authenticates and how, and can take tokens as ElastiCache does.

use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use fanfold_store::clock::now_ms;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use super::dice;

/// Who vouches for servers. Its certificate is in a file, until it is dropped.
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
    /// Which of the connections, by the order in which they came.
    pub connection: usize,
    pub user: String,
    pub password: String,
    pub at_ms: u64,
}

type Judge = dyn Fn(&Login) -> bool + Send + Sync;

/// Ends TLS before a server. Dropping it cuts all connections.
pub struct Front {
    pub port: u16,
    state: Arc<State>,
    /// Rises when connections are to be cut.
    cuts: watch::Sender<u64>,
}

struct State {
    server: u16,
    judge: Box<Judge>,
    logins: Mutex<Vec<Login>>,
    connections: AtomicUsize,
    closed: AtomicBool,
}

impl Front {
    /// Before the server at this port, as a host of this name. What the judge takes is made a password
    /// of the user; what it does not take comes to the server as it is.
    pub fn start(
        authority: &Authority,
        name: &str,
        server: u16,
        judge: impl Fn(&Login) -> bool + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let acceptor = TlsAcceptor::from(Arc::new(authority.server(name)));
        let (cuts, cut) = watch::channel(0);
        let state = Arc::new(State {
            server,
            judge: Box::new(judge),
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

    /// How many connections there were, once their TLS was agreed upon.
    pub fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }

    /// Ends all connections.
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
    listener.set_nonblocking(true).expect("a listener that waits");
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

/// Passes bytes on in both directions, until either side or a cut ends it.
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
                    state.hear(connection, &words).await;
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

/// The first whole command (an array of strings) and its length.
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
    async fn hear(&self, connection: usize, words: &[String]) {
        let [auth, user, password] = words else { return };
        if !auth.eq_ignore_ascii_case("AUTH") {
            return;
        }
        let (user, password) = (user.clone(), password.clone());
        let login = Login { connection, user, password, at_ms: now_ms() };
        if (self.judge)(&login) {
            let client = redis::Client::open(format!("redis://127.0.0.1:{}", self.server));
            let mut valkey = client
                .expect("a client")
                .get_multiplexed_async_connection()
                .await
                .expect("the server behind");
            let mut taken = redis::cmd("ACL");
            taken.arg("SETUSER").arg(&login.user).arg(format!(">{}", login.password));
            let () = taken.query_async(&mut valkey).await.expect("a password");
        }
        self.logins.lock().expect("logins").push(login);
    }
}
