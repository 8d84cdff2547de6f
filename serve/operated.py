"""For those who operate the server: /healthz (the process), /readyz (its data), /metrics (Prometheus)."""

import time

from sanic import Request
from sanic.response import HTTPResponse

from serve.contract.serialize import Body, json_body
from serve.endpoints.service.status import UNHEALTHY_AFTER_S
from serve.http.metrics import CONTENT_TYPE, States
from serve.http.responses import error_response, make_response, respond
from serve.http.service import RETRY_AFTER_S, Service
from serve.queries.operated import VenueState, venue_states
from serve.replica.unavailable import Unavailable

RETRY = {"retry-after": str(RETRY_AFTER_S)}


async def alive(request: Request) -> HTTPResponse:
    """The process answers."""

    async def answer(private: bool) -> HTTPResponse:
        return respond(request, make_response(json_body({"state": "alive"}), None), private=private)

    service: Service = request.app.ctx.service
    return await service.admitted(request, answer, "status")


async def ready(request: Request) -> HTTPResponse:
    """The served edition is fresh; otherwise 503 with the reason."""

    async def answer(private: bool) -> HTTPResponse:
        try:
            with service.store.current() as edition:
                age_s = round(time.time() - edition.as_of_ms / 1000, 3)
                state = {"state": "ready", "edition": edition.edition_id, "age_s": age_s}
        except Unavailable as outage:
            reason = "loading" if outage.missing else "unavailable"
            return error_response(503, str(outage), RETRY, state=reason)
        if abs(age_s) > UNHEALTHY_AFTER_S:
            text = f"the newest data is {age_s:.0f} s old, which is more than {UNHEALTHY_AFTER_S} s"
            return error_response(503, text, RETRY, state="stale")
        return respond(request, make_response(json_body(state), None), private=private)

    service: Service = request.app.ctx.service
    return await service.admitted(request, answer, "status")


async def metrics(request: Request) -> HTTPResponse:
    """Everything that is counted, in Prometheus's text format."""

    async def answer(private: bool) -> HTTPResponse:
        text = service.metrics.text(await states(service))
        return respond(request, make_response(Body(text, CONTENT_TYPE), None), private=private)

    service: Service = request.app.ctx.service
    return await service.admitted(request, answer, "status")


async def states(service: Service) -> States:
    """What is so now: of this worker and of the edition that it serves."""
    store = service.store
    found: dict[tuple[str, str], dict[str, float | None]] = {
        ("queries_running", "Queries that run or wait for a thread."): {"": store.asked},
        ("followers", "Connections of clients that follow the editions."): {"": service.followers.open},
        ("cache_bytes", "Bytes of cached responses."): {"": service.cache.size},
        ("serving", "1 while there is an edition to serve."): {"": store.edition is not None},
    }
    try:
        with store.current() as edition:
            venues = await store.execute(edition, venue_states)
    except Unavailable:
        return found
    now_s = time.time()
    age = ("edition_age_seconds", "Age of the newest data that is served.")
    as_of = ("edition_as_of_timestamp_seconds", "Time of the newest data that is served.")
    served = ("edition_served_timestamp_seconds", "When this worker began to serve its edition.")
    good = ("venue_last_good_timestamp_seconds", "Newest minute of an exchange that was recorded well.")
    return found | {
        ("edition", "The edition that is served."): {"": edition.edition_id},
        as_of: {"": edition.as_of_ms / 1000},
        age: {"": now_s - edition.as_of_ms / 1000},
        served: {"": edition.opened_s},
        good: {name: venue.last_good_ms and venue.last_good_ms / 1000 for name, venue in venues.items()},
        ("venue_ok_endpoints", "Endpoints of an exchange that answer."): _of(venues, "ok_endpoints"),
        ("venue_failed_endpoints", "Endpoints of an exchange that fail."): _of(venues, "failed_endpoints"),
        ("venue_markets", "Markets of an exchange in the newest two minutes."): _of(venues, "markets"),
    }


def _of(venues: dict[str, VenueState], name: str) -> dict[str, float | None]:
    return {venue: getattr(state, name) for venue, state in venues.items()}
