//! Structured logs: each line is one JSON object, which begins with the ids of the [`Trace`].
//!
//! Contents of requests (texts of posts, tokens, headers, paths) are not logged. Values that can contain a part
//! of a request, such as the reason of an error, are escaped.

use std::error::Error;
use std::fmt;

use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::{Format, Json, JsonFields, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::trace::Trace;

/// Starts logging to stdout. `LOG_LEVEL` is the lowest level that is logged (default `info`).
pub fn init() {
    let level = std::env::var("LOG_LEVEL").ok().and_then(|level| level.parse().ok());
    let logs = to(std::io::stdout, level.unwrap_or(Level::INFO));
    let _already_started = logs.try_init();
    // a panic becomes one line of JSON instead of several lines of text
    std::panic::set_hook(Box::new(|panic| tracing::error!(%panic, "panicked")));
}

/// A subscriber that writes the lines of Fanfold at `level` and above. Lines of other crates are written from
/// `warn` on at every level, because an HTTP client would log headers and bodies.
fn to<W>(writer: W, level: Level) -> impl Subscriber + Send + Sync
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let others = LevelFilter::from_level(level).min(LevelFilter::WARN);
    let filter = Targets::new().with_target("fanfold", level).with_default(others);
    let lines = tracing_subscriber::fmt::layer()
        .event_format(Line(
            Format::default()
                .json()
                .flatten_event(true)
                .with_current_span(false)
                .with_span_list(false),
        ))
        .fmt_fields(JsonFields::new())
        .with_writer(writer);
    tracing_subscriber::registry().with(lines).with(filter)
}

/// Writes a line like tracing-subscriber, with the ids of the trace first.
struct Line(Format<Json>);

impl<S, N> FormatEvent<S, N> for Line
where
    S: Subscriber + for<'l> LookupSpan<'l>,
    N: for<'w> FormatFields<'w> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = String::new();
        self.0.format_event(context, Writer::new(&mut line), event)?;
        let Some(rest) = line.strip_prefix('{') else { return writer.write_str(&line) };
        writer.write_char('{')?;
        for (name, id) in Trace::current().fields() {
            // ids have no characters that need escaping
            write!(writer, "\"{name}\":\"{id}\",")?;
        }
        writer.write_str(rest)
    }
}

/// Displays an error with all its causes, separated by colons, for a log line.
pub struct Chain<'a>(pub &'a dyn Error);

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use serde_json::Value;

    use super::*;
    use crate::trace::ForeignId;

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The lines that `log` writes at this level.
    fn lines_of(level: Level, log: impl FnOnce()) -> Vec<String> {
        let written = Written::default();
        let writer = written.clone();
        tracing::subscriber::with_default(to(move || writer.clone(), level), log);
        let bytes = written.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap().split_terminator('\n').map(str::to_owned).collect()
    }

    #[test]
    fn every_event_is_one_line_of_json_without_control_characters() {
        let ugly = "a\nb\r\u{1b}[31m\u{0}\"}{\\ \u{7f}\u{2028}é";
        let lines = lines_of(Level::INFO, || {
            tracing::info!(shown = %ugly, debugged = ?ugly, plain = ugly, "text {ugly}");
        });
        let [line] = lines.as_slice() else { panic!("{lines:?}") };
        assert!(!line.chars().any(|c| c < ' '), "{line:?}");
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!((&line["shown"], &line["plain"]), (&ugly.into(), &ugly.into()));
        assert_eq!(line["message"], format!("text {ugly}"));
        assert_eq!(line["debugged"], format!("{ugly:?}"));
    }

    #[tokio::test]
    async fn every_line_has_the_ids_of_its_trace() {
        let id = |text| ForeignId::parse(text);
        let trace = Trace { request: id("r="), invocation: id("i-1"), xray: None };
        let lines = trace.scope(async { lines_of(Level::INFO, || tracing::info!(post = 1, "x")) });
        let line: Value = serde_json::from_str(&lines.await[0]).unwrap();
        assert_eq!((&line["request_id"], &line["invocation"]), (&"r=".into(), &"i-1".into()));
        assert_eq!((&line["message"], &line["post"]), (&"x".into(), &1.into()));
        assert_eq!((&line["level"], line.get("trace")), (&"INFO".into(), None));
        let lines = lines_of(Level::INFO, || tracing::info!("without a trace"));
        let line: Value = serde_json::from_str(&lines[0]).unwrap();
        assert_eq!(line.get("request_id"), None);
    }

    #[test]
    fn lines_of_other_crates_are_written_from_warn_on() {
        let lines = lines_of(Level::TRACE, || {
            tracing::trace!("ours");
            tracing::info!(target: "hyper::client", "Authorization: Bearer secret");
            tracing::warn!(target: "hyper::client", "a warning");
        });
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].contains("ours") && lines[1].contains("a warning"));
        let lines = lines_of(Level::ERROR, || {
            tracing::warn!("ours");
            tracing::warn!(target: "hyper::client", "a warning");
        });
        assert!(lines.is_empty(), "{lines:?}");
    }
}
