{#- The coin of a market at a time: decisions that have ended (int_identity) hold until their end, also for the time before
    the market was first seen. `i` is the alias of `instruments`, whose base is the coin of now. -#}
{% macro join_past_coin(i, time) -%}
asof left join (select market_id, to_ms, coin from {{ ref("int_identity") }} where to_ms is not null) as past
    on {{ i }}.market_id = past.market_id and {{ time }} < past.to_ms
{%- endmacro %}

{% macro coin_then(i) -%}coalesce(past.coin, {{ i }}.base){%- endmacro %}
