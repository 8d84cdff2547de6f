"""The obligations of the service by its interface: id → the section that states it and the behaviour.

Tests name the ids they prove with @pytest.mark.requirement("id"); test_requirements.py compares both sides. A section
is a page of docs/ and the number of its heading: "interface 4.1" is 4.1 in docs/interface.md.
"""

from typing import NamedTuple


class Requirement(NamedTuple):
    """The section that states an obligation, and the behaviour."""

    section: str
    behaviour: str


SERIES = {
    "series:shape": Requirement(
        "interface 2.2", "end, fields, t, an array a field, gaps; metric, selectors, step, start, source"
    ),
    "series:alias": Requirement("interface 2.2", "an alias answers as its canonical metric and names it"),
    "series:metric:unknown": Requirement("interface 7.2", "an unknown metric is a 400 naming the closest one"),
    "series:metric:undefined": Requirement(
        "interface 2.2", "a promised name without a definition is a 400 naming those there are"
    ),
    "series:values": Requirement("interface 2.2", "values are the stored bucket values of the selected coin or market"),
    "series:two-fields": Requirement("interface 2.2", "liquidations have long and short"),
    "series:selector:one": Requirement("interface 4.1", "exactly one of base and market"),
    "series:base:case": Requirement("interface 2.1", "bases are case-insensitive and echoed canonical"),
    "series:base:unknown": Requirement("interface 7.2", 'an untracked coin is 404 exactly {"error": "unknown coin"}'),
    "series:market": Requirement("interface 2.1", "market is venue:perp|spot:SYMBOL, symbols with colons included"),
    "series:market:unknown": Requirement("interface 7.2", "an unknown market of a known venue is 404 unknown market"),
    "series:market:malformed": Requirement("interface 7.2", "a malformed market or an unknown venue is a 400"),
    "series:market:contradicted": Requirement("interface 7.2", "a venue or type that contradicts the market is a 400"),
    "series:sql": Requirement("interface 4.1", "format=sql is the statement whose rows on the replica are the series"),
    "series:venue": Requirement("interface 4.1", "venue narrows a coin to one exchange"),
    "series:venue:never": Requirement(
        "interface 7.2", "a venue that never has the metric is a 400 that says where it is"
    ),
    "series:type": Requirement("interface 4.1", "type is perp unless given: perp, spot or all"),
    "series:type:fixed": Requirement("interface 7.2", "a type that the metric does not have is a 400"),
    "series:range:default": Requirement("interface 4.1", "without range, start and end: the day before as_of"),
    "series:range:units": Requirement("interface 4.1", "range takes m, h, d, w, y"),
    "series:range:cap": Requirement(
        "interface 7.2", "a range above the maximum is a 400 naming it, and the one with a key"
    ),
    "series:range:long": Requirement("interface 4.1", "funding reaches 3650 days without a key"),
    "series:start:alone": Requirement("interface 4.1", "start needs end or range"),
    "series:start:range": Requirement("interface 4.1", "start with range and no end: end = start + range, at most now"),
    "series:start:end": Requirement("interface 4.1", "range is ignored when start and end are given"),
    "series:start:after-end": Requirement("interface 7.2", "start not before end is a 400"),
    "series:end:exclusive": Requirement("interface 2.2", "end is exclusive: buckets with t < end"),
    "series:step:auto": Requirement(
        "interface 4.1",
        "auto is the finest step under 1500 points, a coarser one if that has a quarter more of what was not recorded",
    ),
    "series:step:raised": Requirement("interface 4.1", "a too fine step is raised and step says so"),
    "series:step:kept": Requirement("interface 4.1", "a step whose tier no longer keeps the range is raised"),
    "series:step:coarse": Requirement(
        "interface 4.1", "a step coarser than the range returns the one bucket that holds it"
    ),
    "series:step:strict": Requirement("interface 4.1", "under 1500 points is strict"),
    "series:aligned": Requirement("interface 2.2", "buckets are multiples of the step since the epoch, ascending"),
    "series:source": Requirement("interface 2.2", "source names tier and edition: series_1h@e1842"),
    "series:files": Requirement(
        "interface 4.1", "series reach back in 1m, 5m and 15m as far as bulk files, bars as far as fetched files"
    ),
    "series:known": Requirement("interface 4.1", "as_known_at answers what was served then, at every step of 5m to 4h"),
    "series:known:refused": Requirement(
        "interface 4.1", "beyond the horizon, in the future, at other steps or metrics: a 400 that says what is allowed"
    ),
    "revisions:shape": Requirement(
        "interface 4.33", "the buckets that have changed since, their values of then and now, and when they changed"
    ),
    "series:null": Requirement(
        "interface 2.2", "a bucket without an observation is left out; unknown is null, never 0"
    ),
    "series:empty": Requirement("interface 4.1", "an empty history is 200 with empty arrays"),
    "series:gaps": Requirement(
        "interface 2.2", "gaps are {start, end, venue, reason} of what concerns the metric, merged"
    ),
    "series:gaps:clipped": Requirement("interface 2.2", "gaps lie within the range"),
    "series:gaps:venue": Requirement("interface 2.2", "with a venue, its gaps and the recorder's own"),
    "series:gaps:partial": Requirement("interface 2.2", "a bucket that lacks an expected market is a gap of its venue"),
    "series:coverage": Requirement(
        "interface 2.2", "coverage=1 adds the markets in each bucket, those expected, and the origin, in every format"
    ),
    "series:by": Requirement(
        "interface 4.1", "by=venue answers the series of each exchange that has values, and their gaps"
    ),
    "series:by:formats": Requirement(
        "interface 4.1", "by=venue in CSV, Parquet and Arrow: a row for each bucket of each"
    ),
    "series:by:refused": Requirement("interface 4.1", "by with one market, one venue or all coins together is a 400"),
    "series:several": Requirement("interface 4.38", "each metric has the values and gaps of its own request, on one t"),
    "series:several:step": Requirement("interface 4.38", "the step is the coarsest that one of the metrics needs"),
    "series:several:refused": Requirement(
        "interface 4.38", "more than 6, unknown ones, and what one does not have: a 400"
    ),
    "events:editions": Requirement("interface 4.40", "an event of each edition: its number, as_of, published"),
    "events:changed": Requirement(
        "interface 4.40", "changed has the paths whose tables differ from the edition that the client has, or is null"
    ),
    "events:since": Requirement("interface 4.40", "an edition that is no number is a 400"),
    "events:bounded": Requirement("interface 4.40", "20 open connections of an address, then 429"),
    "events:outage": Requirement("interface 4.40", "a client that is there before the first edition gets it"),
    "events:proxy": Requirement("interface 4.40", "events come at once through a proxy that buffers"),
    "spikes:feed": Requirement("interface 4.41", "the spikes of a window, newest first, by page, with their outcomes"),
    "spikes:refused": Requirement("interface 4.41", "a window above 24 h, and after an unknown spike, are 400"),
    "xray:ranking": Requirement("interface 4.42", "the rows of the tool: full ones ranked, partial ones after them"),
    "xray:history": Requirement("interface 4.43", "the points of the tool, for every band"),
    "search:coins": Requirement("interface 4.39", "coins by name, by an exchange's symbol, and the most similar"),
    "search:markets": Requirement(
        "interface 4.39", "markets whose symbol begins with the text, and metrics that hold it"
    ),
    "tables:formats": Requirement(
        "interface 2.9", "CSV, Parquet and Arrow have the rows of the JSON, with declared types"
    ),
    "tables:refused": Requirement("interface 2.9", "another format is a 400 that names those that there are"),
    "series:csv": Requirement(
        "interface 2.2", "csv: a # source line, time_utc, unix_ms, a column a field; equal to the JSON"
    ),
    "series:formats": Requirement(
        "interface 2.2", "parquet and arrow equal csv and JSON, their metadata what JSON says"
    ),
    "series:recomputed": Requirement("interface 2.2", "any series equals a recomputation from the 1-minute facts"),
    "series:ten-years": Requirement(
        "interface 4.1", "a range of ten years has fewer than 1500 points, by a coarser step"
    ),
    "series:cvd": Requirement("interface 2.2", "cvd is the running sum of net from the start of the range"),
    "series:candles": Requirement(
        "interface 2.2", "candles of a market at every step: first open, highest high, lowest low, last close"
    ),
    "series:candles:part": Requirement(
        "interface 2.2", "a candle of which minutes are missing is that of the others, and n, expected and gaps say so"
    ),
    "series:candles:refused": Requirement("interface 4.1", "candles of a coin, or by exchange, are a 400"),
    "series:all-coins": Requirement("interface 4.1", "spot-perp-volume is of all coins and takes no selector"),
    "series:kind": Requirement("interface 7.2", "kind where it does not apply is a 400 that says where it does"),
    "series:kind:each": Requirement(
        "interface 4.1", "long-short is asked as accounts (unless given), top_acct, top_pos, taker_buy"
    ),
    "series:ratios:venues": Requirement(
        "interface 2.2",
        "a ratio without a venue is the mean of binance and bybit where present; source names the venues",
    ),
    "series:ratios:backfilled": Requirement("interface 2.2", "with binance or okx ratios include their hourly history"),
    "series:ratios:long": Requirement("interface 4.1", "long-short and net-positioning reach 3650 days without a key"),
    "series:ratios:step": Requirement("interface 2.2", "a step finer than the 5 minutes that venues publish is raised"),
    "series:top:venues": Requirement(
        "interface 4.1",
        "top-vs-crowd and whale-vs-retail without a venue are binance alone; bybit, which never has them, is a 400",
    ),
    "series:ratios:gaps": Requirement(
        "interface 2.2", "gaps are those of the asked kind's endpoints, on the venues that count"
    ),
    "series:books:base": Requirement("interface 4.1", "order-book metrics take base only"),
    "series:books:sum": Requirement(
        "interface 4.1", "bid-ask-ratio is bid / ask within 1 %, summed over the covered books"
    ),
    "series:positioning:restated": Requirement(
        "decisions 4", "ratio and depth tiers equal a recomputation in any order of builds"
    ),
    "series:positioning:kept": Requirement(
        "decisions 7", "a recorded hour outlives its 5-minute buckets, whatever history says later"
    ),
    "series:db:missing": Requirement("interface 7.1", "no database: 200 with empty arrays and db false"),
    "series:db:unreachable": Requirement(
        "interface 7.1", "an unreadable database: 200, empty arrays, db false, error unavailable"
    ),
}

