{{ rollup_market("5m") }}
