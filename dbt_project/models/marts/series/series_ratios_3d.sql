{{ ratio_view("3d", tier="1d") }}