SNAPSHOTS = {
    "markets:shape": Requirement("interface 2.3", "coins with their perp and spot entries, required fields all there"),
    "markets:values": Requirement("interface 4.2", "the full snapshot of every tracked coin, as the mart holds it"),
    "markets:edition": Requirement("decisions 6", "the body is a function of the edition: server_ts is its as_of"),
    "markets:unavailable": Requirement("interface 7.1", "without data: 503 with Retry-After and {error, state}"),
    "markets:strict-json": Requirement("interface 2.1", "an unknown number is null"),
    "markets:changes": Requirement(
        "interface 2.3", "oi_*, px_*, funding_spread: from the nearest observation not after the time"
    ),
    "liquidations:values": Requirement(
        "interface 2.5", "totals, by_venue, coins, biggest, recent, timeline; windows end at as_of"
    ),
    "liquidations:since": Requirement(
        "interface 2.5", "since is the time from which the window is recorded completely"
    ),
    "long-short:values": Requirement("interface 2.6", "newest ratios with their changes, by 24h perp volume"),
    "oi-acceleration:values": Requirement(
        "interface 2.7", "contract-equivalent, anchors at most 5 minutes old, at most 50 rows"
    ),
    "oi-acceleration:unavailable": Requirement("interface 2.7", "what cannot be compared is listed with its reason"),
    "oi-acceleration:min-oi": Requirement("interface 4.6", "min_oi is one of four; the default is 1000000"),
    "overlay:values": Requirement(
        "interface 4.8", "integers, 100 in the first bucket that all coins have; nothing is filled"
    ),
    "sparklines:values": Requirement(
        "interface 4.35", "each value is that of the coin's series, null where it has none"
    ),
    "sparklines:coins": Requirement("interface 4.35", "1 to 60 coins, else the 50 traded most; others are a 400"),
    "overlay:states": Requirement("interface 2.7", "ok, insufficient and unavailable, overall and by coin"),
    "overlay:input": Requirement(
        "interface 4.8", "2 to 5 tracked coins that not only builder-deployed markets trade, else a 400"
    ),
    "movers:values": Requirement(
        "interface 2.7", "at most 5 coins up and down a section: the extremes of the snapshots"
    ),
    "movers:always": Requirement("interface 4.23", "always 200: a section that is unavailable says why"),
    "coin:values": Requirement("interface 2.4", "a coin's market, liquidations and ratios are those of the snapshots"),
    "coin:net-flow": Requirement(
        "interface 2.4", "net_flow24h is the taker flow of 24 hours; null where no venue publishes it"
    ),
    "coin:unknown": Requirement("interface 4.3", 'an untracked coin is 404 exactly {"error": "unknown coin"}'),
    "snapshots:budget": Requirement(
        "interface 8", "overlay and movers share the series budget, the others the general one"
    ),
    "snapshots:unavailable": Requirement("interface 7.1", "without data: 503 with Retry-After and {error, state}"),
    "status:shape": Requirement(
        "interface 4.25", "status: edition, age, venues' last good minute and error, recorder and build lag"
    ),
    "status:unhealthy": Requirement(
        "interface 4.25", "unhealthy when the newest data is older than 3 minutes, or unreadable"
    ),
    "status:quarantine": Requirement(
        "interface 4.25", "a body that a model fails with is set aside, named, and costs nothing else"
    ),
    "status:upgrade": Requirement(
        "interface 4.25", "how far what an earlier version built is built again, null without an upgrade"
    ),
    "status:fresh": Requirement("interface 4.25", "ages are never cached"),
}

