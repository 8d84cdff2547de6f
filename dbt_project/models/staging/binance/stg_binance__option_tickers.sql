{%- set fields = {
    "instrument": word("r.symbol"),
    "expiry_ms": time_of_text("split_part(r.symbol, '-', 2)", "%y%m%d", "{} + 28800000"),
    "strike": price("split_part(r.symbol, '-', 3)"),
    "mark_iv": iv("r.markiv"),
    "bid_iv": iv("r.bidiv"),
    "ask_iv": iv("r.askiv"),
    "_price": price("r.markprice", zero="kept"),
    "mark_price_coins": within("_price / forward", "size"),
} %}
with recorded as (
    {{ recorded('binance', 'option_tickers', "from_json(body,
        '[{\"symbol\":\"VARCHAR\",\"markPrice\":\"VARCHAR\",\"markIV\":\"VARCHAR\",\"bidIV\":\"VARCHAR\",
           \"askIV\":\"VARCHAR\"}]')") }}
),

named as (
    select
        *,
        nullif(split_part(r.symbol, '-', 1), '') as coin,
        case split_part(r.symbol, '-', 4) when 'C' then 'call' when 'P' then 'put' end as option_type
    from {{ read("recorded", fields) }}
    where r.symbol is null or regexp_matches(r.symbol, '^(BTC|ETH)-')
),

pairs as (
    select
        tick_ms, requested_ms, coin, expiry_ms, strike,
        max(_price) filter (option_type = 'call') - max(_price) filter (option_type = 'put') as call_over_put
    from named
    group by all
),

forwards as (
    select tick_ms, requested_ms, coin, expiry_ms, arg_min(strike + call_over_put, abs(call_over_put)) as forward
    from pairs
    group by all
)

select
    n.tick_ms,
    n.key,
    n.requested_ms,
    n.received_ms,
    n.endpoint,
    n.coin,
    n.option_type,
    f.forward,
    {{ measured(fields, required=["instrument", "expiry_ms", "strike", "option_type", "_price"]) }}
from named as n
left join forwards as f using (tick_ms, requested_ms, coin, expiry_ms)
