//! Valkey over TLS, and with IAM instead of a password, on real servers with certificates of a private authority.
//! A front terminates TLS and checks tokens as ElastiCache does. The server behind it checks the password.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use aws_sdk_dynamodb::config::Credentials;
use aws_smithy_types::DateTime;
use aws_smithy_types::date_time::Format;
use fanfold_core::{Bucket, FeedId, Time};
use fanfold_engines::feed::Source;
use fanfold_engines::valkey::iam::{self, token};
use fanfold_kinds::App;
use fanfold_kinds::home::Span;
use fanfold_runtime::clock::now;
use fanfold_runtime::log::Chain;

use crate::cluster::{people, read, settle};
use crate::harness::setting;
use crate::harness::tls::{Authority, Front, Login};
use crate::harness::valkeys::Node;
use crate::harness::world::{World, page};
use crate::rules::doctor::{IAM, examine};

const HOST: &str = "127.0.0.1";
/// The rights of the functions' user, as in the access string for ElastiCache.
const ACCESS: [&str; 10] = [
    "on",
    "~*",
    "-@all",
    "+@read",
    "+@write",
    "+@scripting",
    "+@connection",
    "-@dangerous",
    "+cluster|slots",
    "+info",
];
const SCHEMES: [&str; 2] = ["rediss", "rediss-cluster"];

