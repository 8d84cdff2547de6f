{{ rollup_base("1m") }}
