{{ rollup_venue("1m") }}
