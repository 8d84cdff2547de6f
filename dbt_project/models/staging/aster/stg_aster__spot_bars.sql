-- klines, spot; one row per bar, the open minute included. Spot rows have no twelfth field, which perps ignore.
{{ kline_arrays('aster', 'spot_bars') }}
