{#- The coin of a market at a time: decisions that have ended (int_identity) hold until their end, also for the time before
    the market was first seen. `i` is the alias of `instruments`, whose base is the coin of now. -#}
{% macro join_past_coin(i, time) -%}
asof left join (select market_id, to_ms, coin from {{ ref("int_identity") }} where to_ms is not null) as past
    on {{ i }}.market_id = past.market_id and {{ time }} < past.to_ms
{%- endmacro %}

{% macro coin_then(i) -%}coalesce(past.coin, {{ i }}.base){%- endmacro %}

{#- True if the venue does not list a market for trading (`listed`: its row of `instruments`). A list is requested once
    an hour: a market that the newest list of its venue leaves out is two hours behind it, and one that is on no list ends
    two hours after its last value. -#}
{% macro not_listed(listed, newest_list_ms, last_value_ms) -%}
{%- set behind_ms = 7200000 -%}
({{ listed }}.status <> 'trading' or {{ listed }}.seen_ms < {{ newest_list_ms }} - {{ behind_ms }}
    or (not {{ listed }}.metadata and {{ last_value_ms }} < {{ newest_minute() }} - {{ behind_ms }}))
{%- endmacro %}
