"""What can go wrong in a request, as exceptions; every one of them becomes a JSON body `{"error": message}`."""

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

DEEP = "a deeply nested value"
SHOWN = 64  # characters of a received value that a message repeats


class ApiError(Exception):
    """An answer other than 200: status, message and extra headers.

    `about` says the same as the message in parts, where it is about a parameter: see `wrong`.
    """

    def __init__(
        self,
        status: int,
        message: str,
        headers: dict[str, str] | None = None,
        about: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers or {}
        self.about = about or {}


class BadParameter(ApiError):
    """400: names the parameter, the value received, what is allowed and the closest allowed value.

    The closest is `near` where it is known, else the one of `choices` that is spelled most like the value.
    """

    def __init__(self, name: str, value: Any, allowed: str, choices: Iterable[str] = (), near: Any = None) -> None:
        if near is None:
            near = nearest(str(value), choices)
        message = f"{name}: {shown(value)} is not valid; {allowed}{_meant(near)}"
        super().__init__(400, message, about=wrong(name, value, allowed, near))


def as_json(value: Any) -> str:
    """A received value as JSON again; one that is nested too deeply for that is only named."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return DEEP


def shown(value: Any) -> str:
    """A received value as a message may repeat it: a text quoted, anything else as JSON; bounded, printable."""
    text = value if isinstance(value, str) else as_json(value)
    text = text if len(text) <= SHOWN else text[:SHOWN] + "…"
    return repr(text) if isinstance(value, str) else text


def wrong(name: str, value: Any, allowed: str, near: str | None = None) -> dict[str, Any]:
    """What is wrong with a parameter: its name, the value received, what is allowed, the nearest allowed value."""
    return {"argument": name, "value": value, "allowed": allowed, "nearest": near}


def nearest(value: str, choices: Iterable[str]) -> str | None:
    """The choice nearest to what was received, if any is near."""
    folded = {choice.lower(): choice for choice in choices}
    match = difflib.get_close_matches(value[:SHOWN].lower(), folded, n=1, cutoff=0.5)
    return folded[match[0]] if match else None


def closest(value: str, choices: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the choice nearest to what was received, or nothing."""
    return _meant(nearest(value, choices))


def _meant(near: Any) -> str:
    return "" if near is None else f"; did you mean {near!r}?"
