"""Fifty questions that traders and analysts ask: the calls that answer each, and the answer by another route.

The other route is SQL on the tables of single markets, events and days in the replica, or Python over what the small
market is made of. It shares no code with the tools.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import duckdb

from tests.support.replica.replica import AS_OF_MS, CATALOG, DAY, GAPS, MARKETS
from tests.support.servers.mcp_calls import iso

HOUR = DAY // 24
Connection = duckdb.DuckDBPyConnection
Data = dict[str, Any]
Arguments = dict[str, Any] | Callable[[list[Data]], dict[str, Any]]
BTC_PERP = "binance:perp:BTCUSDT"
# As the formulas have it: of a coin's perps in one bucket.
OI = "sum(oi_usd)"
FUNDING = "sum(funding_8h * oi_usd) / sum(oi_usd) filter (funding_8h is not null)"
PRICE = "sum(price * vol24h_usd) / sum(vol24h_usd) filter (price is not null)"


class Question(NamedTuple):
    """What is asked, the calls (their arguments may depend on the data of those before), how their data is read, and
    the answer by another route. `server`: the fixture that has the data."""

    asked: str
    calls: list[tuple[str, Arguments]]
    read: Callable[..., Any]
    truth: Callable[[Connection], Any]
    server: str = "mcp"


def value(sql: str) -> Callable[[Connection], Any]:
    """The first value, or the first row where it has several."""

    def read(con: Connection) -> Any:
        row = con.execute(sql).fetchone()
        assert row is not None
        return row[0] if len(row) == 1 else list(row)

    return read


def rows(sql: str) -> Callable[[Connection], Any]:
    """All rows; of one column its values."""

    def read(con: Connection) -> Any:
        found = con.execute(sql).fetchall()
        return [row[0] if len(row) == 1 else list(row) for row in found]

    return read


def just(answer: Any) -> Callable[[Connection], Any]:
    """An answer that follows from what the small market is made of."""
    return lambda con: answer


def perps(expression: str, base: str, step: str, length_ms: int, width_ms: int, venue: str = "") -> str:
    """The buckets (t, v) of a coin's perps, from the rows of single markets."""
    start = AS_OF_MS - length_ms
    start -= start % width_ms
    of_venue = f" and venue = '{venue}'" if venue else ""
    return f"""(select t, {expression} as v from series_market_{step} where base = '{base}' and type = 'perp'
        and aggregated and t >= {start} and t < {AS_OF_MS}{of_venue} group by t having v is not null)"""


def each(expression: str, base: str, step: str, length_ms: int, width_ms: int) -> str:
    """The buckets (venue, t, v) of a coin's perps on each exchange."""
    start = AS_OF_MS - length_ms
    start -= start % width_ms
    return f"""(select venue, t, {expression} as v from series_market_{step} where base = '{base}' and type = 'perp'
        and aggregated and t >= {start} and t < {AS_OF_MS} group by venue, t having v is not null)"""


def largest(of: dict[Any, float | None]) -> Any:
    """The name with the largest known value."""
    return max((name for name, one in of.items() if one is not None), key=lambda name: float(of[name] or 0))


def figures(data: Data, field: str, figure: str) -> dict[str, float | None]:
    """One figure of each exchange's summary."""
    return {venue: own["summary"][field][figure] for venue, own in data["venues"].items()}


def spread(of: dict[str, float | None]) -> float:
    """How far the known values are apart."""
    known = [one for one in of.values() if one is not None]
    return max(known) - min(known)


def share(values: list[float | None], holds: Callable[[float], bool]) -> float:
    """The share of the known values of which this holds."""
    known = [one for one in values if one is not None]
    return sum(map(holds, known)) / len(known)


