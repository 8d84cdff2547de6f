{{ rollup_market("1h") }}
