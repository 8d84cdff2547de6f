{#- A published bar `b` of the instrument `i` per coin, in coins and USD: open, high, low, close, volume_base, volume_usd,
    taker_buy_usd, taker_sell_usd. -#}
{% macro bar_in_common_units(b, i) -%}
{% for price in ["open", "high", "low", "close"] %}{{ b }}.{{ price }} / {{ i }}.multiplier as {{ price }},
        {% endfor -%}
        -- An inverse contract is worth that many USD; any other contract, that many units of the symbol.
        coalesce(
            {{ b }}.volume, {{ b }}.volume_contracts * {{ i }}.contract_size / case when {{ i }}.inverse then nullif({{ b }}.close, 0) else 1 end
        ) * {{ i }}.multiplier as volume_base,
        -- Without a published turnover: the size times the mean of the bar's four prices.
        case when {{ i }}.usd_like then
            coalesce({{ b }}.turnover, case when {{ i }}.inverse then {{ b }}.volume_contracts * {{ i }}.contract_size end, volume_base / {{ i }}.multiplier * ({{ b }}.open + {{ b }}.high + {{ b }}.low + {{ b }}.close) / 4)
        end as volume_usd,
        case when {{ i }}.usd_like then
            coalesce({{ b }}.taker_buy_turnover, case when {{ i }}.inverse then {{ b }}.taker_buy_contracts * {{ i }}.contract_size end)
        end as taker_buy_usd,
        volume_usd - taker_buy_usd as taker_sell_usd
{%- endmacro %}

{#- The columns of a candle: what `candle_of` makes of a bar, and how many minutes of a bucket have one. -#}
{% macro candle_columns() %}{{ return(["open", "high", "low", "close", "candle_n"]) }}{% endmacro %}

{#- The four prices of the bar `b` in USD as open, high, low and close: all of them or none, because a candle without its high
    would pass for one with a lower high. -#}
{% macro candle_of(b, usd_like) -%}
{%- for price in candle_columns()[:4] -%}
case when {{ usd_like }} and {{ b }}.open + {{ b }}.high + {{ b }}.low + {{ b }}.close is not null then {{ b }}.{{ price }} end as {{ price }}
    {{- ",\n    " if not loop.last }}
{%- endfor %}
{%- endmacro %}

{#- The rows of `fresh` that replace or extend the stored table: a stored row stays if it was recorded and the new one is
    backfilled, or if it comes from a later minute. -#}
{% macro newest_versions(fresh, keys) -%}
select new.*
from {{ fresh }} as new
{% if is_update() %}
anti join (
    select old.*
    from {{ this }} as old
    join {{ fresh }} as n on {% for key in keys %}old.{{ key }} = n.{{ key }}{{ " and " if not loop.last }}{% endfor %}
    where case when old.source = n.source then old.tick_ms > n.tick_ms else old.source = 'recorded' end
        -- Implied by it, and judged before the join: few stored rows of the past are better than any new one.
        and (old.source = 'recorded' or old.tick_ms > (select min(tick_ms) from {{ fresh }}))
) as better on {% for key in keys %}new.{{ key }} = better.{{ key }}{{ " and " if not loop.last }}{% endfor %}
{% endif %}
{%- endmacro %}

{#- The size of a liquidation in units of the symbol. An inverse contract is worth that many USD; any other contract, that many
    units of the symbol. -#}
{% macro liquidated_size(event, i) -%}
coalesce({{ event }}.size, {{ event }}.size_contracts * {{ i }}.contract_size / case when {{ i }}.inverse then nullif({{ event }}.price, 0) else 1 end)
{%- endmacro %}

{#- Bars of known markets in common units, with the coin that a market was then: of the relation `bars`, whose start becomes the
    column `time`, with one column `more`. -#}
{% macro bars_of_markets(bars, time, more) -%}
select
    b.opened_ms as {{ time }},
    i.market_id,
    b.venue,
    b.type,
    b.symbol,
    {{ coin_then('i') }} as base,
    i.quote,
    i.hip3,
    i.aggregated,
    {{ bar_in_common_units('b', 'i') }},
    {{ more }},
    b.tick_ms
from {{ bars }} as b
join {{ ref('instruments') }} as i on b.venue = i.venue and b.type = i.type and b.symbol = i.symbol
{{ join_past_coin('i', 'b.opened_ms') }}
{%- endmacro %}

{#- A liquidation in common units, from its `size`, `price` and market. -#}
{% macro liquidation_in_common_units() -%}
case when usd_like then size * price end as usd,
    price / multiplier as price,
    size * multiplier as size_base
{%- endmacro %}
