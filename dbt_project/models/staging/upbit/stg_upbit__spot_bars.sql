with recorded as (
    {{ recorded('upbit', 'spot_bars', "from_json(body,
        '[{\"market\":\"VARCHAR\",\"candle_date_time_utc\":\"VARCHAR\",\"opening_price\":\"VARCHAR\",\"high_price\":\"VARCHAR\",
           \"low_price\":\"VARCHAR\",\"trade_price\":\"VARCHAR\",\"candle_acc_trade_price\":\"VARCHAR\",
           \"candle_acc_trade_volume\":\"VARCHAR\",\"unit\":\"BIGINT\"}]')", may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    r.market as symbol,
    epoch_ms(try_strptime(r.candle_date_time_utc, '%Y-%m-%dT%H:%M:%S')) as opened_ms,
    opened_ms + coalesce(r.unit, 1440) * 60000 - 1 as closed_ms,
    try_cast(r.opening_price as double) as open,
    try_cast(r.high_price as double) as high,
    try_cast(r.low_price as double) as low,
    try_cast(r.trade_price as double) as close,
    try_cast(r.candle_acc_trade_volume as double) as volume,
    try_cast(r.candle_acc_trade_price as double) as turnover,
    {{ reject(['symbol', 'opened_ms', 'open', 'high', 'low', 'close', 'volume', 'turnover']) }}
from recorded
