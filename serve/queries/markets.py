"""One coin of the markets snapshot."""

from typing import Any

import orjson

from serve.contract.serialize import strict_json
from serve.replica.edition import Reader


def read_coin(db: Reader, base: str) -> dict[str, Any] | None:
    """The coin's entry of /api/markets, by its canonical name; None if it is not listed now."""
    text = db.value("select to_json(m)::varchar from (select * from markets where base = ? limit 1) as m", [base])
    return orjson.loads(strict_json(text.encode())) if text else None