DERIVED = {
    "depth:shape": Requirement(
        "interface 2.7", "bands, venues with universe, markets with depth, imbalance and order cost"
    ),
    "depth:order": Requirement("interface 4.9", "markets by OI, ties by market id"),
    "depth:levels": Requirement("interface 4.45", "a book as a curve, null beyond it; 404 without a current one"),
    "depth:missing": Requirement(
        "interface 2.7", "a perp without a book of the last minutes is in missing, not among markets"
    ),
    "depth:unavailable": Requirement("interface 4.9", "503 with Retry-After and {error, state} with nothing to show"),
    "depth:pipeline": Requirement("interface 2.7", "bands and costs are those of the recorded book, summed by hand"),
    "dex:shape": Requirement("interface 2.7", "rank, status, figures and shares of the three perp exchanges on chains"),
    "dex:shares": Requirement("interface 2.7", "shares sum to 1; a venue without data has nulls and no share"),
    "dex:status": Requirement("interface 3", "live, stale, loading, missing by the age of the last good value"),
    "dex:unavailable": Requirement("interface 4.10", "503 with Retry-After and {error, state} with nothing to show"),
    "dex:pipeline": Requirement(
        "interface 2.7", "totals are those of the markets; an exchange that goes down becomes stale"
    ),
    "listings:shape": Requirement("interface 2.7", "counts, failed, missing and listings with their live figures"),
    "listings:window": Requirement("interface 4.15", "30d or 90d, newest first; what is not listed yet is not there"),
    "listings:change": Requirement("interface 2.7", "change since the listing, of the first venue alone"),
    "listings:sources": Requirement(
        "interface 2.7", "failed and missing name venues whose list failed or was never read"
    ),
    "listings:unavailable": Requirement("interface 4.15", "503 with Retry-After before the first snapshot"),
    "listings:real": Requirement(
        "interface 2.7", "lists that exchanges really sent come out as plain Python reads them"
    ),
    "instruments:shape": Requirement(
        "interface 2.7",
        "every market ever seen: identity, contract, funding interval over time, and why it counts or not",
    ),
    "instruments:filters": Requirement(
        "interface 4.30", "filters select, a wrong value is a 400 that names the allowed ones"
    ),
    "instruments:pages": Requirement("interface 4.30", "pages in order of market_id, with total and next"),
    "instruments:formats": Requirement("interface 4.30", "CSV, Parquet and Arrow hold what JSON holds"),
    "methodology:shape": Requirement(
        "interface 4.31", "definition, changes, fields, tables, the models down to the raw rows, sources and tests"
    ),
    "methodology:selectors": Requirement(
        "interface 4.31", "step and venue narrow the lineage; an unknown metric or step is a 400 that names them"
    ),
    "methodology:sql": Requirement(
        "interface 4.31", "the SQL is what dbt ran for this edition, from exchange to table"
    ),
    "methodology:tests": Requirement("interface 4.31", "each test has its last result"),
    "coverage:minutes": Requirement(
        "interface 4.37", "the minutes of a day by outcome add up, and are null before it began"
    ),
    "coverage:window": Requirement("interface 4.37", "a window of 30, 90 or 365 days"),
    "bulk:manifest": Requirement("interface 4.48", "each file with its table, time, checksum, size, rows and columns"),
    "bulk:filters": Requirement("interface 4.48", "files by table and days, in pages, in each format"),
    "bulk:gaps": Requirement("interface 4.48", "a file says what was not recorded, and days without a file are listed"),
    "bulk:finished": Requirement(
        "interface 4.48", "a day is there once it is finished, a month with its finished days"
    ),
    "bulk:restated": Requirement("interface 4.48", "changed rows are a new version; the old one stays for two days"),
    "bulk:formats": Requirement("interface 4.48", "Hive-style folders, zstd, sorted by coin"),
    "bulk:kept": Requirement("interface 4.48", "files are kept without end, or for some days"),
    "bulk:whole": Requirement("interface 4.48", "a version is complete, from one state, and never changes"),
    "bulk:ranges": Requirement("interface 4.49", "whole or a range, a strong ETag, If-Range, 416, no compression"),
    "bulk:inside": Requirement("interface 4.49", "files of the folder and no others"),
    "bulk:readers": Requirement("interface 4.49", "DuckDB, pandas and pyarrow read the rows of the edition"),
    "bulk:notebooks": Requirement("interface 4.48", "the notebooks' figures are those of the edition"),
    "gaps:rows": Requirement("interface 4.46", "each period that overlaps the range, cut at it, and its reason"),
    "gaps:range": Requirement("interface 4.46", "a range of at most 31 days"),
    "gaps:pages": Requirement("interface 4.46", "next is the start of the request for the rest, which repeats nothing"),
    "venues:shape": Requirement("interface 4.36", "each exchange with its name, role, markets and completeness"),
    "metrics:shape": Requirement("interface 4.34", "each metric with its definition, and what requests may say"),
    "metrics:true": Requirement("interface 4.34", "a request that it lists is answered, with no other step"),
    "metrics:offline": Requirement("interface 4.34", "without data it is the metrics of the last edition"),
    "explain:shape": Requirement(
        "interface 4.32", "values, sql, markets with sums and pages, parts and responses of one"
    ),
    "explain:bad": Requirement("interface 4.32", "a t, minute, market or range that does not fit is a 400 or 404"),
    "explain:values": Requirement(
        "interface 4.32", "the number is the series' number, and the markets' sum where it is one"
    ),
    "explain:landing": Requirement("interface 4.32", "without the landing the loads are named with a reason"),
    "explain:evidence": Requirement(
        "interface 4.32", "a number leads to the response that the exchange sent, and to its row in the body"
    ),
    "listings:pipeline": Requirement("interface 2.7", "listings and first prices are those of the venue"),
    "kimchi:shape": Requirement("interface 2.7", "t and an array for each Korean exchange, series budget and headers"),
    "kimchi:values": Requirement(
        "methods 2", "percent by the bank's rate, beside it by the price of USDT; null unknown"
    ),
    "kimchi:step": Requirement(
        "interface 4.16", "hourly through 90d, then 4-hour means, then days; at most 2,200 points"
    ),
    "kimchi:bad": Requirement("interface 4.16", "a coin that is not covered and a range above 10y are a 400"),
    "kimchi:empty": Requirement("interface 4.16", "no history is 200 with empty arrays"),
    "kimchi:db": Requirement("interface 7.1", "no database: 200 with empty arrays and db false"),
    "kimchi:real": Requirement("methods 2", "the recorded history comes out as an independent computation has it"),
    "coinbase:shape": Requirement("interface 2.7", "premium in percent and gap in USD, shaped like a series"),
    "premiums:pipeline": Requirement("interface 2.7", "premiums are those of the recorded minutes, gaps stay gaps"),
    "wallets:shape": Requirement("interface 2.7", "totals, coins, hourly; complete and partial by what was recorded"),
    "wallets:window": Requirement("interface 4.21", "24h or 7d up to the edition's as_of"),
    "wallets:db": Requirement("interface 4.21", "no database: 200 with db false and error unavailable"),
    "wallets:pipeline": Requirement(
        "interface 2.7", "each liquidation once, whichever side reported it and however often"
    ),
}

