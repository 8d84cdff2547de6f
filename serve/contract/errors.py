"""Errors of requests as exceptions; each becomes a JSON body `{"error": message}`."""

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

NESTED_TOO_DEEPLY = "a deeply nested value"
QUOTED_CHARS = 64  # characters of a received value in a message


class ApiError(Exception):
    """A response other than 200: status, message and extra headers.

    `details` has the parts of a message about a parameter: see `argument_details`.
    """

    def __init__(
        self,
        status: int,
        message: str,
        headers: dict[str, str] | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers or {}
        self.details = details or {}


class BadParameter(ApiError):
    """400: names the parameter, the value received, what is allowed and the closest allowed value.

    The closest is `near` where it is known, else the one of `choices` that is spelled most like the value.
    """

    def __init__(self, name: str, value: Any, allowed: str, choices: Iterable[str] = (), near: Any = None) -> None:
        if near is None:
            near = nearest(str(value), choices)
        message = f"{name}: {quote(value)} is not valid; {allowed}{_suggest(near)}"
        super().__init__(400, message, details=argument_details(name, value, allowed, near))


def as_json(value: Any) -> str:
    """A received value as JSON; one that is nested too deeply is only named."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return NESTED_TOO_DEEPLY


def quote(value: Any) -> str:
    """A received value for a message: a string in quotes, anything else as JSON; shortened and printable."""
    text = value if isinstance(value, str) else as_json(value)
    text = text if len(text) <= QUOTED_CHARS else text[:QUOTED_CHARS] + "…"
    return repr(text) if isinstance(value, str) else text


def argument_details(name: str, value: Any, allowed: str, near: str | None = None) -> dict[str, Any]:
    """An invalid parameter: its name, the received value, what is allowed, and the nearest allowed value."""
    return {"argument": name, "value": value, "allowed": allowed, "nearest": near}


def nearest(value: str, choices: Iterable[str]) -> str | None:
    """The choice that is spelled most like the value, if any is similar."""
    folded = {choice.lower(): choice for choice in choices}
    match = difflib.get_close_matches(value[:QUOTED_CHARS].lower(), folded, n=1, cutoff=0.5)
    return folded[match[0]] if match else None


def suggestion(value: str, choices: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the most similar choice, or nothing."""
    return _suggest(nearest(value, choices))


def _suggest(near: Any) -> str:
    return "" if near is None else f"; did you mean {near!r}?"
