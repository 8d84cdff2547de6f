{{ rollup_base("4h") }}
