"""GET /api/search: coins, markets and metrics by a part of a name, as a search field needs them."""

from serve.contract.endpoint import endpoint
from serve.contract.parameters import Values, words
from serve.contract.schemas import NUMBER_OR_NULL, TEXT, array_of, object_of
from serve.contract.serialize import Body, json_body
from serve.replica.edition import Reader

MOST = 10
"""Coins, markets and metrics of a response at most."""
SIMILAR = 0.8
"""From this Jaro-Winkler similarity a coin is listed whose name does not hold the text: one letter of three differs."""
SCHEMA = object_of(
    {
        "q": TEXT,
        "coins": array_of(
            object_of(
                {
                    "base": TEXT,
                    "matched": {**TEXT, "description": "The coin, or the exchange's symbol that begins with the text."},
                    "how": {"enum": ["is", "begins", "symbol", "holds", "similar"]},
                    "perp_vol24h": {**NUMBER_OR_NULL, "description": "USD."},
                }
            ),
            "Best match first; of equal ones the coin traded most.",
        ),
        "markets": array_of(
            object_of({"market": TEXT, "base": TEXT, "vol24h": {**NUMBER_OR_NULL, "description": "USD."}}),
            "Whose symbol begins with the text, the greatest volume of 24 hours first.",
        ),
        "metrics": array_of(object_of({"metric": TEXT, "title": TEXT}), "Whose name, alias or title holds the text."),
        "source": TEXT,
    }
)
SQL = f"""
with listed as (
    select base, perp_vol24h, 'perp' as type, unnest(perps) as m from markets
    union all by name
    select base, perp_vol24h, 'spot' as type, unnest(spots) as m from markets
),
ranked as (
    select base, perp_vol24h, case
            when upper(base) = $q then 1
            when starts_with(upper(base), $q) then 2
            when starts_with(upper(m.symbol), $q) then 3
            when contains(upper(base), $q) then 4
            when jaro_winkler_similarity(upper(base), $q) >= {SIMILAR} then 5
        end as rank, if(rank = 3, m.symbol, base) as name
    from listed
),
found as (
    select base, any_value(perp_vol24h) as perp_vol24h, min(rank) as rank, first(name order by rank, name) as matched
    from ranked where rank is not null group by base
)
select
    (select coalesce(list({{
        base: base, matched: matched, how: ['is', 'begins', 'symbol', 'holds', 'similar'][rank],
        perp_vol24h: perp_vol24h
    }} order by rank, perp_vol24h desc nulls last, base)[:{MOST}], []) from found) as coins,
    (select coalesce(list({{
        market: concat_ws(':', m.venue, type, m.symbol), base: base, vol24h: m.vol24h
    }} order by m.vol24h desc nulls last, m.venue, type, m.symbol)[:{MOST}], [])
    from listed where starts_with(upper(m.symbol), $q)) as markets
"""


@endpoint(
    "/api/search",
    ttl=60,
    statuses=(200, 400, 503),
    schema=SCHEMA,
    params={"q": words("A part of a name, in any case.", "pepe")},
)
def search(query: Values, db: Reader) -> Body:
    """Coins, markets and metrics by a part of a name: also by an exchange's own symbol, such as 1000PEPE or kPEPE."""
    text = " ".join(query["q"].split())
    [found] = db.rows(SQL, {"q": text.upper()})
    metrics = [
        {"metric": metric.name, "title": metric.title}
        for metric in db.edition.catalog.metrics
        if any(text.lower() in name.lower() for name in (metric.name, metric.title, *metric.aliases))
    ]
    return json_body({"q": text, **found, "metrics": metrics[:MOST], "source": f"markets@e{db.edition.edition_id}"})
