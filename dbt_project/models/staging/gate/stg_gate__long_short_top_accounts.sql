{{ gate_long_fractions('top_long_account', 'top_short_account', 'top_lsr_account') }}