FROM_1M = "series_market_1m where base = 'ETH' and type = 'perp' and aggregated"
NOW = f"(select t, {PRICE} as p from {FROM_1M} group by t having p is not null order by t desc limit 1)"
THEN = f"""(select {PRICE} as p from {FROM_1M} and t <= (select t from {NOW}) - {DAY} group by t
    having p is not null order by t desc limit 1)"""
LISTED = [
    (f"{venue}:{kind}:{symbol}", venue, kind, base, i) for i, (venue, kind, symbol, base, *_) in enumerate(MARKETS)
]
NEWEST_XRAY = "t = (select max(t) from xray_risk)"

QUESTIONS = [
    Question(
        "What does bitcoin cost now?",
        [("coin_overview", {"base": "BTC"})],
        lambda coin: coin["summary"]["price"],
        value(f"""select {PRICE} from series_market_1m where base = 'BTC' and type = 'perp' and price is not null
            group by t order by t desc limit 1"""),
    ),
    Question(
        "How much has ether moved in 24 hours?",
        [("coin_overview", {"base": "ETH"})],
        lambda coin: coin["summary"]["px_24h"],
        value(f"select now.p / earlier.p - 1 from {NOW} as now, {THEN} as earlier"),
    ),
    Question(
        "On which market is the most open interest in bitcoin?",
        [("market_snapshot", {"base": "BTC", "limit": 1})],
        lambda snapshot: snapshot["markets"][0]["market"],
        just([name for name, _, kind, base, _ in LISTED if (kind, base) == ("perp", "BTC")][-1]),
    ),
    Question(
        "How many bitcoin perps are there, and how many spot markets?",
        [("market_snapshot", {"base": "BTC", "type": "all"})],
        lambda snapshot: [snapshot["summary"]["perps"], snapshot["summary"]["spots"]],
        just([sum((kind, base) == (one, "BTC") for _, _, kind, base, _ in LISTED) for one in ("perp", "spot")]),
    ),
    Question(
        "How large is the open interest in bitcoin over all exchanges?",
        [("coin_overview", {"base": "BTC"})],
        lambda coin: coin["summary"]["oi_usd"],
        just(sum(1e7 * (i + 1) for _, _, kind, base, i in LISTED if (kind, base) == ("perp", "BTC"))),
    ),
    Question(
        "On which exchanges is ether traded?",
        [("coin_overview", {"base": "ETH"})],
        lambda coin: coin["venues"],
        just(sorted({venue for _, venue, _, base, _ in LISTED if base == "ETH"})),
    ),
    Question(
        "Which has more open interest, bitcoin or ether, and by how much?",
        [("coin_overview", {"base": "BTC"}), ("coin_overview", {"base": "ETH"})],
        lambda btc, eth: btc["summary"]["oi_usd"] - eth["summary"]["oi_usd"],
        just(
            sum(
                1e7 * (i + 1) * (1 if base == "BTC" else -1)
                for _, _, kind, base, i in LISTED
                if kind == "perp" and base in ("BTC", "ETH")
            )
        ),
    ),
    Question(
        "How is bitcoin's daily volume split between perps and spot?",
        [("coin_overview", {"base": "BTC"})],
        lambda coin: [coin["summary"]["perp_vol24h"], coin["summary"]["spot_vol24h"]],
        just(
            [
                sum(1e6 * (i + 1) for _, _, kind, base, i in LISTED if (kind, base) == (one, "BTC"))
                for one in ("perp", "spot")
            ]
        ),
    ),
    Question(
        "Which exchange pays the highest funding on bitcoin over the last day?",
        [("funding_history", {"base": "BTC", "by": "venue"})],
        lambda history: largest(figures(history, "v", "mean")),
        value(
            f"select venue from {each(FUNDING, 'BTC', '15m', DAY, 900_000)} group by venue order by avg(v) desc limit 1"
        ),
    ),
    Question(
        "How far apart is the newest funding of bitcoin on the exchanges?",
        [("funding_history", {"base": "BTC", "by": "venue", "range": "6h", "step": "1h"})],
        lambda history: spread(figures(history, "v", "last")),
        value(f"""select max(v) - min(v) from (select venue, arg_max(v, t) as v
            from {each(FUNDING, "BTC", "1h", 6 * HOUR, HOUR)} group by venue)"""),
    ),
    Question(
        "What is the newest funding of Binance's bitcoin perp as a yearly rate?",
        [("funding_history", {"market": BTC_PERP, "range": "6h", "step": "5m"})],
        lambda history: history["summary"]["v"]["last"] * 1095,
        value(f"""select arg_max(funding_8h, t) filter (funding_8h is not null) * 1095 from series_market_5m
            where market_id = '{BTC_PERP}' and t < {AS_OF_MS}"""),
    ),
    Question(
        "What was the lowest funding of ether in 90 days?",
        [("funding_history", {"base": "ETH", "range": "90d", "step": "1d"})],
        lambda history: history["summary"]["v"]["min"],
        value(f"select min(v) from {perps(FUNDING, 'ETH', '1d', 90 * DAY, DAY)}"),
    ),
    Question(
        "Was bitcoin's funding positive most of the last week?",
        [("funding_history", {"base": "BTC", "range": "7d", "step": "1h"})],
        lambda history: share(history["series"]["v"], lambda one: one > 0),
        value(f"select avg((v > 0)::int) from {perps(FUNDING, 'BTC', '1h', 7 * DAY, HOUR)}"),
    ),
    Question(
        "By what share did bitcoin's open interest change in seven days?",
        [("oi_history", {"base": "BTC", "range": "7d"})],
        lambda history: history["summary"]["v"]["change_fraction"],
        value(f"select arg_max(v, t) / arg_min(v, t) - 1 from {perps(OI, 'BTC', '1h', 7 * DAY, HOUR)}"),
    ),
    Question(
        "On which day was bitcoin's open interest at its highest of the last 30 days?",
        [("oi_history", {"base": "BTC", "range": "30d", "step": "4h"})],
        lambda history: max(zip(history["series"]["v"], history["series"]["t"], strict=True))[1] // DAY,
        value(f"select arg_max(t, v) // {DAY} from {perps(OI, 'BTC', '4h', 30 * DAY, 4 * HOUR)}"),
    ),
    Question(
        "How large is Bybit's open interest in bitcoin?",
        [("oi_history", {"base": "BTC", "venue": "bybit", "range": "3h"})],
        lambda history: history["summary"]["v"]["last"],
        value(f"select arg_max(v, t) from {perps(OI, 'BTC', '1m', 3 * HOUR, 60_000, 'bybit')}"),
    ),
    Question(
        "Which exchange's share of bitcoin's open interest is the largest?",
        [("oi_history", {"base": "BTC", "by": "venue", "range": "1d", "step": "1h"})],
        lambda history: largest(figures(history, "v", "last")),
        value(f"""select venue from {each(OI, "BTC", "1h", DAY, HOUR)} group by venue
            order by arg_max(v, t) desc limit 1"""),
    ),
    Question(
        "How many bitcoin longs were liquidated in the last day, in dollars?",
        [("liquidations_history", {"base": "BTC"})],
        lambda history: history["summary"]["long"]["total"],
        value(f"select sum(v) from {perps('sum(liq_long_usd)', 'BTC', '5m', DAY, 300_000)}"),
    ),
    Question(
        "Were more longs or shorts of ether liquidated this week?",
        [("liquidations_history", {"base": "ETH", "range": "7d", "step": "1h"})],
        lambda history: largest({side: history["summary"][side]["total"] for side in ("long", "short")}),
        value(f"""select if(sum(long) > sum(short), 'long', 'short') from (select
            (select sum(v) from {perps("sum(liq_long_usd)", "ETH", "1h", 7 * DAY, HOUR)}) as long,
            (select sum(v) from {perps("sum(liq_short_usd)", "ETH", "1h", 7 * DAY, HOUR)}) as short)"""),
    ),
    Question(
        "In which hour of the last day were the most bitcoin shorts liquidated?",
        [("liquidations_history", {"base": "BTC", "step": "1h"})],
        lambda history: max(one for one in history["series"]["short"] if one is not None),
        value(f"select max(v) from {perps('sum(liq_short_usd)', 'BTC', '1h', DAY, HOUR)}"),
    ),
    Question(
        "Which exchange liquidated the most bitcoin longs in a day?",
        [("liquidations_history", {"base": "BTC", "by": "venue", "step": "1h"})],
        lambda history: largest(figures(history, "long", "total")),
        value(f"""select venue from {each("sum(liq_long_usd)", "BTC", "1h", DAY, HOUR)} group by venue
            order by sum(v) desc limit 1"""),
    ),
    Question(
        "How much was liquidated in bitcoin in the last hour, by side?",
        [("coin_overview", {"base": "BTC"})],
        lambda coin: [coin["liquidations"]["1h"]["long"], coin["liquidations"]["1h"]["short"]],
        value("""select totals['1h'].long, totals['1h'].short from liquidations where base = 'BTC'"""),
    ),
    Question(
        "How many accounts on Binance are long bitcoin, and how did that change in an hour?",
        [("coin_overview", {"base": "BTC"})],
        lambda coin: [coin["long_short"]["binance_accounts"][name] for name in ("long", "chg_1h")],
        value("""select binance_accounts.long, binance_accounts.chg_1h from long_short where base = 'BTC'"""),
    ),
    Question(
        "How many volume spikes were there in the last hour, and which way?",
        [("spike_feed", {"limit": 100})],
        lambda feed: [feed["summary"]["spikes"], feed["summary"]["buy"], feed["summary"]["sell"]],
        value(f"""select count(*), count(*) filter (dir = 'buy'), count(*) filter (dir = 'sell') from spikes
            where ts >= {AS_OF_MS - HOUR} and ts < {AS_OF_MS}"""),
    ),
    Question(
        "What was the newest really large volume spike in bitcoin?",
        [("spike_feed", {"base": "BTC", "range": "24h", "min_sig": 8.9, "limit": 5})],
        lambda feed: [feed["spikes"][0][name] for name in ("id", "market")],
        value("select id, market_id from spikes where base = 'BTC' and sig >= 8.9 order by ts desc limit 1"),
    ),
    Question(
        "What did the price do in the quarter hour after the last buying spikes in ether?",
        [
            ("spike_feed", {"base": "ETH", "side": "buy", "range": "3h", "limit": 10}),
            ("spike_outcomes", lambda data: {"ids": [spike["id"] for spike in data[0]["spikes"]]}),
        ],
        lambda feed, outcomes: [
            one["return"] for spike in outcomes["outcomes"] for one in spike["returns"] if one["horizon_min"] == 15
        ],
        rows(f"""select o.return from (select id, ts from spikes where base = 'ETH' and dir = 'buy'
                and ts >= {AS_OF_MS - 3 * HOUR} order by ts desc limit 10) as s
            left join spike_outcomes as o on o.id = s.id and o.horizon_min = 15 order by s.ts desc"""),
    ),
    Question(
        "How many volume spikes did bitcoin have today?",
        [("coin_overview", {"base": "BTC"})],
        lambda coin: coin["summary"]["spikes24h"],
        value(f"""select count(*) from spikes where base = 'BTC' and ts >= {AS_OF_MS // 60_000 * 60_000 - DAY}
            and ts < {AS_OF_MS // 60_000 * 60_000}"""),
    ),
    Question(
        "Which perps would see the most longs liquidated against their books at two percent?",
        [("xray_risk_ranking", {"side": "long"})],
        lambda ranking: [row["market"] for row in ranking["ranked"]],
        rows(f"""select market_id from xray_risk where band_pct = 2 and {NEWEST_XRAY} and coverage = 'full'
            and t - oldest_input_ms <= 600000 and bid_depth_usd > 0 and long_exposure_usd is not null
            order by long_exposure_usd / bid_depth_usd desc"""),
        "xray",
    ),
    Question(
        "How much of bitcoin's longs would be liquidated within one percent, and what rests there?",
        [("xray_risk_history", {"market": BTC_PERP, "range": "1h", "step": "5m"})],
        lambda history: [
            history["points"][-1][name][history["bands_pct"].index(1.0)]
            for name in ("exposure_long_usd", "depth_bid_usd")
        ],
        value(f"""select long_exposure_usd, bid_depth_usd from xray_risk
            where market_id = '{BTC_PERP}' and band_pct = 1 and {NEWEST_XRAY}"""),
        "xray",
    ),
    Question(
        "Which spot exchanges make up the mark index of Binance's bitcoin perp?",
        [("xray_risk_history", {"market": BTC_PERP, "range": "1h"})],
        lambda history: {leg["exchange"]: leg["weight"] for leg in history["index"]},
        lambda con: dict(
            con.execute(f"select exchange, weight from xray_index where market_id = '{BTC_PERP}'").fetchall()
        ),
        "xray",
    ),
    Question(
        "Is it altcoin season?",
        [("market_indices", {})],
        lambda indices: [indices["altcoin_season"][name] for name in ("value", "zone")],
        value("""select value, case when value >= 75 then 'altcoin_season' when value <= 25 then 'bitcoin_season'
            else 'neutral' end from altcoin_season where version = 1 and value is not null order by t desc limit 1"""),
    ),
    Question(
        "Which altcoin beat bitcoin by the most in 90 days?",
        [("market_indices", {})],
        lambda indices: [indices["altcoin_season"]["best"][0][name] for name in ("base", "vs_btc")],
        value("""select base, return_90d - btc_return from altcoin_season_coins where excluded_reason is null
            and version = 1 and return_90d is not null order by 2 desc limit 1"""),
    ),
    Question(
        "How greedy is the market today, and how was it 30 days ago?",
        [("market_indices", {"days": 31})],
        lambda indices: [
            indices["fear_greed"]["today"]["value"],
            dict(zip(indices["history"]["date"], indices["history"]["fear_greed"], strict=True))["2026-05-16"],
        ],
        rows("""select value from fear_greed where make_timestamp(t * 1000)::date in ('2026-06-15', '2026-05-16')
            order by t desc"""),
    ),
    Question(
        "On how many of the last 30 days was it a bitcoin season?",
        [("market_indices", {"days": 30})],
        lambda indices: sum(one is not None and one <= 25 for one in indices["history"]["altcoin_season"]),
        value(f"""select count(*) from altcoin_season where version = 1 and value <= 25
            and t >= {AS_OF_MS // DAY * DAY - 30 * DAY}"""),
    ),
    Question(
        "What is the put/call ratio of bitcoin's options?",
        [("options_summary", {"coin": "BTC"})],
        lambda options: options["summary"]["pcr_oi"],
        value("select put_oi / call_oi from option_coins where coin = 'BTC'"),
    ),
    Question(
        "Where is max pain of bitcoin's quarterly expiry?",
        [("options_summary", {"coin": "BTC"})],
        lambda options: [[one["expiry"], one["max_pain"]] for one in options["expiries"] if one["kind"] == "quarter"],
        rows("select expiry, max_pain from option_expiries where coin = 'BTC' and kind = 'quarter'"),
    ),
    Question(
        "What volatility do bitcoin's options imply for 30 days, and are puts dearer than calls?",
        [("options_summary", {"coin": "BTC"})],
        lambda options: [options["summary"]["atm_iv"], options["summary"]["rr25"] < 0],
        value("select atm_iv, put25_iv > call25_iv from option_coins where coin = 'BTC'"),
    ),
    Question(
        "At which strike of July's expiry is the most open interest?",
        [
            ("options_summary", {"coin": "BTC"}),
            ("options_summary", lambda data: {"coin": "BTC", "expiry": data[0]["expiries"][-1]["expiry"]}),
        ],
        lambda _, options: max(options["strikes"], key=lambda one: (one["call_oi"] or 0) + (one["put_oi"] or 0))[
            "strike"
        ],
        value("""select strike from option_strikes where coin = 'BTC' and expiry = '2026-07-15'
            order by coalesce(call_oi, 0) + coalesce(put_oi, 0) desc limit 1"""),
    ),
    Question(
        "How exactly is the basis computed?",
        [("list_metrics", {"metric": "basis"})],
        lambda listed: listed["metrics"][0]["formula"],
        just(" ".join(CATALOG["basis"]["formula"].split())),
    ),
    Question(
        "Which metrics are there of order books, and in which units?",
        [("list_metrics", {})],
        lambda listed: {one["metric"]: one["unit"] for one in listed["metrics"] if one["selectors"] == ["base"]},
        just({name: CATALOG[name]["unit"] for name in ("ob-depth", "bid-ask-ratio")}),
    ),
    Question(
        "What is the basis of Binance's bitcoin perp, and as a yearly carry?",
        [("metric_history", {"metric": "basis", "market": BTC_PERP, "range": "12h", "step": "1h"})],
        lambda history: [history["summary"][name]["last"] for name in ("v", "ann")],
        value(f"""select perp.price / spot.price - 1 as v, 1095 * v from series_market_1h as perp
            join series_market_1h as spot using (t, venue, symbol) where perp.market_id = '{BTC_PERP}'
            and spot.type = 'spot' and v is not null order by t desc limit 1"""),
    ),
    Question(
        "Did takers buy or sell bitcoin in the last day, net?",
        [("metric_history", {"metric": "taker-flow", "base": "BTC", "step": "1h"})],
        lambda history: sum(one for one in history["series"]["net"] if one is not None),
        value(f"select sum(v) from {perps('sum(taker_buy_usd) - sum(taker_sell_usd)', 'BTC', '1h', DAY, HOUR)}"),
    ),
    Question(
        "Where does the cumulative volume delta of ether stand after two days?",
        [("metric_history", {"metric": "cvd", "base": "ETH", "range": "2d", "step": "1h"})],
        lambda history: history["summary"]["v"]["last"],
        value(f"select sum(v) from {perps('sum(taker_buy_usd - taker_sell_usd)', 'ETH', '1h', 2 * DAY, HOUR)}"),
    ),
    Question(
        "How many times as much is traded on perps as on spot?",
        [("metric_history", {"metric": "spot-perp-volume", "range": "7d", "step": "1d"})],
        lambda history: history["summary"]["v"]["last"],
        value("""select sum(volume_usd) filter (type = 'perp') / sum(volume_usd) filter (type = 'spot')
            from series_market_1d where aggregated group by t order by t desc limit 1"""),
    ),
    Question(
        "What was the highest price of Binance's bitcoin perp this week?",
        [("metric_history", {"metric": "candles", "market": BTC_PERP, "range": "7d", "step": "1h"})],
        lambda history: history["summary"]["high"]["max"],
        value(f"""select max(high) from series_market_1h where market_id = '{BTC_PERP}'
            and t >= {(AS_OF_MS - 7 * DAY) // HOUR * HOUR}"""),
    ),
    Question(
        "Which exchange traded the most ether perps in a week?",
        [("metric_history", {"metric": "volume", "base": "ETH", "range": "7d", "by": "venue", "step": "1d"})],
        lambda history: largest(
            {venue: sum(one or 0 for one in own["series"]["v"]) for venue, own in history["venues"].items()}
        ),
        value(
            f"""select venue from {each("sum(volume_usd)", "ETH", "1d", 7 * DAY, DAY)} group by venue
            order by sum(v) desc limit 1"""
        ),
    ),
    Question(
        "What did bitcoin cost at noon of the first of June?",
        [
            (
                "metric_history",
                {
                    "metric": "price",
                    "base": "BTC",
                    "start": "2026-06-01T12:00:00Z",
                    "end": "2026-06-01T13:00:00Z",
                    "step": "1h",
                },
            )
        ],
        lambda history: history["series"]["v"],
        rows(f"""select {PRICE} from series_market_1h where base = 'BTC' and type = 'perp'
            and make_timestamp(t * 1000) = timestamp '2026-06-01 12:00:00' group by t"""),
    ),
    Question(
        "How much rests within one percent of bitcoin's price, and is there more to buy or to sell?",
        [("metric_history", {"metric": "bid-ask-ratio", "base": "BTC", "range": "3h", "step": "1h"})],
        lambda history: [history["summary"][name]["last"] for name in ("bid", "ask", "v")],
        value("""select sum(bid_usd) as bid, sum(ask_usd) as ask, bid / ask from series_depth_1h
            where base = 'BTC' group by t order by t desc limit 1"""),
    ),
    Question(
        "Are Binance's large bitcoin traders more long than the crowd?",
        [("metric_history", {"metric": "whale-vs-retail", "market": BTC_PERP, "range": "1d", "step": "1h"})],
        lambda history: history["summary"]["v"]["last"],
        value(f"""select top_pos - accounts from series_ratios_1h where market_id = '{BTC_PERP}'
            and top_pos - accounts is not null order by t desc limit 1"""),
    ),
    Question(
        "Which market makes up the most of bitcoin's open interest at eleven, and which part?",
        [("explain_number", {"metric": "oi", "base": "BTC", "t": "2026-06-15T11:05:00Z", "step": "1h"})],
        lambda found: [found["markets"][0]["market_id"], found["markets"][0]["values"]["v"] / found["values"]["v"]],
        value("""select market_id, oi_usd / sum(oi_usd) over () from series_market_1h
            where base = 'BTC' and type = 'perp' and make_timestamp(t * 1000) = timestamp '2026-06-15 11:00:00'
            order by oi_usd desc limit 1"""),
    ),
    Question(
        "For how long was nothing recorded in the last day?",
        [("data_coverage", {})],
        lambda found: sum(gap["end"] - gap["start"] for gap in found["gaps"] if gap["reason"] == "recorder_down"),
        just(sum(end - start for start, end, venue, _, _ in GAPS if venue is None)),
    ),
    Question(
        "Which share of the data of Bybit was recorded in ten days?",
        [("data_coverage", {"venue": "bybit", "range": "10d"})],
        lambda found: found["summary"]["share"],
        value(f"""select sum(recorded) / sum(minutes) from coverage_days where venue = 'bybit'
            and t >= {(AS_OF_MS - 10 * DAY) // DAY * DAY}"""),
    ),
    Question(
        "What was Binance's longest outage of the day, and when did it begin?",
        [("data_coverage", {"venue": "binance", "range": "1d"})],
        lambda found: max(
            [gap["end"] - gap["start"], -gap["start"]] for gap in found["gaps"] if gap["venue"] == "binance"
        ),
        just(max([end - start, -start] for start, end, venue, _, _ in GAPS if venue == "binance")),
    ),
    Question(
        "How many markets of each exchange are tracked?",
        [("sql_query", {"statement": "select venue, count(*) from market_index where base not like '%@%' group by 1"})],
        lambda found: dict(found["rows"]),
        just({venue: sum(one == venue for _, one, *_ in LISTED) for venue in ("binance", "bybit", "hyperliquid")}),
        "sql",
    ),
]
assert iso(AS_OF_MS).startswith("2026-06-15T12:34"), "the questions name days and hours of the small market"
