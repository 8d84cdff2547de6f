"""Faults that tests and demos switch on at run time, per venue and optionally per host and path."""

import itertools
import time
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

import orjson

from sandbox.wire.endpoint import Response

KINDS = {
    "outage": {"note"},
    "slow": {"delay_s"},
    "429": {"retry_after"},
    "418": {"retry_after"},
    "451": {"body"},
    "500": {"body"},
    "truncated": {"at", "cut"},
    "changed_field": {"field", "rename", "as", "times", "where"},
    "hostile": {"form"},
    "ws_drop": {"refuse"},
}
CHANGES = ("rename", "as", "times")
TYPES = ("string", "number", "null", "removed")
# What a hostile body is: arrays in arrays, 80 MB, numbers beyond any type, zero characters, no UTF-8, nothing, nulls.
FORMS = ("deep", "huge", "numbers", "zeros", "bytes", "empty", "nulls")
_COMMON = {"kind", "venue", "host", "path", "count", "seconds"}


@dataclass(slots=True)
class Fault:
    """One switched-on fault; `count` requests or `seconds` end it, else it lasts until it is deleted."""

    id: int
    kind: str
    venue: str
    host: str = ""
    path: str = ""  # prefix
    options: dict[str, Any] = field(default_factory=dict)
    count: int | None = None
    ends: float | None = None
    hits: int = 0

    def concerns(self, venue: str, host: str, path: str) -> bool:
        """Whether it applies now to a request of this venue, host and path."""
        over = (self.ends is not None and time.monotonic() >= self.ends) or (
            self.count is not None and self.hits >= self.count
        )
        known = self.venue in (venue, "*") and self.host in ("", host)
        return known and not over and path.startswith(self.path)

    def shown(self) -> dict[str, Any]:
        """The fault as the admin path shows it."""
        left = None if self.ends is None else round(max(0.0, self.ends - time.monotonic()), 1)
        return {"id": self.id, "kind": self.kind, "venue": self.venue, "host": self.host, "path": self.path,
                **self.options, "count": self.count, "seconds_left": left, "hits": self.hits}  # fmt: skip


class Faults:
    """The switched-on faults in order of their start."""

    def __init__(self) -> None:
        self.active: list[Fault] = []
        self._ids = itertools.count(1)

    def add(self, wanted: Any) -> Fault:
        """Switch a fault on from its JSON; ValueError says what is wrong with it."""
        if not isinstance(wanted, dict):
            raise ValueError("a fault is a JSON object with kind and venue")
        kind, venue = wanted.get("kind"), wanted.get("venue")
        if kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}, not {kind!r}")
        if not isinstance(venue, str) or not venue:
            raise ValueError("venue must name a venue, or * for all")
        if unknown := set(wanted) - _COMMON - KINDS[kind]:
            raise ValueError(f"{kind} does not take {', '.join(sorted(unknown))}")
        for name in ("count", "seconds", "delay_s", "retry_after", "at", "times"):
            if name in wanted and (not isinstance(wanted[name], int | float) or wanted[name] < 0):
                raise ValueError(f"{name} must be a number of at least 0, not {wanted[name]!r}")
        if kind == "changed_field" and (not wanted.get("field") or len(set(CHANGES) & set(wanted)) != 1):
            raise ValueError(f"changed_field takes field and one of {', '.join(CHANGES)}")
        if not isinstance(wanted.get("where", {}), dict):
            raise ValueError(f"where must be an object of fields and their values, not {wanted['where']!r}")
        if wanted.get("as", "null") not in TYPES:
            raise ValueError(f"as must be one of {', '.join(TYPES)}, not {wanted['as']!r}")
        if kind == "hostile" and wanted.get("form") not in FORMS:
            raise ValueError(f"form must be one of {', '.join(FORMS)}, not {wanted.get('form')!r}")
        seconds = wanted.get("seconds")
        fault = Fault(
            next(self._ids), kind, venue, wanted.get("host", ""), wanted.get("path", ""),
            {name: wanted[name] for name in KINDS[kind] if name in wanted}, wanted.get("count"),
            None if seconds is None else time.monotonic() + seconds,
        )  # fmt: skip
        self.active.append(fault)
        return fault

    def remove(self, identity: int | None = None) -> int:
        """Switch one fault off, or all; how many it was."""
        kept = [fault for fault in self.active if identity is not None and fault.id != identity]
        gone = len(self.active) - len(kept)
        self.active = kept
        return gone

    def on(self, venue: str, host: str, path: str) -> list[Fault]:
        """The faults that apply to this request; each counts it as a hit."""
        if not self.active:
            return []
        found = [fault for fault in self.active if fault.concerns(venue, host, path)]
        for fault in found:
            fault.hits += 1
        return found


