{#- Of COIN-M the column contradicts those of the top traders (0.23 beside 2.6): it is not read. -#}
{{ binance_metrics_long_fractions(7) }}
where not {{ binance_is_coin_margined("key") }}
