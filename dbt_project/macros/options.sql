{#- The options that the marts count: each venue's newest snapshot, unless it is over an hour older than the newest of all,
    without options that have expired. Two CTEs: `included` (snapshot_ms by venue and coin) and `options`. -#}
{%- macro newest_options() -%}
{%- set max_age_ms = 3600000 -%}
{%- set snapshots = ref("int_option_snapshots") -%}
{%- set since_ms = known_ms(snapshots, "max(snapshot_ms)") - max_age_ms -%}
included as (
  select venue, coin, max(snapshot_ms) as snapshot_ms
  from {{ snapshots }}
  where snapshot_ms >= {{ since_ms }}
  group by venue, coin
),

options as (
  select o.*
  from {{ snapshots }} as o
  join included using (snapshot_ms, venue, coin)
  where o.snapshot_ms >= {{ since_ms }} and o.expiry_ms > {{ as_of_ms() }}
)
{%- endmacro -%}

{#- What is open and traded of the `options` of each group; `partial`: the open interest of one of them is not known. -#}
{%- macro option_positions(keys) -%}
  select
    {{ keys }}, list(distinct venue order by venue) as venues,
    {% for side in ["call", "put"] %}
    sum(oi_coins) filter (option_type = '{{ side }}') as {{ side }}_oi,
    sum(volume_coins) filter (option_type = '{{ side }}') as {{ side }}_volume,
    {% endfor %}
    bool_or(oi_coins is null) as partial
  from options
  group by {{ keys }}
{%- endmacro -%}
