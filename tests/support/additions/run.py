"""Records, builds, publishes and serves one minute of the venue `toy`, and prints the recorded body and the responses.

Arguments: the home, then paths of the API or names of tools.
"""

import json
import sys
from pathlib import Path

from ingest.venues import VENUES
from tests.support.pipeline.product_minutes import Moment, Product
from tests.support.servers.mcp_calls import Mcp
from tests.support.start import start_ms

if __name__ == "__main__":
    home, *asked = sys.argv[1:]
    product = Product(Path(home))
    product.record([venue for venue in VENUES if venue.name == "toy"], [Moment(start_ms())])
    with product.served() as api:
        mcp = Mcp(api)
        answers = [api.get(path).json if path.startswith("/") else mcp.call(path, {}) for path in asked]
    [(_, [recorded])] = product.bodies("toy", "perp_tickers")
    print(json.dumps([recorded, *answers]))
