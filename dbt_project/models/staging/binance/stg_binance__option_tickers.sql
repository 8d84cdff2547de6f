with recorded as (
    {{ recorded('binance', 'option_tickers', "from_json(body,
        '[{\"symbol\":\"VARCHAR\",\"markPrice\":\"VARCHAR\",\"markIV\":\"VARCHAR\",\"bidIV\":\"VARCHAR\",
           \"askIV\":\"VARCHAR\"}]')") }}
),

named as (
    select
        *,
        split_part(r.symbol, '-', 1) as coin,
        epoch_ms(try_strptime(split_part(r.symbol, '-', 2), '%y%m%d')) + 28800000 as expiry_ms,
        try_cast(split_part(r.symbol, '-', 3) as double) as strike,
        case split_part(r.symbol, '-', 4) when 'C' then 'call' when 'P' then 'put' end as option_type,
        try_cast(r.markprice as double) as price
    from recorded
    where r.symbol is null or regexp_matches(r.symbol, '^(BTC|ETH)-')
),

pairs as (
    select
        tick_ms, requested_ms, coin, expiry_ms, strike,
        max(price) filter (option_type = 'call') - max(price) filter (option_type = 'put') as call_over_put
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
    n.r.symbol as instrument,
    nullif(n.coin, '') as coin,
    n.expiry_ms,
    n.strike,
    n.option_type,
    case when try_cast(n.r.markiv as double) > 0 then try_cast(n.r.markiv as double) end as mark_iv,
    case when try_cast(n.r.bidiv as double) > 0 then try_cast(n.r.bidiv as double) end as bid_iv,
    case when try_cast(n.r.askiv as double) > 0 then try_cast(n.r.askiv as double) end as ask_iv,
    f.forward,
    n.price / f.forward as mark_price_coins,
    case
        when n.r is null then 'unreadable'
        when instrument is null or n.expiry_ms is null or n.strike is null or n.option_type is null or n.price is null
            then 'incomplete'
    end as reject
from named as n
left join forwards as f using (tick_ms, requested_ms, coin, expiry_ms)
