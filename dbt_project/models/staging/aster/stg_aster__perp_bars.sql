{{ kline_arrays('aster', 'perp_bars') }}