/// A single server, or a cluster of one.
fn server(scheme: &str) -> Node {
    if scheme == "rediss" {
        return Node::start(&[]);
    }
    let node = Node::start(&["--cluster-enabled", "yes"]);
    node.cli(&["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]);
    node.wait_for("cluster_state:ok", &["CLUSTER", "INFO"]);
    node
}

/// Makes a node announce the address of its front to clients of the cluster.
fn announce(node: &Node, front: &Front) {
    node.cli(&["CONFIG", "SET", "cluster-announce-ip", HOST]);
    node.cli(&["CONFIG", "SET", "cluster-announce-port", &front.port.to_string()]);
    if node.cli(&["CLUSTER", "INFO"]).contains("cluster_state") {
        node.wait_for(&front.port.to_string(), &["CLUSTER", "SLOTS"]);
    }
}

/// The source of a page with changed settings, and the error of a call to Valkey.
async fn page_with(world: &World, changes: &[(&str, &str)]) -> (Source, String) {
    let config = world.config_with(changes);
    let app = App::new(&world.sdk, &config).expect("an app");
    let feed = FeedId::home(world.id("cedar"));
    let page = page(&app, feed, Span::ALL, 9, world.now()).await.expect("a page");
    let error = app.valkey.due(Bucket(0), Time::EPOCH).await.err();
    (page.source, error.map(|error| Chain(&error).to_string()).unwrap_or_default())
}

#[tokio::test]
async fn tls_requires_a_certificate_of_this_host_by_a_trusted_authority() {
    let (authority, another) = (Authority::new(), Authority::new());
    for scheme in SCHEMES {
        let node = server(scheme);
        let front = Front::start(&authority, HOST, node.port, |_| false);
        announce(&node, &front);
        let url = |front: &Front| format!("{scheme}://{HOST}:{}", front.port);
        let settings = [("REDIS_URL", &*url(&front)), ("REDIS_CA_FILE", authority.path())];
        let world = World::with(&settings).await;
        let posts = people(&world).await;
        settle(&world, &posts).await;
        assert!(front.connections() > 0, "{scheme}: no connection goes through the front");

        let (seen, file) = (front.connections(), another.path());
        for changes in [("REDIS_CA_FILE", ""), ("REDIS_CA_FILE", file)] {
            let (source, error) = page_with(&world, &[changes]).await;
            assert_eq!(source, Source::Pull, "{scheme} {changes:?}: {error}");
            assert!(error.contains("UnknownIssuer") || error.contains("BadSignature"), "{error}");
        }
        assert_eq!(front.connections(), seen, "{scheme} connects with a wrong certificate");
        let stranger = Front::start(&authority, "cache.invalid", node.port, |_| false);
        let (source, error) = page_with(&world, &[("REDIS_URL", &url(&stranger))]).await;
        assert_eq!(source, Source::Pull, "{scheme} with the certificate of another host: {error}");
        assert!(error.contains("not valid for name"), "{error}");
        assert_eq!(stranger.connections(), 0);
    }
}

fn login(serverless: bool) -> iam::Login {
    iam::Login { user: "fanfold".to_owned(), cache: "feeds-1".to_owned(), serverless }
}

/// The time in a token at which it was signed.
fn signed_at(token: &str) -> Time {
    let (_, at) = token.split_once("X-Amz-Date=").expect("a time");
    let (day, time) = (&at[..8], &at[9..15]);
    let text = format!(
        "{}-{}-{}T{}:{}:{}Z",
        &day[..4],
        &day[4..6],
        &day[6..],
        &time[..2],
        &time[2..4],
        &time[4..]
    );
    let at = DateTime::from_str(&text, Format::DateTime).expect("a time");
    Time::from_ms(at.to_millis().expect("a time").try_into().expect("a time"))
}

/// Whether ElastiCache would accept a login: the right signature, at most 15 minutes old.
fn is_valid(shown: &Login, expected: &iam::Login) -> bool {
    let (id, secret) = (setting("AWS_ACCESS_KEY_ID"), setting("AWS_SECRET_ACCESS_KEY"));
    let credentials = Credentials::new(id, secret, None, None, "tests");
    let at = signed_at(&shown.password);
    let age = shown.at.since(at);
    let ours = token(expected, &credentials, &setting("AWS_REGION"), at).expect("a token");
    shown.user == expected.user && shown.password == ours && age < Duration::from_secs(900)
}

#[tokio::test]
async fn every_connection_logs_in_with_its_own_token() {
    let authority = Authority::new();
    for (scheme, serverless) in [(SCHEMES[0], false), (SCHEMES[1], true)] {
        let node = server(scheme);
        node.cli(&[&["ACL", "SETUSER", "fanfold"], &ACCESS[..]].concat());
        node.cli(&["ACL", "SETUSER", "default", "resetkeys"]);
        let refused = Arc::new(AtomicBool::new(false));
        let (expected, refuses) = (login(serverless), refused.clone());
        let front = Front::start(&authority, HOST, node.port, move |shown| {
            !refuses.load(Ordering::SeqCst) && is_valid(shown, &expected)
        });
        announce(&node, &front);
        let url = format!("{scheme}://fanfold@{HOST}:{}", front.port);
        let world = World::with(&[
            ("REDIS_URL", &*url),
            ("REDIS_CA_FILE", authority.path()),
            ("REDIS_IAM_CACHE", "feeds-1"),
            ("REDIS_IAM_KIND", if serverless { "" } else { "replication-group" }),
        ])
        .await;
        assert_eq!(front.connections(), 0, "a connection was opened before the first command");
        let mut posts = people(&world).await;
        settle(&world, &posts).await;
        let before = front.logins();
        for connection in 0..front.connections() {
            let own: Vec<_> =
                before.iter().filter(|login| login.connection == connection).collect();
            assert!((1..=2).contains(&own.len()), "{scheme}: {connection} of {before:?}");
        }
        assert!(before.iter().all(|login| login.user == "fanfold"));

        // new connections after a cut log in with new tokens
        tokio::time::sleep(Duration::from_millis(1_100)).await;
        let cut_at = Time::from_ms(now().ms() / 1_000 * 1_000); // times in tokens are in seconds
        front.cut();
        world.advance(Duration::from_millis(1));
        posts.insert(0, world.publish("ash", "after the cut").await);
        settle(&world, &posts).await;
        assert_eq!(read(&world, "cedar").await, (posts.clone(), Source::Cache), "{scheme}");
        let after = front.logins().split_off(before.len());
        assert!(!after.is_empty());
        for login in &after {
            assert!(signed_at(&login.password) >= cut_at, "{scheme}: {login:?}");
            assert!(before.iter().all(|old| old.password != login.password));
        }

        // a function that cannot log in reads from DynamoDB, and uses Valkey again when IAM accepts its login
        tokio::time::sleep(Duration::from_millis(1_100)).await;
        refused.store(true, Ordering::SeqCst);
        front.cut();
        for _ in 0..2 {
            assert_eq!(read(&world, "cedar").await, (posts.clone(), Source::Pull), "{scheme}");
        }
        refused.store(false, Ordering::SeqCst);
        settle(&world, &posts).await;

        // the doctor opens its own connection, and reports a wrong setting
        let checks = examine(&world, &world.config).await;
        assert_eq!(
            checks[IAM],
            ("holds".to_owned(), "both logins succeeded".to_owned()),
            "{scheme}"
        );
        let kind = if serverless { "replication-group" } else { "serverless" };
        for change in [("REDIS_IAM_CACHE", "feeds-2"), ("REDIS_IAM_KIND", kind)] {
            let checks = examine(&world, &world.config_with(&[change])).await;
            assert_eq!(checks[IAM].0, "does-not-hold", "{scheme} with {change:?}: {checks:?}");
        }

        for change in [("REDIS_IAM_CACHE", "feeds-2"), ("REDIS_URL", &*url.replace("fan", "man"))] {
            let (source, error) = page_with(&world, &[change]).await;
            assert_eq!(source, Source::Pull, "{scheme} with {change:?}: {error}");
            assert!(error.contains("WRONGPASS") || error.contains("uthentication"), "{error}");
            let last = front.logins().pop().expect("a login").password;
            assert!(!error.contains(&last[last.len() - 64..]), "{error}");
        }
    }
}

/// Two implementations of the signature agree in every byte. Only the order of the parameters differs.
#[test]
fn a_token_equals_the_token_of_botocore() {
    const MAKE: &str = "
import datetime, sys, botocore.auth, botocore.session
from botocore.credentials import Credentials
from botocore.model import ServiceId
from botocore.signers import RequestSigner
at, user, cache, kind, session_token = sys.argv[1:]
frozen = datetime.datetime.fromtimestamp(int(at), datetime.timezone.utc).replace(tzinfo=None)
botocore.auth.get_current_datetime = lambda *_, **__: frozen
credentials = Credentials('AKIDEXAMPLE', 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY', session_token or None)
events = botocore.session.Session().get_component('event_emitter')
signer = RequestSigner(
    ServiceId('elasticache'), 'eu-west-1', 'elasticache', 'v4', credentials, events)
url = f'https://{cache}/?Action=connect&User={user}' + kind
request = {'method': 'GET', 'url': url, 'body': {}, 'headers': {}, 'context': {}}
print(signer.generate_presigned_url(
    request, operation_name='connect', expires_in=900, region_name='eu-west-1'))
";
    let parts = |token: &str| {
        let (cache, query) = token.trim().split_once("/?").expect("a query");
        let mut query: Vec<String> = query.split('&').map(str::to_owned).collect();
        query.sort();
        (cache.to_owned(), query)
    };
    let python = PathBuf::from(setting("FANFOLD_CLOUD_TOOLS")).join("python");
    for (at_s, serverless, session_token) in [
        (1_767_225_600, true, None),
        (1_767_225_600, false, None),
        (1_700_000_059, true, Some("IQoJb3JpZ2luX2VjEA//+a b==~%é")),
        (1_700_000_059, false, Some("FwoGZXIvYXdzEBYaD/+=")),
    ] {
        let login = login(serverless);
        let kind = if serverless { "&ResourceType=ServerlessCache" } else { "" };
        let mut make = Command::new(&python);
        make.args(["-c", MAKE, &format!("{at_s}"), &login.user, &login.cache, kind]);
        let made = make.arg(session_token.unwrap_or_default()).output().expect("Python");
        let error = String::from_utf8_lossy(&made.stderr);
        assert!(made.status.success(), "{error}");
        let theirs = String::from_utf8(made.stdout).expect("a URL");
        let theirs = theirs.strip_prefix("https://").expect("a URL");
        let credentials = Credentials::new(
            "AKIDEXAMPLE",
            "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
            session_token.map(str::to_owned),
            None,
            "tests",
        );
        let ours = token(&login, &credentials, "eu-west-1", Time::from_ms(at_s * 1_000 + 999))
            .expect("a token");
        assert_eq!(parts(&ours), parts(theirs));
        assert_eq!(ours.contains("X-Amz-Security-Token"), session_token.is_some());
    }
}
