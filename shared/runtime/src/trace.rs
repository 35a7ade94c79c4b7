//! Trace ids: the HTTP request that caused some work, and the invocation that does it. Every log line of that
//! work contains both. Messages that the work sends contain the request's id.

use std::fmt;
use std::sync::Arc;

use lambda_runtime::Context;

/// The longest id of a request, which is logged and sent with messages. Ten ids fit beside ten bodies of
/// `SEND_BATCH_BYTES_MAX` in one call to SQS.
const REQUEST_ID_CHARS_MAX: usize = 128;

tokio::task_local! {
    static TRACE: Trace;
}

/// An id from outside that is safe to log: 1 to `REQUEST_ID_CHARS_MAX` characters of `A-Z`, `a-z`, `0-9` and
/// `-_=+/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignId(Arc<str>);

/// The ids that some work belongs to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trace {
    /// API Gateway's id of the HTTP request. The caller gets it as `x-request-id`.
    pub request: Option<ForeignId>,
    /// Lambda's id of the invocation.
    pub invocation: Option<ForeignId>,
    /// X-Ray's id of the trace, if tracing is on.
    pub xray: Option<ForeignId>,
}

impl ForeignId {
    /// Checks an id. `None` if it is empty, too long, or has other characters.
    pub fn parse(text: &str) -> Option<Self> {
        let harmless = |byte: u8| byte.is_ascii_alphanumeric() || b"-_=+/".contains(&byte);
        let is_id = (1..=REQUEST_ID_CHARS_MAX).contains(&text.len()) && text.bytes().all(harmless);
        is_id.then(|| Self(text.into()))
    }

    /// The text of the id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ForeignId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Trace {
    /// The trace of an invocation, without a request.
    pub fn of_invocation(context: &Context) -> Self {
        let xray = context.xray_trace_id.as_deref().unwrap_or_default();
        let xray = xray.split(';').find_map(|part| part.trim().strip_prefix("Root="));
        Self {
            request: None,
            invocation: ForeignId::parse(&context.request_id),
            xray: xray.and_then(ForeignId::parse),
        }
    }

    /// The trace of the same invocation for this request.
    pub fn with_request(self, request: Option<ForeignId>) -> Self {
        Self { request, ..self }
    }

    /// The trace of the present task. Empty outside [`scope`](Self::scope) and [`during`](Self::during).
    pub fn current() -> Self {
        TRACE.try_with(Self::clone).unwrap_or_default()
    }

    /// Runs a future with this trace as the present one.
    pub async fn scope<F: Future>(self, work: F) -> F::Output {
        TRACE.scope(self, work).await
    }

    /// Runs a closure with this trace as the present one.
    pub fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        TRACE.sync_scope(self.clone(), work)
    }

    /// The fields of a log line: names and ids.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, &ForeignId)> {
        let fields = [
            ("request_id", &self.request),
            ("invocation", &self.invocation),
            ("trace", &self.xray),
        ];
        fields.into_iter().filter_map(|(name, id)| Some((name, id.as_ref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_only_characters_that_are_safe_to_log() {
        for id in ["JKJaXmPLvHcESHA=", "c6af9ac6-7b61-11e6-9a41-93e8deadbeef", "a_b+c/d"] {
            assert_eq!(ForeignId::parse(id).unwrap().as_str(), id);
        }
        let long = "a".repeat(REQUEST_ID_CHARS_MAX + 1);
        for bad in ["", "a b", "a\nb", "a\"b", "\u{1b}[31m", "é", "{}", &long] {
            assert_eq!(ForeignId::parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn the_xray_id_is_the_root_of_the_trace() {
        let mut context = Context::default();
        context.request_id = "r1".to_owned();
        context.xray_trace_id = Some(
            "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1".into(),
        );
        let trace = Trace::of_invocation(&context);
        let named: Vec<_> = trace.fields().map(|(name, id)| (name, id.as_str())).collect();
        let trace = ("trace", "1-5759e988-bd862e3fe1be46a994272793");
        assert_eq!(named, [("invocation", "r1"), trace]);
    }

    #[tokio::test]
    async fn concurrent_tasks_keep_their_traces() {
        let work = async |name: &'static str| {
            let trace = Trace::default().with_request(ForeignId::parse(name));
            let done = async {
                tokio::task::yield_now().await;
                Trace::current().request
            };
            trace.scope(done).await.map(|id| id.to_string())
        };
        let (a, b) = futures::join!(work("a"), work("b"));
        assert_eq!((a.as_deref(), b.as_deref()), (Some("a"), Some("b")));
        assert_eq!(Trace::current(), Trace::default());
    }
}
