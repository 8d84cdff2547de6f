-- Fills of wallets and liquidators that carry a liquidation, as the venues publish them.
{{ staged_rows('staged_wallet_fills') }}
