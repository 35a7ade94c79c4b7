"""Hooks of Schemathesis for fuzz.py."""

import datetime
import itertools
import re

import schemathesis

COUNT = itertools.count(1)
# One valid body in this many keeps its random times.
RANDOM_IN = 4
# The reasons to refuse a valid body that the description cannot express: parts of the problem, by its status. (For a
# description, 5.0 is an integer, and a pattern cannot count the code points of a character.)
ALLOWED = {
    400: ("detail", r"If-Match must be|a time must be RFC 3339|every must be|the time zone is not one|a score is a string of digits|a day is a date|min_score must not|go together|invalid type: floating point|payload has more than"),
    422: ("type detail", r"/problems/(invalid-time|invalid-payload|versions-limit|tags-limit|scheduled-limit|timers-limit|boards-limit|invalid-board|invalid-scores|score-overflow) |has a character of [0-9]+ code points|url must be|given together|blurhash is not valid|bytes without white space|levels deep|clients can read"),
}


def is_valid(case):
    return case.meta is None or case.meta.generation.mode.is_positive


@schemathesis.hook
def before_call(context, case, kwargs):
    """Makes more valid requests acceptable."""
    if is_valid(case):
        use_a_new_key(case)
        use_allowed_times(case)
        use_allowed_scores(case)


def use_a_new_key(case):
    """Replaces the Idempotency-Key by an unused one. A key that an earlier request used with another text would be
    refused with 422."""
    headers = case.headers or {}
    key = headers.get("Idempotency-Key")
    if isinstance(key, str) and re.fullmatch(r"[!-~]([ -~]{0,238}[!-~])?", key):
        headers["Idempotency-Key"] = f"{key}-{next(COUNT)}"


def use_allowed_scores(case):
    """Makes most requests about leaderboards those of boards of one score: random bodies mostly have several, or changes
    that exclude each other, and random days are mostly not kept."""
    if next(COUNT) % RANDOM_IN == 0:
        return
    if isinstance(case.query, dict) and "day" in case.query:
        case.query.pop("day")
    if not isinstance(case.body, dict):
        return
    score = [str(next(COUNT) % 100)]
    if isinstance(case.body.get("changes"), list):
        members = [change.get("member") for change in case.body["changes"] if isinstance(change, dict)]
        members = [member for member in dict.fromkeys(members) if isinstance(member, str)] or ["member 1"]
        case.body = {"changes": [{"member": member, "set": score} for member in members]}
    elif "scores" in case.body or "add" in case.body:
        case.body = case.body | {name: score for name in ("scores", "add") if name in case.body}


def use_allowed_times(case):
    """Replaces the times and the duration of most bodies. Random times are mostly centuries away, and random texts with
    the pattern of a duration are mostly none."""
    number = next(COUNT)
    if not isinstance(case.body, dict) or number % RANDOM_IN == 0:
        return
    at = datetime.datetime.now(datetime.UTC) + datetime.timedelta(minutes=5 + number % 1_000)
    allowed = {"publish_at": at.isoformat(), "due_at": at.isoformat(), "every": "PT15M"}
    changed = {name: value for name, value in allowed.items() if name in case.body}
    if changed:
        case.body = case.body | changed


@schemathesis.check
def valid_bodies_are_refused_for_allowed_reasons(context, response, case):
    """All other reasons are in the description, such as those about texts."""
    if not is_valid(case) or response.status_code not in ALLOWED or not isinstance(case.body, dict):
        return
    parts, reasons = ALLOWED[response.status_code]
    problem = response.json()
    assert re.search(reasons, " ".join(problem[part] for part in parts.split())), f"a valid body was refused: {problem}"