STATISTICS = {
    "statistics:bad": Requirement("interface 4.7", "a bad selector is a 400"),
    "statistics:budget": Requirement(
        "interface 8", "the funding statistics share the series budget, the others the general one"
    ),
    "statistics:unavailable": Requirement("interface 7.1", "without data: 503 with Retry-After and {error, state}"),
    "statistics:empty": Requirement(
        "interface 3", "an empty universe is 200 and says empty; an index without a day is a 503"
    ),
    "statistics:final": Requirement("interface 2.7", "completed UTC days never change, whatever arrives later"),
    "statistics:once": Requirement("decisions 11", "daily and hourly statistics are made once a day and an hour"),
    "funding-percentiles:shape": Requirement(
        "interface 2.7", "the 50 perps with the highest open interest: quoted rates, quantiles and counts"
    ),
    "funding-percentiles:states": Requirement(
        "methods 3", "Ranked, InsufficientHistory, NoLiveFunding; a percentile where it is ranked alone"
    ),
    "funding-percentiles:venue": Requirement(
        "interface 4.7", "venue is all or one of five: the 50 with the highest open interest there"
    ),
    "funding-percentiles:real": Requirement(
        "methods 3", "percentiles of the recorded history equal numpy's and scipy's"
    ),
    "funding-persistence:shape": Requirement(
        "interface 2.7", "settled payments of the 50 perps with the highest open interest, with their runs"
    ),
    "funding-persistence:filters": Requirement("interface 4.22", "sign filters, sort orders by the current streak"),
    "funding-persistence:real": Requirement(
        "methods 3", "runs of the recorded settlements of 1, 4 and 8 hours equal an independent computation"
    ),
    "altcoin:shape": Requirement("interface 2.7", "value, zone, date, coins, excluded, and what the year was like"),
    "altcoin:history": Requirement("interface 2.7", "at most 366 days, oldest first, unknown days left out"),
    "altcoin:real": Requirement("methods 4", "a recorded year equals an independent computation to the last digit"),
    "altcoin:delisted": Requirement("methods 4", "each day's own top 50, delisted coins included"),
    "fear-greed:shape": Requirement("interface 2.7", "days of up to a year with components; labels by bands"),
    "fear-greed:today": Requirement("interface 3", "today is provisional, completed days are not"),
    "fear-greed:db": Requirement("interface 7.1", "no database: 200 with db false or error true and empty days"),
    "fear-greed:recomputed": Requirement("methods 5", "every value equals a plain recomputation from the daily facts"),
    "spike-stats:shape": Requirement("interface 2.7", "three horizons with counts, rates and quartiles; splits; low_n"),
    "spike-stats:coins": Requirement("interface 2.7", "coins, best and worst, of those with enough outcomes"),
    "spike-stats:coin": Requirement("interface 4.14", "one coin, in any case, without coins, best and worst"),
    "spike-stats:recent": Requirement(
        "interface 2.7", "the last 20 spikes with outcomes: pending, observed, unavailable"
    ),
    "spike-stats:unknown": Requirement("interface 4.14", "a coin without a recorded spike is a 404"),
    "spike-stats:recomputed": Requirement("methods 6", "every figure equals numpy's from the spikes and outcomes"),
}

