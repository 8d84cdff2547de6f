{{ rollup_base("1h") }}
