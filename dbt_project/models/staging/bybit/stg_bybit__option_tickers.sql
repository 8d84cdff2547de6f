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
    r.symbol as instrument,
    nullif(name.coin, '') as coin,
    epoch_ms(try_strptime(name.expiry, '%d%b%y') + interval 8 hour) as expiry_ms,
    try_cast(name.strike as double) as strike,
    case name.side when 'C' then 'call' when 'P' then 'put' end as option_type,
    nullif(try_cast(r.markiv as double), 0) as mark_iv,
    nullif(try_cast(r.bid1iv as double), 0) as bid_iv,
    nullif(try_cast(r.ask1iv as double), 0) as ask_iv,
    nullif(try_cast(r.underlyingprice as double), 0) as forward,
    try_cast(r.markprice as double) / forward as mark_price_coins,
    try_cast(r.openinterest as double) as open_interest_coins,
    try_cast(r.volume24h as double) as volume_coins,
    {{ reject(['instrument', 'coin', 'expiry_ms', 'strike', 'option_type', 'forward', 'open_interest_coins']) }}
from named
