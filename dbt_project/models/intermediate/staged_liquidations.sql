{{ staged_rows('staged_liquidations') }}
