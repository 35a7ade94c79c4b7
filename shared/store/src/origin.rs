//! Where work comes from: the HTTP request that set it off, and the invocation that does it. Each line
//! of the log that is written meanwhile names both, and messages that are sent carry the request on.

use std::fmt;
use std::sync::Arc;

use fanfold_core::limits::REQUEST_ID_CHARS_MAX;
use lambda_runtime::Context;

tokio::task_local! {
    static ORIGIN: Origin;
}

/// An id that somebody else gave out and that stands in logs: short, and of harmless characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignId(Arc<str>);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// API Gateway's id of the HTTP request, which is told to the caller, too.
    pub request: Option<ForeignId>,
    /// Lambda's id of the invocation.
    pub invocation: Option<ForeignId>,
    /// X-Ray's trace, where invocations are traced.
    pub trace: Option<ForeignId>,
}

impl ForeignId {
    pub fn parse(text: &str) -> Option<Self> {
        let harmless = |byte: u8| byte.is_ascii_alphanumeric() || b"-_=+/".contains(&byte);
        let is_id = (1..=REQUEST_ID_CHARS_MAX).contains(&text.len()) && text.bytes().all(harmless);
        is_id.then(|| Self(text.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ForeignId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Origin {
    pub fn of_invocation(context: &Context) -> Self {
        let trace = context.xray_trace_id.as_deref().unwrap_or_default();
        let trace = trace.split(';').find_map(|part| part.trim().strip_prefix("Root="));
        Self {
            request: None,
            invocation: ForeignId::parse(&context.request_id),
            trace: trace.and_then(ForeignId::parse),
        }
    }

    /// The same invocation, for this request.
    pub fn with_request(self, request: Option<ForeignId>) -> Self {
        Self { request, ..self }
    }

    /// That of the work under way.
    pub fn current() -> Self {
        ORIGIN.try_with(Self::clone).unwrap_or_default()
    }

    /// Does work that comes from here.
    pub async fn scope<F: Future>(self, work: F) -> F::Output {
        ORIGIN.scope(self, work).await
    }

    /// The same for work that does not wait.
    pub fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        ORIGIN.sync_scope(self.clone(), work)
    }

    /// The fields that stand in a line of the log, by their names.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, &ForeignId)> {
        let fields = [
            ("request_id", &self.request),
            ("invocation", &self.invocation),
            ("trace", &self.trace),
        ];
        fields.into_iter().filter_map(|(name, id)| Some((name, id.as_ref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_harmless_in_a_log_is_an_id() {
        for id in ["JKJaXmPLvHcESHA=", "c6af9ac6-7b61-11e6-9a41-93e8deadbeef", "a_b+c/d"] {
            assert_eq!(ForeignId::parse(id).unwrap().as_str(), id);
        }
        let long = "a".repeat(REQUEST_ID_CHARS_MAX + 1);
        for bad in ["", "a b", "a\nb", "a\"b", "\u{1b}[31m", "é", "{}", &long] {
            assert_eq!(ForeignId::parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_trace_is_named_by_its_root() {
        let mut context = Context::default();
        context.request_id = "r1".to_owned();
        context.xray_trace_id = Some(
            "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1".into(),
        );
        let origin = Origin::of_invocation(&context);
        let named: Vec<_> = origin.fields().map(|(name, id)| (name, id.as_str())).collect();
        let trace = ("trace", "1-5759e988-bd862e3fe1be46a994272793");
        assert_eq!(named, [("invocation", "r1"), trace]);
    }

    #[tokio::test]
    async fn works_that_go_on_at_once_keep_their_origins() {
        let work = async |name: &'static str| {
            let origin = Origin::default().with_request(ForeignId::parse(name));
            let done = async {
                tokio::task::yield_now().await;
                Origin::current().request
            };
            origin.scope(done).await.map(|id| id.to_string())
        };
        let (a, b) = futures::join!(work("a"), work("b"));
        assert_eq!((a.as_deref(), b.as_deref()), (Some("a"), Some("b")));
        assert_eq!(Origin::current(), Origin::default());
    }
}