MODELS = {
    "options:shape": Requirement(
        "interface 2.7", "expiries with max pain, open interest and ratios; totals, partial expiries"
    ),
    "options:iv": Requirement(
        "interface 2.7", "volatilities by expiry and at 30 days, what is left out with its reason"
    ),
    "options:smile": Requirement("interface 4.44", "one expiry by strike; that of 30 days; 400 names those listed"),
    "options:coin": Requirement("interface 4.19", "btc or eth in any case, another coin is 404 unknown coin"),
    "options:stale": Requirement("interface 3", "stale when the oldest included snapshot is over 20 minutes old"),
    "options:unavailable": Requirement(
        "interface 4.19", "503 with Retry-After and {error, state} with nothing to show"
    ),
    "options:real": Requirement("methods 8", "real chains: the venue's own volatilities and deltas; the rest by force"),
    "accuracy:rows": Requirement(
        "interface 4.28", "by day, venue and metric: n, median, p99 and worst of the differences, minutes missing"
    ),
    "heatmap:shape": Requirement(
        "interface 2.7", "sample, overall and coins by horizon, the verdict of the last judged day"
    ),
    "heatmap:unavailable": Requirement(
        "interface 4.18", "503 with Retry-After before the first verdict, never an empty 200"
    ),
    "heatmap:scores": Requirement(
        "methods 9", "Spearman and bootstrap are scipy's; what was not recorded is not scored"
    ),
    "heatmap:truth": Requirement(
        "methods 9", "where the truth is known the map beats a naive one, a broken map does not"
    ),
    "xray:rows": Requirement("methods 10", "exposure, depth of the legs by weight, coverage and its reason, by hand"),
    "xray:pipeline": Requirement(
        "methods 10", "recorded books: what is covered is ranked, the rest partial with its reason"
    ),
    "options:pipeline": Requirement("interface 2.7", "a recorded minute of all venues says what the market holds"),
}