def refused(fault: Fault) -> Response | None:
    """The response of a fault that replaces the venue's, else None."""
    if fault.kind == "500":
        return Response(str(fault.options.get("body", '{"msg":"Internal error"}')).encode(), 500)
    if fault.kind == "451":
        body = '{"code":0,"msg":"Service unavailable from a restricted location according to the terms."}'
        return Response(str(fault.options.get("body", body)).encode(), 451)
    if fault.kind not in ("429", "418"):
        return None
    wait = int(fault.options.get("retry_after", 5))
    return Response(b'{"code":-1003,"msg":"Too many requests."}', int(fault.kind), {"Retry-After": str(wait)})


def _changed(value: Any, name: str, options: dict[str, Any]) -> Any:
    if isinstance(value, list):
        return [_changed(one, name, options) for one in value]
    if not isinstance(value, dict):
        return value
    meant = all(value.get(key) == wanted for key, wanted in options.get("where", {}).items())
    out = {}
    for key, one in value.items():
        if key != name or not meant:
            out[key] = _changed(one, name, options)
        elif "rename" in options:
            out[options["rename"]] = one
        elif "times" in options:
            out[key] = _times(one, options["times"])
        elif options["as"] == "null":
            out[key] = None
        elif options["as"] == "string":
            out[key] = one if isinstance(one, str) else orjson.dumps(one).decode()
        elif options["as"] == "number":
            try:
                out[key] = float(one)
            except (TypeError, ValueError):
                out[key] = -1
    return out


def _times(value: Any, factor: float) -> Any:
    """The number multiplied, as text where it was text; what is no number stays."""
    if not isinstance(value, str):
        return value * factor if isinstance(value, int | float) else value
    try:
        return f"{Decimal(value) * Decimal(str(factor)):f}"
    except InvalidOperation:
        return value


def changed_field(fault: Fault, body: bytes) -> bytes:
    """The body with the named field renamed, removed, of another type or multiplied, wherever it occurs.

    With `where` only in objects that have these values: one contract of a list.
    """
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return body
    return orjson.dumps(_changed(value, str(fault.options["field"]), fault.options))


def hostile(fault: Fault, body: bytes) -> bytes:
    """A body that no venue sends, with a status of 200: the venue's own with other values where the form says so."""
    form = fault.options["form"]
    if form == "deep":
        return b"[" * 100_000 + b"]" * 100_000
    if form == "huge":
        return b'{"data":"' + b"x" * 80_000_000 + b'"}'
    if form == "empty":
        return b""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return body
    if form == "bytes":
        return orjson.dumps(_replaced(value, form)).replace(b"hostile", b"\xff\xfe\xc0")
    return orjson.dumps(_replaced(value, form)).replace(b'"hostile"', b"1e999")


def _replaced(value: Any, form: str) -> Any:
    if isinstance(value, dict):
        return {key: _replaced(one, form) for key, one in value.items()}
    if isinstance(value, list):
        return [_replaced(one, form) for one in value]
    if form == "nulls":
        return None
    if form == "numbers":
        if isinstance(value, str):
            return "1e999" if value[-1:].isdigit() else value
        return "hostile" if isinstance(value, int | float) else value
    if not isinstance(value, str):
        return value
    return f"{value}hostile" if form == "bytes" else f"\0{value}\0"
