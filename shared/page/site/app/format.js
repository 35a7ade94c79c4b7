// Numbers, times and lengths as people read them.

const numbers = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const days = new Intl.DateTimeFormat("en", { day: "numeric", month: "short" });
const daysOfYears = new Intl.DateTimeFormat("en", { day: "numeric", month: "short", year: "numeric" });
const moments = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });
const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });

const count = (number) => numbers.format(number);
const counted = (number, one, many) => `${count(number)} ${number === 1 ? one : many}`;
const moment = (text) => moments.format(new Date(text));

/** How long ago a time was, in few characters. */
function ago(text, now = Date.now()) {
  const time = new Date(text);
  const seconds = Math.round((now - time) / 1000);
  if (seconds < 5) return "now";
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  const sameYear = time.getFullYear() === new Date(now).getFullYear();
  return (sameYear ? days : daysOfYears).format(time);
}

/** Changes each half minute: texts about how long ago something was are shown again. */
const halfMinute = watchable(0);
setInterval(() => document.hidden || halfMinute.set(halfMinute.get() + 1), 30_000);

/** A time, as how long ago it was. */
function Ago({ time }) {
  useValue(halfMinute);
  return html`<time datetime=${time} title=${moment(time)}>${ago(time)}</time>`;
}

/** The length of a text as the server counts it: characters as a person counts them, without white space around them. */
function lengthOf(text) {
  const sent = text.trim().replaceAll("\r\n", "\n");
  let characters = 0;
  for (const _ of segmenter.segment(sent)) characters += 1;
  return { characters, bytes: new TextEncoder().encode(sent).length };
}

/** Milliseconds with a sensible number of digits. */
const inMs = (ms) => `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;

/** A time in the form of the field `datetime-local`, in the zone of the reader. */
function localTime(time) {
  const date = new Date(time);
  return new Date(date - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
