{{ kline_arrays('aster', 'spot_bars') }}
