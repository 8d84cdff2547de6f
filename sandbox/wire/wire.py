"""What an endpoint of a stand-in is, and the number formats that the venues write."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson


@dataclass(frozen=True, slots=True)
class Ask:
    """One request as a venue sees it."""

    query: dict[str, str]
    body: Any
    now_ms: int


@dataclass(frozen=True, slots=True)
class Answer:
    """One response; `weight` overrides the endpoint's weight where it depends on the request."""

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    weight: int | None = None
    content_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A path of a venue; `pool` names the rate limit that its weight counts against.

    Parameters inside the path are written as Sanic does (`/kline/<symbol:str>`) and come in `Ask.query`.
    """

    venue: str
    host: str
    path: str
    answer: Callable[[Ask], Answer]
    pool: str
    weight: int = 1
    method: str = "GET"


def json_answer(value: Any, status: int = 200, weight: int | None = None) -> Answer:
    """A JSON answer."""
    return Answer(orjson.dumps(value), status, weight=weight)


def trimmed(value: float, decimals: int) -> str:
    """A decimal without trailing zeros: 113080, 0.0001."""
    # Bodies are made of these: a third less work than an f-string.
    text = "%.*f" % (decimals, value)  # noqa: UP031
    return text.rstrip("0").rstrip(".") if decimals else text


def pointed(value: float, decimals: int) -> str:
    """A decimal without trailing zeros but always with a point: 113080.0, 0.0000125."""
    text = trimmed(value, decimals)
    return text if "." in text else text + ".0"


def whole(query: dict[str, str], name: str) -> int | None:
    """A whole number from the query, None if absent; ValueError names the parameter if it is not one."""
    text = query.get(name)
    if text is None or text == "":
        return None
    try:
        return int(text)
    except ValueError:
        raise ValueError(name) from None
