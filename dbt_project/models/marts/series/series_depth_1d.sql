{{ depth_view("1d", tier="1h") }}
