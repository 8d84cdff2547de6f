{{ rollup_venue("1h") }}
