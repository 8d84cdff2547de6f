-- The same event arrives with the fills of both sides, with the next page and with each new connection. The victim's
-- own fill takes precedence over the other side's.
{{ config(
    incremental_strategy='replace_keys', replace_keys=['venue', 'symbol', 't', 'tid'], replace_on='t',
    triggers=endpoints_of(families()['staged_wallet_fills'].kinds)
) }}
with fills as (
    select
        f.venue, i.market_id, f.symbol, i.base, i.aggregated, f.ts as t, f.tid, f.wallet, f.role, f.side,
        case when i.usd_like then f.size * f.price end as usd,
        f.price / i.multiplier as price,
        f.size * i.multiplier as size_base,
        f.tick_ms
    from {{ ref('staged_wallet_fills') }} as f
    join {{ ref('instruments') }} as i on f.venue = i.venue and f.type = i.type and f.symbol = i.symbol
    where f.reject is null and f.tick_ms in (select w.tick_ms from {{ source('pipeline', 'window_minutes') }} as w)
    qualify row_number() over (
        partition by f.venue, f.symbol, f.ts, f.tid order by f.role desc, f.tick_ms, f.received_ms
    ) = 1
)

select new.*
from fills as new
{% if is_update() %}
anti join (
    select venue, symbol, t, tid, role from {{ this }}
    semi join fills using (venue, symbol, t, tid)
) as old on new.venue = old.venue and new.symbol = old.symbol and new.t = old.t and new.tid = old.tid and new.role <= old.role
{% endif %}
