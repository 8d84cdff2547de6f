{{ staged_rows('staged_market_state') }}
