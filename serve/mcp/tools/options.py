"""options_summary: a coin's options by expiry, and the strikes of one."""

from typing import NamedTuple

from serve.contract.errors import BadParameter
from serve.contract.parameters import Values, one_of, utc_day
from serve.contract.schemas import NUMBER_OR_NULL, TEXT, Schema, array_of, object_of
from serve.mcp.arguments import iso, string
from serve.mcp.tool import Tool, ToolResult, rounded
from serve.queries.figures.options import (
    COINS,
    POSITIONS,
    STALE_S,
    VOLATILITIES,
    of_coin,
    read_expiries,
    read_strikes,
)
from serve.replica.edition import Edition, Reader
from serve.replica.units import Span

FIGURES = (*POSITIONS, *VOLATILITIES)
OF_EXPIRY: Schema = {"kind": TEXT, **dict.fromkeys(("days", "max_pain", "forward", *FIGURES), NUMBER_OR_NULL)}
OF_STRIKE = ("strike", "iv", "call_oi", "put_oi", "call_volume", "put_volume")
MOST_STRIKES = 100


class OptionsQuery(NamedTuple):
    """A coin, and the start of the day of the expiry whose strikes are asked for."""

    coin: str
    expiry_day_ms: int | None


def resolve(values: Values, edition: Edition, keyed: bool) -> OptionsQuery:
    """The canonical query; whether the expiry is listed is known to the answer alone."""
    return OptionsQuery(values["coin"], values["expiry"])


def answer(query: OptionsQuery, db: Reader) -> ToolResult:
    """The coin's totals, its expiries, and on request the strikes of one."""
    row, common = of_coin(query.coin, db)
    expiries = read_expiries(query.coin, db, *OF_EXPIRY, "partial")
    data = {
        "coin": query.coin,
        "venues": row["venues"],
        "summary": {"spot": row["spot"], **{name: row[name] for name in FIGURES}},
        "expiries": [{name: one[name] for name in ("expiry", *OF_EXPIRY, "partial")} for one in expiries],
    }
    warnings = []
    if query.expiry_day_ms is not None:
        asked = iso(query.expiry_day_ms)[:10]
        chosen = next((one for one in expiries if one["expiry"] == asked), None)
        if chosen is None:
            listed = [one["expiry"] for one in expiries]
            raise BadParameter("expiry", asked, "use one of " + ", ".join(listed), listed)
        strikes = read_strikes(query.coin, db, chosen["expiry_ms"])
        near = sorted(strikes, key=lambda one: abs(one["strike"] - (chosen["forward"] or row["spot"] or 0)))
        data["strikes"] = [
            {name: one[name] for name in OF_STRIKE}
            for one in sorted(near[:MOST_STRIKES], key=lambda one: float(one["strike"]))
        ]
        if len(strikes) > MOST_STRIKES:
            message = f"The {MOST_STRIKES} strikes nearest to the forward, of {len(strikes)}."
            warnings.append({"code": "clamped", "message": message})
    as_of = row["as_of_ms"]
    return ToolResult(
        data=rounded(data),
        units={
            "spot, strike, forward, max_pain": "USD per one coin",
            "call_oi, put_oi, call_volume, put_volume": "coins",
            "notional_usd": "USD",
            "pcr_oi, pcr_vol": "ratio, puts / calls",
            "iv, atm_iv, call25_iv, put25_iv, rr25, fly25": "fraction a year (0.5 is 50 %)",
        },
        span=Span(as_of, db.edition.as_of_ms),
        known=Span(as_of, db.edition.as_of_ms),
        fresh_until_ms=as_of + STALE_S * 1000,
        source=f"option_coins, {common['source']}",
        method="Newest snapshot of each venue; the summary's volatilities are at a constant maturity of 30 days.",
        caveats=("partial: the open interest of an option of the expiry is not known.",),
        warnings=warnings,
        rest=f"/api/options/{query.coin}",
        page=f"/options/{query.coin}",
    )


OPTIONS_SUMMARY = Tool(
    "options_summary",
    "Options of a coin",
    "Options on BTC or ETH now: open interest of calls and puts, put/call ratios, implied volatility at the forward and"
    " at 25 delta (rr25 = call25_iv - put25_iv), max pain, in all (volatility at 30 days) and by expiry; with expiry"
    " also by strike.",
    {
        "coin": string(one_of("Which coin.", *COINS), required=True),
        "expiry": string(utc_day("A day of expiries: adds its strikes.")),
    },
    object_of(
        {
            "coin": TEXT,
            "venues": array_of(TEXT),
            "summary": object_of(dict.fromkeys(("spot", *FIGURES), NUMBER_OR_NULL)),
            "expiries": array_of(
                object_of({"expiry": TEXT, **OF_EXPIRY, "partial": {"type": "boolean"}}),
                "The nearest first.",
            ),
            "strikes": array_of(object_of(dict.fromkeys(OF_STRIKE, NUMBER_OR_NULL)), "With expiry."),
        },
        optional=("strikes",),
    ),
    resolve,
    answer,
)
