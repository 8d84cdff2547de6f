{{ rollup_venue("1d") }}
