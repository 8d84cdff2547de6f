{{ rollup_market("4h") }}
