{{ gate_long_fractions('top_long_size', 'top_short_size', 'top_lsr_size') }}
