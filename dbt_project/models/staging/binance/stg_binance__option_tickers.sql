-- mark of all options; one row per option on BTC and ETH (BTC-260327-90000-C). Volatilities are fractions, -1 without a bid
-- or ask; prices are dollars. No forward is published: calls and puts of a strike tell it.
with recorded as (
    {{ recorded('binance', 'option_tickers', "from_json(body,
        '[{\"symbol\":\"VARCHAR\",\"markPrice\":\"VARCHAR\",\"markIV\":\"VARCHAR\",\"bidIV\":\"VARCHAR\",
           \"askIV\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    r.symbol as instrument,
    split_part(r.symbol, '-', 1) as coin,
    -- Options expire at 08:00 UTC.
    epoch_ms(try_strptime(split_part(r.symbol, '-', 2), '%y%m%d')) + 28800000 as expiry_ms,
    try_cast(split_part(r.symbol, '-', 3) as double) as strike,
    case split_part(r.symbol, '-', 4) when 'C' then 'call' when 'P' then 'put' end as option_type,
    case when try_cast(r.markiv as double) > 0 then try_cast(r.markiv as double) end as mark_iv,
    case when try_cast(r.bidiv as double) > 0 then try_cast(r.bidiv as double) end as bid_iv,
    case when try_cast(r.askiv as double) > 0 then try_cast(r.askiv as double) end as ask_iv,
    try_cast(r.markprice as double) as mark_price_usd,
    {{ reject(['instrument', 'expiry_ms', 'strike', 'option_type', 'mark_price_usd']) }}
from recorded
where r.symbol is null or regexp_matches(r.symbol, '^(BTC|ETH)-')
