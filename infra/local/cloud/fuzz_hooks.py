"""Hooks of Schemathesis for fuzz.py."""

import datetime
import itertools
import re

import schemathesis

COUNT = itertools.count(1)


def allow_times(body: dict) -> None:
    """Replaces times and durations of a valid body by allowed ones. The description of the API cannot say that a time must be
    within a year, nor which texts of the allowed characters are ISO 8601 durations."""
    for name in ("publish_at", "due_at"):
        if name in body:
            ahead = datetime.timedelta(minutes=5 + next(COUNT) % 1_000)
            body[name] = (datetime.datetime.now(datetime.UTC) + ahead).isoformat()
    if "every" in body:
        body["every"] = "PT15M"


@schemathesis.hook
def before_call(context, case, kwargs):
    """Replaces the Idempotency-Key of each valid request by an unused one. A key that an earlier request used with
    another text would be refused with 422."""
    if case.meta is not None and not case.meta.generation.mode.is_positive:
        return
    if isinstance(case.body, dict):
        allow_times(case.body)
    headers = case.headers or {}
    key = headers.get("Idempotency-Key")
    if isinstance(key, str) and re.fullmatch(r"[!-~]([ -~]{0,238}[!-~])?", key):
        headers["Idempotency-Key"] = f"{key}-{next(COUNT)}"
