"""Hooks of Schemathesis for fuzz.py."""

import itertools
import re

import schemathesis

COUNT = itertools.count(1)


@schemathesis.hook
def before_call(context, case, kwargs):
    """Replaces the Idempotency-Key of each valid request by an unused one. A key that an earlier request used with
    another text would be refused with 422."""
    if case.meta is not None and not case.meta.generation.mode.is_positive:
        return
    headers = case.headers or {}
    key = headers.get("Idempotency-Key")
    if isinstance(key, str) and re.fullmatch(r"[!-~]([ -~]{0,238}[!-~])?", key):
        headers["Idempotency-Key"] = f"{key}-{next(COUNT)}"
