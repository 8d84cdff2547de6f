{{ gate_long_fractions('long_users', 'short_users', 'lsr_account') }}