# States of the snapshots, each reached through a fault of a simulated exchange: recorded, built, published and served.
STATES = {
    "states:markets:null": Requirement(
        "interface 2.3", "a change from an hour without answers, or before a listing, is null"
    ),
    "states:markets:down": Requirement(
        "interface 2.3", "nothing is shown as of now that no venue has reported for 5 minutes"
    ),
    "states:coin:down": Requirement(
        "interface 4.3", "a coin that no venue has reported lately is still tracked, its figures null"
    ),
    "states:liquidations:null": Requirement(
        "interface 2.5", "without a stream totals are null, not 0, of all and of a coin"
    ),
    "states:long-short:null": Requirement("interface 2.6", "a ratio that its venue does not publish is null"),
    "states:oi-acceleration:reasons": Requirement(
        "interface 2.7", "missing_anchor, listed_recently and contract_changed"
    ),
    "states:overlay:insufficient": Requirement("interface 2.7", "no common baseline: insufficient; nothing is filled"),
    "states:depth:partial": Requirement(
        "interface 2.7", "books older than 10 minutes are missing, the state is partial"
    ),
    "states:depth:loading": Requirement(
        "interface 4.9", "503 with Retry-After and state loading before the first books"
    ),
    "states:depth:unavailable": Requirement(
        "interface 4.9", "503 with Retry-After and state unavailable without a new book"
    ),
    "states:dex:each": Requirement(
        "interface 3", "live, stale, loading and missing; oi_partial where only a part is published"
    ),
    "states:listings:sources": Requirement("interface 2.7", "failed, missing and live are those of the newest minute"),
    "states:kimchi:null": Requirement(
        "interface 2.7", "an exchange that is down and a rate that is unknown are null, with gaps"
    ),
    "states:movers:sections": Requirement("interface 2.7", "sections are unavailable one by one, each with its reason"),
    "states:movers:unavailable": Requirement(
        "interface 2.7", "unavailable: no rows, down null, as_of null for long_short"
    ),
    "states:wallets:partial": Requirement(
        "interface 2.7", "complete false and partial true of a window not recorded whole"
    ),
}

EDITIONS = {
    "edition:swap": Requirement("decisions 5", "a publish is served within a second and no reader sees an error"),
    "edition:bound": Requirement("decisions 6", "a response comes from one edition from start to end"),
    "edition:released": Requirement("decisions 5", "the former replica is let go, so that the publisher can write it"),
    "edition:alone": Requirement(
        "decisions 5", "a server needs its own package and what is published, and nothing else"
    ),
    "edition:busy": Requirement("interface 7.1", "more than can be answered is a 503 busy, at once or after the limit"),
    "edition:query-limit": Requirement("decisions 12", "a query is ended at its time limit; the next one is answered"),
    "edition:recovers": Requirement(
        "interface 7.1", "readers recover by themselves from a missing, broken or cut replica"
    ),
}

HTTP = {
    "http:json-errors": Requirement("interface 7.1", "404, 405 and 500 are JSON {error}; a 500 says nothing else"),
    "http:bad-input": Requirement("interface 7.1", "bad input is a 400 or 404 with a helpful message, never a 5xx"),
    "http:allow": Requirement("interface 7.1", "405 carries Allow"),
    "http:head": Requirement("interface 7.1", "HEAD works wherever GET does, without a body"),
    "http:options": Requirement("interface 7.1", "OPTIONS answers Allow and CORS"),
    "http:cors": Requirement(
        "interface 10", "any origin may read, and see ETag, Retry-After and the rate-limit headers"
    ),
    "http:params:unknown": Requirement("interface 7.1", "an unknown parameter is a 400 naming the closest valid one"),
    "http:params:repeated": Requirement("interface 7.1", "a repeated parameter is a 400"),
    "http:params:empty": Requirement("interface 7.1", "an empty value is a 400"),
    "http:params:message": Requirement(
        "interface 7.1", "a 400 names parameter, value, what is allowed, the closest match"
    ),
    "http:etag": Requirement("interface 10", "a strong ETag of the uncompressed body, with a suffix a coding"),
    "http:edition": Requirement("interface 10", "X-Edition names the edition of a response, errors included"),
    "http:304": Requirement("interface 10", "If-None-Match with the current ETag is 304 without a body"),
    "http:coding": Requirement(
        "interface 10", "zstd, br or gzip by quality value where the body is over 1 KB; the same bytes inside"
    ),
    "http:cache-control": Requirement("interface 10", "Cache-Control by TTL, Vary, and no-store for ages and errors"),
    "http:paths": Requirement("interface 10", "a trailing slash and percent-encoding do not matter"),
    "cache:bounded": Requirement("decisions 12", "kept answers stay within a bound of bytes; the oldest make room"),
    "operated:health": Requirement("interface 4.47", "a process is alive, its data is fresh, or 503 with the reason"),
    "operated:stop": Requirement("decisions 8", "several workers end at SIGTERM, whenever it comes"),
    "operated:metrics": Requirement("interface 4.47", "what is counted is shown in Prometheus's text format"),
    "http:unwanted": Requirement("decisions 6", "what no client waits for any more is not computed"),
    "http:stampede": Requirement("decisions 6", "equal questions at once get one and the same answer"),
    "openapi:valid": Requirement("interface 4.26", "/openapi.json is valid OpenAPI 3.1"),
    "openapi:complete": Requirement(
        "interface 4.26", "it lists every endpoint, parameter and status; responses satisfy its schemas"
    ),
    "openapi:true": Requirement(
        "interface 4.26", "schemathesis finds nothing where the server is not what it describes"
    ),
    "index:lists": Requirement("interface 4.27", "/ lists the endpoints"),
    "docs:served": Requirement("interface 4.29", "/dbt/ serves the generated documentation, 404 before there is one"),
    "discovery:llms": Requirement("interface 4.50", "/llms.txt lists the documents and every endpoint, as Markdown"),
    "discovery:registry": Requirement("interface 4.50", "/server.json is what the MCP registry lists of this server"),
    "discovery:links": Requirement("interface 4.50", "the API's catalog, the contact for security, and links to both"),
    "guide:served": Requirement("interface 4.29", "/guide/ serves the pages of docs/, whose links lead to this server"),
    "pages:negotiated": Requirement(
        "interface 4.29", "/ is the page for a client that accepts HTML, the list of endpoints for any other"
    ),
    "pages:shell": Requirement(
        "interface 4.29",
        "an unknown address is a 404 with the frame of the pages; a page with .json leads to its request",
    ),
    "pages:policy": Requirement(
        "interface 4.29", "pages and their files have a strict policy, an ETag, a coding and no budget"
    ),
    "pages:offline": Requirement("interface 4.29", "pages ask nothing of another host"),
    "pages:header": Requirement("interface 4.29", "one header leads to everything that is served"),
    "pages:evidence": Requirement(
        "interface 4.29",
        "a point leads to where it came from; what was known then and the accuracy are beside a metric",
    ),
    "pages:followed": Requirement("interface 4.29", "a page asks again for what an edition changed, at once"),
    "pages:states": Requirement(
        "interface 4.29", "every page, full, young, without an edition or a budget, says so, and axe finds no fault"
    ),
    "pages:true": Requirement("interface 4.29", "what a page shows is what the API answers, also what is missing"),
    "pages:usable": Requirement("interface 4.29", "pages are used by keys alone, and on a telephone"),
    "docs:page": Requirement(
        "interface 4.29", "/docs sends requests from a page that runs offline, under a strict policy"
    ),
}

