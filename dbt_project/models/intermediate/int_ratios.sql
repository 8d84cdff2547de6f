-- A recorded bucket takes precedence over a backfilled one; of equals, the one that was recorded last.
{{ config(
    incremental_strategy='replace_keys', replace_keys=['market_id', 'kind', 'period_ms', 't'], replace_on='t',
    triggers=endpoints_of(families()['staged_ratios'].kinds + families()['staged_metrics'].kinds)
) }}
{%- set kinds = {
    'long_short_accounts': 'accounts', 'long_short_top_accounts': 'top_acct', 'long_short_top_positions': 'top_pos', 'taker_ratio': 'taker_buy'
} %}
{%- set of_window = "reject is null and " ~ of_window() %}
{%- set preferred = "source = 'recorded' desc, tick_ms desc, requested_ms desc" %}
with latest as (
    select
        *,
        case kind {% for kind, ratio in kinds.items() %}when '{{ kind }}' then '{{ ratio }}' {% endfor %}end as ratio,
        {{ source_of_endpoint() }} as source
    from {{ ref('staged_ratios') }}
    where {{ of_window }}
    qualify row_number() over (partition by venue, symbol, ratio, period_ms, t order by {{ preferred }}) = 1
),

identified as (
    select
        i.market_id,
        r.ratio as kind,
        r.period_ms,
        r.t,
        r.venue,
        r.symbol,
        i.base,
        coalesce(r.long_fraction, r.taker_buy / nullif(r.taker_buy + r.taker_sell, 0)) as long_fraction,
        {% for side in ['buy', 'sell'] %}
        r.taker_{{ side }} * case
            when r.unit = 'base' then i.multiplier
            when r.unit = 'contracts' and not i.inverse then i.contract_size * i.multiplier
        end as taker_{{ side }}_base,
        -- Contracts of an inverse market are worth USD.
        r.taker_{{ side }} * case
            when r.unit = 'usd' or (r.unit = 'quote' and i.usd_like) then 1
            when r.unit = 'contracts' and i.inverse then i.contract_size
        end as taker_{{ side }}_quoted_usd,
        {% endfor %}
        r.source,
        r.tick_ms,
        r.requested_ms,
        r.t + r.period_ms - 60000 as minute_ms
    from latest as r
    join {{ ref('instruments') }} as i on r.venue = i.venue and r.type = i.type and r.symbol = i.symbol
),

-- Sizes in coins are converted at the price of the bucket's last minute. Minutes are looked up by key, because a scan
-- of all minutes would be slow.
prices as (
    select market_id, minute_ms, price
    from {{ ref('int_market_minutes') }}
    where minute_ms in (select minute_ms from identified where source = 'recorded' and taker_buy_base is not null)
),

answers as materialized (
    select
        s.market_id, s.kind, s.period_ms, s.t, s.venue, s.symbol, s.base, s.long_fraction, s.taker_buy_base, s.taker_sell_base,
        coalesce(s.taker_buy_quoted_usd, s.taker_buy_base * p.price) as taker_buy_usd,
        coalesce(s.taker_sell_quoted_usd, s.taker_sell_base * p.price) as taker_sell_usd,
        s.source, s.tick_ms, s.requested_ms
    from identified as s
    left join prices as p on s.market_id = p.market_id and s.minute_ms = p.minute_ms
),

-- A line of the metrics' files has the open interest at the end of a bucket, and the bucket's ratios of accounts. Lines are many:
-- what a line needs is done before it becomes a row for each ratio.
lines as (
    select
        i.market_id, l.period_ms, l.t - l.period_ms as t, l.venue, l.symbol, i.base, l.tick_ms, l.requested_ms,
        l.long_short_accounts, l.long_short_top_accounts, l.long_short_top_positions, l.source
    from (
        select *, {{ source_of_endpoint() }} as source
        from {{ ref('staged_metrics') }}
        where {{ of_window }}
        qualify row_number() over (partition by venue, symbol, period_ms, t order by {{ preferred }}) = 1
    ) as l
    join {{ ref('instruments') }} as i on l.venue = i.venue and l.type = i.type and l.symbol = i.symbol
),

files as (
    {% for kind, ratio in kinds.items() if kind in families()['staged_metrics'].columns -%}
    select
        market_id, '{{ ratio }}' as kind, period_ms, t, venue, symbol, base, {{ kind }} as long_fraction, source, tick_ms, requested_ms
    from lines
    where {{ kind }} is not null
    {% if not loop.last %}union all{% endif %}
    {% endfor %}
),

newest as materialized (
    select * exclude (requested_ms)
    from (
        select * from answers
        union all by name
        select * from files semi join answers using (market_id, kind, period_ms, t)
    )
    qualify row_number() over (partition by market_id, kind, period_ms, t order by {{ preferred }}) = 1
    union all by name
    select * exclude (requested_ms) from files anti join answers using (market_id, kind, period_ms, t)
)

{{ newest_versions('newest', ['market_id', 'kind', 'period_ms', 't']) }}
