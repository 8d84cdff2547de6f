-- What the venues list in the window, one row per market and body.
{{ staged_rows('staged_instruments') }}
