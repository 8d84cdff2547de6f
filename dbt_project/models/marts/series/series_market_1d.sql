{{ rollup_market("1d") }}
