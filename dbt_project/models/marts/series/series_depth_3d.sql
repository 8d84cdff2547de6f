{{ depth_view("3d", tier="1h") }}
