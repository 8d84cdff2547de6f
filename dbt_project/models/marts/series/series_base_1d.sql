{{ rollup_base("1d") }}
