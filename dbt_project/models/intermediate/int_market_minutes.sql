-- A symbol's unit may be many coins (1000PEPE): prices are divided by the multiplier and open interest is multiplied
-- by it; contracts × price of a contract needs neither.
{{ config(replace_on='minute_ms', replace_buckets='select tick_ms from pipeline.window_minutes', triggers=['recorded']) }}
{#- For how long an observed funding interval is carried over: 5 minutes. #}
{% set carry_ms = 300000 %}
{%- set fx_carry_ms = 7 * 86400000 %}
with observed as (
    -- Each kind of a venue has some of the columns; of two versions of a value the newest counts.
    select
        tick_ms, venue, type, symbol, max(received_ms) as observed_ms,
        {% for column in ['last_price', 'mark_price', 'index_price', 'vol24h_quote', 'vol24h_usd', 'open_interest',
            'single_open_interest', 'open_contracts', 'open_interest_usd', 'funding_rate', 'interval_h'] %}
        max_by({{ column }}, received_ms) as {{ column }}{{ "," if not loop.last }}
        {% endfor %}
    from {{ ref('staged_market_state') }}
    where reject is null
    group by tick_ms, venue, type, symbol
    -- A row with nothing but a funding interval says nothing about the market's state.
    having count(*) filter (kind <> 'funding_intervals') > 0
),

identified as (
    select
        o.tick_ms as minute_ms, i.market_id, o.venue, o.type, o.symbol, {{ coin_then('i') }} as base, i.named_base,
        i.quote, i.hip3, i.aggregated, i.usd_like, i.multiplier,
        o.observed_ms,
        -- A price of zero means that the market has none.
        nullif(o.last_price, 0) as last, nullif(o.mark_price, 0) as mark, nullif(o.index_price, 0) as index_,
        o.vol24h_quote, o.vol24h_usd, o.open_interest_usd,
        -- An inverse contract is worth that many USD; any other contract, that many units of the symbol.
        coalesce(
            o.single_open_interest,
            v.oi_factor * coalesce(
                o.open_interest, o.open_contracts * i.contract_size / case when i.inverse then nullif(o.mark_price, 0) else 1 end
            )
        ) as oi,
        o.funding_rate as rate,
        -- For venues that publish the interval only with the contract: the interval in force at that minute.
        coalesce(o.interval_h, case when o.funding_rate is not null then f.interval_h end) as interval_h
    from observed as o
    join {{ ref('instruments') }} as i on o.venue = i.venue and o.type = i.type and o.symbol = i.symbol
    left join {{ ref('venues') }} as v on o.venue = v.venue
    asof left join (
        select market_id, since_ms, interval_h from {{ ref('int_funding_intervals') }} where source = 'instruments'
    ) as f on i.market_id = f.market_id and o.tick_ms >= f.since_ms
    {{ join_past_coin('i', 'o.tick_ms') }}
),

-- USD per unit of a quote that is not USD-like, from the venue's own most traded spot pair in the same minute: the
-- quote against a dollar token (BTC-USDT), or a dollar token against the quote (USDT-KRW).
quote_rates as (
    select minute_ms, venue, quote, max_by(usd, traded) as usd
    from (
        select minute_ms, venue, named_base as quote, last / multiplier as usd, vol24h_quote as traded
        from identified
        where type = 'spot' and usd_like and last is not null
        union all
        select m.minute_ms, m.venue, m.quote, m.multiplier / m.last as usd, m.vol24h_quote / m.last as traded
        from identified as m
        join {{ ref('quotes') }} as q on m.named_base = q.quote and q.usd_like
        where m.type = 'spot' and not m.usd_like and m.last is not null
    )
    group by minute_ms, venue, quote
),

converted as (
    select m.*, case when m.usd_like then 1 else coalesce(r.usd, 1 / f.rate) end as quote_usd
    from identified as m
    left join quote_rates as r on m.minute_ms = r.minute_ms and m.venue = r.venue and m.quote = r.quote
    -- A venue without a pair of its own: the recorded exchange rate, which does not change on weekends.
    asof left join (
        select string_split(pair, '/')[2] as quote, t, max_by(rate, tick_ms) as rate
        from {{ ref('int_fx_rates') }}
        where
            starts_with(pair, 'USD/')
            and t between (select min(tick_ms) - {{ fx_carry_ms }} from {{ source('pipeline', 'window_minutes') }})
            and (select max(tick_ms) from {{ source('pipeline', 'window_minutes') }})
        group by pair, t
    ) as f on m.quote = f.quote and m.minute_ms >= f.t
),

-- Earlier minutes count only if they observed the interval themselves: a carried interval is not carried further.
timeline as (
    select *, case when interval_h is not null then minute_ms end as seen_ms, true as in_window from converted
    {% if is_update() %}
    {%- set window = run_query('select min(tick_ms), max(tick_ms) from ' ~ source('pipeline', 'window_minutes')).rows[0] %}
    union all by name
    select market_id, minute_ms, funding_interval_h as interval_h, interval_seen_ms as seen_ms, false as in_window
    from {{ this }}
    where
        minute_ms between {{ window[0] or 0 }} - {{ carry_ms }} and {{ window[1] or 0 }}
        and interval_seen_ms = minute_ms
        and minute_ms not in (select w.tick_ms from {{ source('pipeline', 'window_minutes') }} as w)
        and market_id in (select c.market_id from converted as c where c.interval_h is null)
    {% endif %}
),

-- The interval in force: the minute's own, else the last one seen.
known as (
    select
        *,
        last_value(interval_h ignore nulls) over recent as funding_interval_h,
        max(seen_ms) over recent as interval_seen_ms
    from timeline
    window recent as (
        partition by market_id order by minute_ms range between {{ carry_ms }} preceding and current row
    )
)

select
    minute_ms,
    market_id,
    venue,
    type,
    symbol,
    base,
    quote,
    hip3,
    aggregated,
    observed_ms,
    last * quote_usd / multiplier as price,
    mark * quote_usd / multiplier as mark_price,
    index_ * quote_usd / multiplier as index_price,
    coalesce(vol24h_quote * quote_usd, vol24h_usd) as vol24h_usd,
    oi * multiplier as oi_base,
    coalesce(oi * mark * quote_usd, open_interest_usd) as oi_usd,
    rate as funding_rate,
    funding_interval_h,
    interval_seen_ms,
    rate * 8 / funding_interval_h as funding_8h
from known
where in_window