KEYS = {
    "keys:cli": Requirement("interface 5", "tidemark keys create, list, revoke"),
    "keys:hashed": Requirement("interface 5", "only the SHA-256 of a key is kept; it is shown once"),
    "keys:carried": Requirement("interface 5", "header X-API-Key or query parameter api_key, on every endpoint"),
    "keys:private": Requirement("interface 5", "a key in the URL makes the response private, no-store"),
    "keys:bad": Requirement("interface 5", "a bad key is a 401 on every endpoint"),
    "keys:once": Requirement("interface 5", "a key given twice is a 400"),
    "keys:revoked": Requirement("interface 5", "a revocation holds within 5 s without a restart"),
    "keys:range": Requirement("interface 4.1", "with a key every metric reaches 10 years"),
    "keys:points": Requirement("interface 8", "with a key under 6000 points"),
    "limits:series": Requirement("interface 8", "30 requests a minute by address, shared by the series endpoints"),
    "limits:keyed": Requirement("interface 8", "120 requests a minute by key"),
    "limits:general": Requirement("interface 8", "the other endpoints share a second bucket of 120 a minute"),
    "limits:headers": Requirement(
        "interface 8", "X-RateLimit-* on every response, RateLimit and RateLimit-Policy beside them"
    ),
    "limits:429": Requirement("interface 7.1", "a spent budget is a 429 with Retry-After"),
    "limits:counted": Requirement("interface 8", "400 and 404 count; 401, 429 and 304 do not"),
    "limits:polled": Requirement("interface 8", "a 304 costs nothing, so that a page may poll"),
    "limits:windows": Requirement("interface 8", "windows are minutes of the clock"),
    "limits:proxy": Requirement("interface 8", "X-Forwarded-For counts behind a trusted proxy alone"),
    "limits:shared": Requirement(
        "interface 8", "with Redis, workers and hosts share the counters; without it one counts"
    ),
    "cache:shared": Requirement("interface 8", "with Redis, workers and hosts share finished answers"),
}

