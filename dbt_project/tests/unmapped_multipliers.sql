-- Tokens that look like several coins or a k-unit but have no row in the seed `symbols`: each one needs a decision.
{{ config(severity='warn') }}
select market_id, base_raw
from {{ ref('instruments') }}
where
    multiplier = 1
    and base = base_raw
    and not hip3
    and regexp_matches(base_raw, '^1(0{3,}|M|K)[A-Z]|[A-Z]1000$|^k[A-Z]')
