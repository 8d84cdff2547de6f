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
    r.instrument_name as instrument,
    nullif(name.coin, '') as coin,
    epoch_ms(try_strptime(name.expiry, '%d%b%y') + interval 8 hour) as expiry_ms,
    try_cast(replace(name.strike, 'd', '.') as double) as strike,
    case name.side when 'C' then 'call' when 'P' then 'put' end as option_type,
    try_cast(r.mark_iv as double) / 100 as mark_iv,
    nullif(try_cast(r.bid_iv as double), 0) / 100 as bid_iv,
    nullif(try_cast(r.ask_iv as double), 0) / 100 as ask_iv,
    try_cast(r.underlying_price as double) as forward,
    try_cast(r.mark_price as double) / case when name.settled = '_USDC' then forward else 1 end as mark_price_coins,
    try_cast(r.open_interest as double) as open_interest_coins,
    try_cast(r.volume as double) as volume_coins,
    try_cast(r.volume_usd as double) as volume_usd,
    {{ reject(['instrument', 'coin', 'expiry_ms', 'strike', 'option_type', 'forward', 'open_interest_coins']) }}
from named
where r.instrument_name is null or regexp_matches(r.instrument_name, '^(BTC|ETH)(_USDC)?-')
