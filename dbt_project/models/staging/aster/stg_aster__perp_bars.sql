-- klines, perp; one row per bar, the open minute included.
{{ kline_arrays('aster', 'perp_bars') }}
