-- Each kind of a venue has some columns of an option; an option without a ticker in the snapshot has no row.
{{ config(replace_on='snapshot_ms', replace_buckets='select tick_ms from pipeline.window_minutes',
    triggers=endpoints_of(families()['staged_options'].kinds)) }}
{%- set parts = ['coin', 'expiry_ms', 'strike', 'option_type', 'mark_iv', 'bid_iv', 'ask_iv', 'forward', 'mark_price_coins',
    'open_interest_coins', 'volume_coins', 'volume_usd'] %}
with received as (
    select *
    from {{ ref('staged_options') }}
    where reject is null and tick_ms in (select w.tick_ms from {{ source('pipeline', 'window_minutes') }} as w)
),

spots as (
    select tick_ms, venue, coin, max_by(index_price, received_ms) as index_price
    from received
    where instrument is null and index_price is not null
    group by tick_ms, venue, coin
),

options as (
    select
        tick_ms, venue, instrument,
        {% for part in parts %}
        max_by({{ part }}, received_ms) filter (where {{ part }} is not null) as {{ part }}{{ "," if not loop.last }}
        {% endfor %}
    from received
    where instrument is not null
    group by tick_ms, venue, instrument
    having count(*) filter (where kind = 'option_tickers') > 0
)

select
    o.tick_ms as snapshot_ms,
    o.venue,
    o.coin,
    o.instrument,
    o.expiry_ms,
    o.strike,
    o.option_type,
    o.mark_iv,
    o.bid_iv,
    o.ask_iv,
    o.forward,
    s.index_price,
    o.mark_price_coins,
    o.open_interest_coins as oi_coins,
    o.volume_coins,
    o.volume_usd
from options as o
left join spots as s on o.tick_ms = s.tick_ms and o.venue = s.venue and o.coin = s.coin
