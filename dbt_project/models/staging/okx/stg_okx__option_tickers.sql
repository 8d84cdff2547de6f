{%- set fields = {
    "expiry_ms": time_of_text("split_part(r.instid, '-', 3)", "%y%m%d", "{} + 28800000"),
    "instrument": word("r.instid"),
    "strike": price("split_part(r.instid, '-', 4)"),
    "mark_iv": iv("r.markvol"),
    "bid_iv": iv("r.bidvol"),
    "ask_iv": iv("r.askvol"),
    "forward": price("r.fwdpx", zero="none"),
} %}
with recorded as (
    {{ recorded('okx', 'option_tickers', "from_json(body -> '$.data',
        '[{\"instId\":\"VARCHAR\",\"markVol\":\"VARCHAR\",\"bidVol\":\"VARCHAR\",\"askVol\":\"VARCHAR\",\"fwdPx\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    split_part(r.instid, '-', 1) as coin,
    -- Options expire at 08:00 UTC.
    case split_part(r.instid, '-', 5) when 'C' then 'call' when 'P' then 'put' end as option_type,
    {{ measured(fields, required=["instrument", "expiry_ms", "strike", "option_type"]) }}
from {{ read("recorded", fields) }}
