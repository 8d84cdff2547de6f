"""What can go wrong in a request, as exceptions; every one of them becomes a JSON body `{"error": message}`."""

import difflib
from collections.abc import Iterable

SHOWN = 64  # characters of a received value that a message repeats


class ApiError(Exception):
    """An answer other than 200: status, message and extra headers."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers or {}


class BadParameter(ApiError):
    """400: names the parameter, the value received, what is allowed and the closest allowed value."""

    def __init__(self, name: str, value: str, allowed: str, choices: Iterable[str] = ()) -> None:
        super().__init__(400, f"{name}: {shown(value)} is not valid; {allowed}{closest(value, choices)}")


class Unavailable(Exception):
    """The data cannot be read now. `missing`: there is no replica; otherwise it is there and cannot be read."""

    def __init__(self, reason: str, missing: bool = False) -> None:
        super().__init__(reason)
        self.missing = missing


def shown(value: str) -> str:
    """A received value as a message may repeat it: quoted, bounded, printable."""
    return repr(value if len(value) <= SHOWN else value[:SHOWN] + "…")


def closest(value: str, choices: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the choice nearest to what was received, or nothing."""
    folded = {choice.lower(): choice for choice in choices}
    match = difflib.get_close_matches(value[:SHOWN].lower(), folded, n=1, cutoff=0.5)
    return f"; did you mean {folded[match[0]]!r}?" if match else ""
