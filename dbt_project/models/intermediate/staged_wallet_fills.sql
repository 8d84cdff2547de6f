{{ staged_rows('staged_wallet_fills') }}
