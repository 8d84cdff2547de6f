-- Liquidations of the window as the venues publish them.
{{ staged_rows('staged_liquidations') }}
