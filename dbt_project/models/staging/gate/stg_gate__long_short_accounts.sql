-- contract_stats: users that are long among users with a position; one row per bucket. time is the
-- start of the bucket, in seconds; the running bucket, the newest, is left out. The contract is the request's key.
{{ gate_long_fractions('long_users', 'short_users', 'lsr_account') }}
