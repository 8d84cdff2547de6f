{{ rollup_venue("5m") }}
