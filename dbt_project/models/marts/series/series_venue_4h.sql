{{ rollup_venue("4h") }}