MCP = {
    "mcp:get": Requirement("interface 7.3", "GET, DELETE and other methods are 405 with Allow: POST and -32600"),
    "mcp:batch": Requirement("interface 7.3", "a batch is 405 and -32600"),
    "mcp:session": Requirement("interface 7.3", "a session id is 405 and -32600"),
    "mcp:origin": Requirement("interface 11.2", "a page of another site is 403"),
    "mcp:host": Requirement("interface 11.2", "a Host that is neither this machine nor configured is 403"),
    "mcp:cors": Requirement("interface 10", "a page that may ask is answered with its own origin, never with *"),
    "mcp:version": Requirement(
        "interface 11.1", "an unsupported MCP-Protocol-Version is 400 with supported and requested"
    ),
    "mcp:initialize": Requirement("interface 11.1", "an unknown revision is answered with 2025-11-25, never an error"),
    "mcp:accept": Requirement("interface 11.2", "who does not take JSON gets 406 with what to send"),
    "mcp:content-type": Requirement("interface 11.2", "a body that is not JSON by its type is 415"),
    "mcp:size": Requirement("interface 8", "a body has at most 32 KiB, else 413"),
    "mcp:json": Requirement(
        "interface 11.2", "bad JSON is 400 and -32700, what is no request 400 and -32600; ids come back"
    ),
    "mcp:notification": Requirement("interface 11.2", "a notification is 202 without a body"),
    "mcp:method": Requirement("interface 11.2", "an unknown method is -32601 at HTTP 200"),
    "mcp:arguments": Requirement("interface 7.3", "an unknown tool and wrong arguments are -32602 at HTTP 200"),
    "mcp:errors:data": Requirement(
        "interface 7.3", "-32602 names argument, value, what is allowed and the nearest, in error.data as well"
    ),
    "mcp:tools-list": Requirement(
        "interface 11.3", "the tools in a fixed order, closed inputs, outputs, read-only hints"
    ),
    "mcp:resources": Requirement("interface 11.4", "metric definitions and the guide's methods as Markdown"),
    "mcp:prompts": Requirement("interface 11.4", "prompts that name the tools, filled with checked arguments"),
    "mcp:sql": Requirement("interface 4.24", "sql_query runs one query on the newest edition, if a setting says so"),
    "mcp:sql:refused": Requirement(
        "interface 4.24", "a statement that writes, leaves the edition, or takes too much is refused with the reason"
    ),
    "mcp:questions": Requirement("interface 4.24", "fifty usual questions take at most three calls and 6,000 tokens"),
    "mcp:definitions": Requirement("interface 4.24", "the definitions of all tools have fewer than 9,000 tokens"),
    "mcp:metrics": Requirement("interface 4.24", "list_metrics has every metric in brief, or one in full"),
    "mcp:any-metric": Requirement("interface 4.24", "metric_history gives every metric of the series in one form"),
    "mcp:overview": Requirement("interface 4.24", "coin_overview has the figures of a coin's own page"),
    "mcp:indices": Requirement("interface 4.24", "market_indices has both indices of the market and their history"),
    "mcp:options": Requirement("interface 4.24", "options_summary has a coin's expiries, and the strikes of one"),
    "mcp:explain": Requirement("interface 4.24", "explain_number gives a number's markets, minutes and responses"),
    "mcp:recorded": Requirement("interface 4.24", "data_coverage gives the recorded share and the longest gaps"),
    "mcp:envelope": Requirement(
        "interface 2.8", "every result is the envelope, structured and as text, and fits its schema"
    ),
    "mcp:unavailable": Requirement(
        "interface 7.3", "a store that is down: unavailable, isError, retry_after_s, fits its schema"
    ),
    "mcp:coverage": Requirement("interface 2.8", "coverage.markets: in the newest bucket, and expected"),
    "mcp:partial": Requirement("interface 3", "partial with recording_gap where the recorder was down in the range"),
    "mcp:freshness": Requirement(
        "interface 3", "fresh up to a step and 15 minutes after the newest bucket; historical"
    ),
    "mcp:edition": Requirement("decisions 6", "an answer is of the newest edition"),
    "mcp:key": Requirement(
        "interface 5", "a key is read from X-API-Key alone: in the URL it is a 400, a bad one a 401"
    ),
    "mcp:budget": Requirement(
        "interface 8", "tool calls share the series budget, cached ones too; all else 60 a minute by IP"
    ),
    "mcp:429": Requirement("interface 11.2", "a spent budget is 429 with Retry-After and the request's id"),
    "mcp:concurrent": Requirement("interface 8", "at most 4 calls at once, a fifth is 429 with Retry-After"),
    "mcp:history": Requirement("interface 4.24", "history tools have the series' selectors, limits and numbers"),
    "mcp:summary": Requirement("interface 4.24", "a summary stands before the arrays"),
    "mcp:digits": Requirement("interface 4.24", "numbers carry six significant digits, prices eight"),
    "mcp:points": Requirement("interface 4.24", "without a step there are about 200 points"),
    "mcp:by": Requirement("interface 4.24", "by=venue gives each exchange's series of a coin in one result"),
    "mcp:page": Requirement("interface 2.8", "a result leads to the page that shows it to people"),
    "mcp:coarsened": Requirement("interface 4.24", "a step that is too fine is raised and reported"),
    "mcp:tokens": Requirement("interface 4.24", "a default call has fewer than 10,000 tokens"),
    "mcp:large": Requirement("interface 4.24", "a large answer names the JSON API's URL; none passes 1 MiB"),
    "mcp:snapshot": Requirement("interface 4.24", "a coin's markets by OI, at most 50"),
    "mcp:feed": Requirement("interface 4.24", "spikes newest first, in a window of at most 24 hours, page by page"),
    "mcp:outcomes": Requirement(
        "interface 3", "pending until due, unavailable with missing_outcome, otherwise observed"
    ),
    "mcp:xray": Requirement(
        "interface 4.24", "only fresh full rows are ranked, partial ones apart, others counted; 300 points"
    ),
    "mcp:modern": Requirement("interface 11.1", "2026-07-28 behind a setting, off by default"),
    "mcp:clients": Requirement("interface 11.1", "the official Python client works, in each of its modes"),
    "mcp:fuzz": Requirement("interface 7.1", "no message makes a 5xx or hangs"),
}

REQUIREMENTS = {**SERIES, **SNAPSHOTS, **DERIVED, **STATES, **STATISTICS, **MODELS, **EDITIONS, **HTTP, **KEYS, **MCP}
