{{ depth_tier("5m") }}
