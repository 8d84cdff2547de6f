{{ rollup_base("5m") }}
