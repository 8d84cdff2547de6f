with recorded as (
    {{ recorded('kucoin', 'settlements', "case when json_type(body, '$.data') = 'NULL' then []
        else from_json(body -> '$.data', '[{\"fundingRate\":\"VARCHAR\",\"timepoint\":\"VARCHAR\"}]') end", may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    try_cast(r.timepoint as bigint) as settled_ms,
    try_cast(r.fundingrate as double) as funding_rate,
    {{ reject(['settled_ms', 'funding_rate']) }}
from recorded
