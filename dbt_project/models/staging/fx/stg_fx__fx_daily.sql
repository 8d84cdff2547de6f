{%- set fields = {
    "_rate": price("r.rate"),
    "_units": price("coalesce(r.amount, '1')"),
    "rate": "_rate / _units",
    "ts": time_of_text("r.day", "%Y-%m-%d", "{} + 54000000", past=true),
} %}
with recorded as (
    {{ recorded('fx', 'fx_daily', "case
        when (body ->> '$.start_date') is null then
            list_transform(
                map_entries(from_json(body -> '$.rates', '\"MAP(VARCHAR,VARCHAR)\"')),
                lambda e: {'base': body ->> '$.base', 'amount': body ->> '$.amount', 'day': body ->> '$.date',
                    'quote': e.key, 'rate': e.value}
            )
        else
            flatten(list_transform(
                map_entries(from_json(body -> '$.rates', '\"MAP(VARCHAR,JSON)\"')),
                lambda d: list_transform(
                    map_entries(from_json(d.value, '\"MAP(VARCHAR,VARCHAR)\"')),
                    lambda e: {'base': body ->> '$.base', 'amount': body ->> '$.amount', 'day': d.key,
                        'quote': e.key, 'rate': e.value}
                )
            ))
        end") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    r.base || '/' || r.quote as pair,
    'frankfurter' as source,
    {{ measured(fields, required=["pair", "rate", "ts"]) }}
from {{ read("recorded", fields) }}
