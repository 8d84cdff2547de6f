-- contract_stats: top traders' accounts that are long among those with a position; one row per bucket. time is the
-- start of the bucket, in seconds; the running bucket, the newest, is left out. The contract is the request's key.
{{ gate_long_fractions('top_long_account', 'top_short_account', 'top_lsr_account') }}
