{{ depth_view("15m", tier="5m") }}
