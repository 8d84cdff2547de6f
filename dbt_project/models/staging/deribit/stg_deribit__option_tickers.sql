{%- set fields = {
    "expiry_ms": time_of_text("name.expiry", "%d%b%y", "{} + 28800000"),
    "instrument": word("r.instrument_name"),
    "strike": price("replace(name.strike, 'd', '.')"),
    "forward": price("r.underlying_price", zero="none"),
    "open_interest_coins": size("r.open_interest"),
    "volume_coins": size("r.volume"),
    "volume_usd": amount("r.volume_usd"),
    "mark_iv": iv("r.mark_iv", "{} / 100"),
    "bid_iv": iv("r.bid_iv", "{} / 100"),
    "ask_iv": iv("r.ask_iv", "{} / 100"),
    "_mark_price": price("r.mark_price", zero="kept"),
    "mark_price_coins": within("_mark_price / case when name.settled = '_USDC' then forward else 1 end", "size"),
} %}
with recorded as (
    {{ recorded('deribit', 'option_tickers', "from_json(body -> '$.result',
        '[{\"instrument_name\":\"VARCHAR\",\"underlying_price\":\"VARCHAR\",\"mark_iv\":\"VARCHAR\",\"bid_iv\":\"VARCHAR\",
           \"ask_iv\":\"VARCHAR\",\"mark_price\":\"VARCHAR\",\"open_interest\":\"VARCHAR\",\"volume\":\"VARCHAR\",
           \"volume_usd\":\"VARCHAR\"}]')") }}
),

named as (
    select
        *,
        regexp_extract(
            r.instrument_name, '^([A-Z]+)(_USDC)?-(\d{1,2}[A-Z]{3}\d{2})-(\d+(?:d\d+)?)-([CP])$',
            ['coin', 'settled', 'expiry', 'strike', 'side']
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
where r.instrument_name is null or regexp_matches(r.instrument_name, '^(BTC|ETH)(_USDC)?-')
