{{ rollup_base_view("3d") }}
