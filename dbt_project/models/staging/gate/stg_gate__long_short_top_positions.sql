-- contract_stats: top traders' long positions among all their positions, by size; one row per bucket. time is the
-- start of the bucket, in seconds; the running bucket, the newest, is left out. The contract is the request's key.
{{ gate_long_fractions('top_long_size', 'top_short_size', 'top_lsr_size') }}
