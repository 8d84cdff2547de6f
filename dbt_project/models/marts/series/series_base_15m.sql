{{ rollup_base("15m") }}
