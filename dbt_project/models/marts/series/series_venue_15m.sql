{{ rollup_venue("15m") }}
