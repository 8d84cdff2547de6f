{{ config(replace_on='snapshot_ms', replace_buckets='select tick_ms from pipeline.window_minutes',
    triggers=endpoints_of(families()['staged_options'].kinds)) }}
{#- d1 of a delta of 25: N(d1) = 0.25 for a call, N(d1) - 1 = -0.25 for a put. #}
{%- set quantile = 0.6744897501960817 %}
{%- set expiry = 'snapshot_ms, venue, coin, expiry_ms' %}
with options as (
    select
        o.snapshot_ms, o.venue, o.coin, o.expiry_ms, o.strike, o.option_type, o.forward, o.oi_coins,
        coalesce(o.mark_iv, i.iv) as iv,
        (o.expiry_ms - o.snapshot_ms) / 31536000000 as years
    from {{ ref('int_option_snapshots') }} as o
    left join {{ ref('int_option_implied') }} as i using (snapshot_ms, venue, instrument)
    where o.snapshot_ms in (select w.tick_ms from {{ source('pipeline', 'window_minutes') }} as w) and o.expiry_ms > o.snapshot_ms
),

-- A point per strike, from its out-of-the-money options: log-moneyness k and total variance w.
points as (
    select {{ expiry }}, strike, avg(ln(strike / forward)) as k, avg(iv * iv * years) as w, any_value(years) as years
    from options
    where forward > 0 and iv > 0 and (strike >= forward) = (option_type = 'call')
    group by {{ expiry }}, strike
),

segments as (
    select
        *, (w / 2 - k) / sqrt(w) as d1,
        lead(k) over strikes as next_k, lead(w) over strikes as next_w,
        lead((w / 2 - k) / sqrt(w)) over strikes as next_d1,
        (lead(w) over strikes - w) / nullif(lead(k) over strikes - k, 0) as slope
    from points
    window strikes as (partition by {{ expiry }} order by k)
),

at_forward as (
    select {{ expiry }}, arg_min(sqrt(greatest(w - slope * k, 0) / years), abs(k)) as atm_iv
    from segments
    where k <= 0 and next_k >= 0
    group by {{ expiry }}
),

-- Where d1 passes its target d, s = sqrt(w) solves (1 - slope / 2) s² + slope d s = w - slope k: the condition
-- w / 2 - k = d s with k on the segment. Of two solutions the one between the strikes.
at_deltas as (
    select
        *,
        [(-slope * d + root) / nullif(2 - slope, 0), (-slope * d - root) / nullif(2 - slope, 0)] as solutions
    from (
        -- Rounding makes a root of 0 negative.
        select s.*, t.side, t.d, sqrt(greatest(slope * slope * t.d * t.d + (4 - 2 * slope) * (w - slope * k), 0)) as root
        from segments as s
        join (values ('call', -{{ quantile }}), ('put', {{ quantile }})) as t(side, d) on s.d1 >= t.d and s.next_d1 < t.d
    )
),

wings as (
    select
        {{ expiry }},
        {% for side in ['call', 'put'] %}
        arg_min(iv, abs(k + next_k)) filter (side = '{{ side }}') as {{ side }}25_iv{{ "," if not loop.last }}
        {% endfor %}
    from (
        select
            *,
            list_min(list_transform(solutions, lambda s: {
                off: greatest(least(sqrt(w), sqrt(next_w)) - s, s - greatest(sqrt(w), sqrt(next_w))), s: s
            })).s / sqrt(years) as iv
        from at_deltas
    )
    group by {{ expiry }}
)

select
    e.*,
    a.atm_iv,
    g.call25_iv,
    g.put25_iv
from (
    select {{ expiry }}, avg(forward) as forward, sum(oi_coins) as oi_coins
    from options
    group by {{ expiry }}
) as e
left join at_forward as a using ({{ expiry }})
left join wings as g using ({{ expiry }})
