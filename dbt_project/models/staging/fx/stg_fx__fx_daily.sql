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
    try_cast(r.rate as double) / coalesce(try_cast(r.amount as double), 1) as rate,
    epoch_ms(try_cast(r.day as date)) + 15 * 3600000 as ts,
    'frankfurter' as source,
    {{ reject(['pair', 'rate', 'ts']) }}
from recorded
