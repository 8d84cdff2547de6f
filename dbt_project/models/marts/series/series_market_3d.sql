{{ rollup_market_view("3d") }}
