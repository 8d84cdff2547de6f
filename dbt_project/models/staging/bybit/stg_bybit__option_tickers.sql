{%- set fields = {
    "expiry_ms": time_of_text("name.expiry", "%d%b%y", "{} + 28800000"),
    "instrument": word("r.symbol"),
    "strike": price("name.strike"),
    "mark_iv": iv("r.markiv"),
    "bid_iv": iv("r.bid1iv"),
    "ask_iv": iv("r.ask1iv"),
    "forward": price("r.underlyingprice", zero="none"),
    "open_interest_coins": size("r.openinterest"),
    "volume_coins": size("r.volume24h"),
    "_mark_price": price("r.markprice", zero="kept"),
    "mark_price_coins": within("_mark_price / forward", "size"),
} %}
with recorded as (
    {{ recorded('bybit', 'option_tickers', "from_json(body -> '$.result.list',
        '[{\"symbol\":\"VARCHAR\",\"markIv\":\"VARCHAR\",\"bid1Iv\":\"VARCHAR\",\"ask1Iv\":\"VARCHAR\",
           \"markPrice\":\"VARCHAR\",\"underlyingPrice\":\"VARCHAR\",\"openInterest\":\"VARCHAR\",
           \"volume24h\":\"VARCHAR\"}]')") }}
),

named as (
    select
        *,
        regexp_extract(
            r.symbol, '^([A-Z]+)-(\d{1,2}[A-Z]{3}\d{2})-(\d+(?:\.\d+)?)-([CP])(?:-[A-Z]+)?$',
            ['coin', 'expiry', 'strike', 'side']
        ) as name
    from recorded
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    nullif(name.coin, '') as coin,
    case name.side when 'C' then 'call' when 'P' then 'put' end as option_type,
    {{ measured(fields, required=["instrument", "coin", "expiry_ms", "strike", "option_type", "forward", "open_interest_coins"]) }}
from {{ read("named", fields) }}
