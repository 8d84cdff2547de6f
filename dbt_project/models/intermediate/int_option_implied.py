"""Volatilities of the window's options whose venue publishes none, from their mark prices by Black-76.

Black, The Pricing of Commodity Contracts (1976), undiscounted: per coin of the forward a call is worth
N(d1) - exp(k) N(d2) and a put exp(k) N(-d2) - N(-d1), with k = ln(strike / forward), d1 = (s^2 / 2 - k) / s,
d2 = d1 - s and s = volatility * sqrt(years).
"""

LOWEST, HIGHEST = 1e-4, 20.0  # of s: beyond them no option is quoted
MISSING = """
    select o.snapshot_ms, o.venue, o.instrument, o.mark_price_coins, ln(o.strike / o.forward) as k,
        o.option_type = 'call' as call, (o.expiry_ms - o.snapshot_ms) / 31536000000 as years
    from int_option_snapshots as o
    where o.snapshot_ms in (select t.tick_ms from window_minutes as t)
        and o.mark_iv is null and o.mark_price_coins > 0 and o.forward > 0 and o.expiry_ms > o.snapshot_ms
"""


def black76(k, s, call):
    """Undiscounted values in coins at log-moneyness `k` and deviation `s` (arrays, or numbers)."""
    import numpy as np
    from scipy.special import ndtr

    sign = np.where(call, 1.0, -1.0)
    upper = s / 2 - k / s
    return sign * (ndtr(sign * upper) - np.exp(k) * ndtr(sign * (upper - s)))


def implied(price, k, years, call):
    """Volatilities a year (arrays): nan where a price is not above what the option is worth when exercised now.

    The option out of the money of the same strike is solved, which is worth the same less the intrinsic value: an
    option far in the money has lost the digits.
    """
    import numpy as np
    from scipy.optimize import elementwise

    outside = k > 0
    value = price - np.maximum(np.where(call, 1.0, -1.0) * (1.0 - np.exp(k)), 0.0)
    found = elementwise.find_root(
        lambda s, value, k, outside: black76(k, s, outside) - value, (LOWEST, HIGHEST), args=(value, k, outside)
    )
    return np.where(found.success & (value > 0), found.x, np.nan) / np.sqrt(years)


def model(dbt, session):
    """One row per option of the window without a volatility of its own."""
    dbt.config(materialized="table")
    int_option_snapshots, window_minutes = dbt.ref("int_option_snapshots"), dbt.source("pipeline", "window_minutes")  # noqa: F841
    found = session.query(MISSING)
    if not found.limit(1).fetchall():
        # While the venues publish implied volatilities, the numerical libraries are not imported.
        return found.project("snapshot_ms, venue, instrument, null::double as iv")

    import numpy as np
    import pyarrow as pa

    rows = found.to_arrow_table()
    given = [rows[name].to_numpy() for name in ("mark_price_coins", "k", "years", "call")]
    volatility = implied(*given)
    columns = rows.select(["snapshot_ms", "venue", "instrument"])
    return columns.append_column("iv", pa.array(np.where(np.isnan(volatility), None, volatility), pa.float64()))
