{{ rollup_venue("3d") }}
