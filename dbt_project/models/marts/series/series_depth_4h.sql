{{ depth_view("4h", tier="1h") }}
