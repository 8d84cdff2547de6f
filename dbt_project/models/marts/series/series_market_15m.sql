{{ rollup_market("15m") }}
