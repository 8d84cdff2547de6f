-- Bars of the window as the venues publish them, open ones included.
{{ staged_rows('staged_bars') }}
