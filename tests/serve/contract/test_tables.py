"""Tables in other forms: the rows of the JSON, with types that follow from the declared schema."""

import csv
import io
import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from serve.contract.endpoint import REGISTRY, endpoint
from serve.contract.schemas import INTEGER_OR_NULL, NUMBER_OR_NULL, TEXT, array_of, object_of
from serve.contract.serialize import json_body
from serve.contract.tables import MEDIA, arrow_type, body_of_rows
from serve.endpoints import all_endpoints
from tests.support.servers.api_server import Api, some_address

all_endpoints()
# Path and query of each endpoint with a table, and the field with its rows.
TABLES = {
    "/api/spikes?range=24h": "spikes",
    "/api/xray": "rows",
    "/api/markets": "coins", "/api/liquidations": "coins", "/api/long-short": "coins",
    "/api/open-interest-acceleration": "rows", "/api/options/BTC": "expiries", "/api/options/BTC/iv": "expiries",
    "/api/options/BTC/smile": "strikes", "/api/order-book-depth/binance:perp:BTCUSDT": "levels",
    "/api/accuracy": "rows", "/api/funding-percentiles": "rows", "/api/funding-persistence": "rows",
    "/api/venues": "venues", "/api/new-listings": "listings",
    "/api/perp-dex-ranking": "venues", "/api/coverage?window=90d": "rows", "/api/gaps": "rows",
    "/api/bulk": "rows",
}  # fmt: skip


def template(path: str) -> str:
    """The path of the endpoint that a request is for."""
    return path.partition("?")[0].replace("binance:perp:BTCUSDT", "{market}").replace("BTC", "{coin}")


def get(api: Api, path: str, form: str) -> bytes:
    answer = api.get(f"{path}{'&' if '?' in path else '?'}format={form}", X_Forwarded_For=some_address())
    assert answer.status == 200, answer.body
    return answer.body


def plain(value: Any) -> Any:
    """Arrow's Python values as JSON has them: a map is a list of pairs in Arrow."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, list) and value and all(isinstance(one, tuple) for one in value):
        return {name: plain(one) for name, one in value}
    return [plain(one) for one in value] if isinstance(value, list) else value


def without_null(value: Any) -> Any:
    """A field that a row leaves out is null in a table, and a map without entries is a list without pairs."""
    if isinstance(value, dict):
        return {name: without_null(one) for name, one in value.items() if without_null(one) not in (None, {}, [])}
    return [without_null(one) for one in value] if isinstance(value, list) else value


@pytest.mark.requirement("tables:formats")
def test_all_tables_are_tried() -> None:
    # Those two make tables of many rows by themselves, without a Python object for each value.
    declared = {path for path, item in REGISTRY.items() if "text/csv" in item.media} - {
        "/api/series/{metric}",
        "/api/instruments",
    }
    assert {template(path) for path in TABLES} == declared


@pytest.mark.requirement("tables:formats")
@pytest.mark.parametrize("path", TABLES)
def test_every_form_has_the_rows_of_the_json(api: Api, path: str) -> None:
    content = json.loads(get(api, path, "json"))
    rows = content[TABLES[path]]
    item = REGISTRY[template(path)]
    schema = item.schema
    assert not callable(schema)
    properties = schema["properties"][TABLES[path]]["items"]["properties"]
    tables = (
        pq.read_table(io.BytesIO(get(api, path, "parquet"))),
        pa.ipc.open_stream(io.BytesIO(get(api, path, "arrow"))).read_all(),
    )
    for table in tables:
        assert dict(zip(table.schema.names, table.schema.types, strict=True)) == {
            name: arrow_type(one) for name, one in properties.items()
        }
        assert without_null([plain(row) for row in table.to_pylist()]) == without_null(rows)
        beside = json.loads(table.schema.metadata[b"tidemark"])
        assert set(content) - {TABLES[path]} <= set(beside)
        assert beside["source"]
    comment, _, sheet = get(api, path, "csv").decode().partition("\n")
    assert comment == f"# source: {item.path}@e1842"
    reader = csv.DictReader(io.StringIO(sheet))
    assert reader.fieldnames == list(properties)
    for cells, row in zip(reader, rows, strict=True):
        for name, cell in cells.items():
            value = row.get(name)
            assert (cell if isinstance(value, str) else json.loads(cell) if cell else None) == value


@pytest.mark.requirement("tables:formats")
def test_most_tables_have_rows(api: Api) -> None:
    """The comparison above says nothing of a table without any."""
    empty = {path for path, name in TABLES.items() if not json.loads(get(api, path, "json"))[name]}
    assert len(empty) < 4, empty


ROW = object_of({"name": TEXT, "n": INTEGER_OR_NULL, "v": NUMBER_OR_NULL,
    "by": {"type": "object", "additionalProperties": NUMBER_OR_NULL},
    "parts": array_of(object_of({"n": INTEGER_OR_NULL})), "never": {"type": "null"},
    "state": {"enum": ["ok", None]}})  # fmt: skip


@pytest.mark.requirement("tables:formats")
def test_types_are_the_same_without_rows_and_with_nulls() -> None:
    """And text with commas, quotes and line ends, or in another script, is one cell."""
    rows = [
        {
            "name": 'a,"b"\nc',
            "n": None,
            "v": 1,
            "by": {"x": None, "y": 2},
            "parts": [{"n": 1}, {"n": None}],
            "state": None,
        },
        {"name": "币", "n": 2**53, "v": 1e-300, "by": {}, "parts": [], "state": "ok"},
        {"name": "=1+1"},
    ]
    types = []
    for some in (rows, []):
        made = body_of_rows({"rows": list(some), "as_of": 5}, "rows", ROW, "parquet", "s")
        table = pq.read_table(io.BytesIO(made.data))
        types.append(table.schema.types)
        assert [row["v"] for row in table.to_pylist()] == [1.0, 1e-300, None][: len(some)]
        assert json.loads(table.schema.metadata[b"tidemark"]) == {"as_of": 5, "source": "s"}
    assert types[0] == types[1]
    sheet = body_of_rows({"rows": rows}, "rows", ROW, "csv", "s").data.decode().partition("\n")[2]
    read = list(csv.DictReader(io.StringIO(sheet)))
    assert [row["name"] for row in read] == ['a,"b"\nc', "币", "=1+1"]
    assert (read[0]["v"], read[0]["n"], read[0]["parts"]) == ("1", "", '[{"n":1},{"n":null}]')


@pytest.mark.requirement("tables:formats")
def test_a_schema_without_one_type_is_refused() -> None:
    assert arrow_type({"type": ["integer", "number", "null"]}) == pa.float64()
    assert arrow_type({"const": 5}) == pa.int64()
    with pytest.raises(ValueError, match="no single type"):
        arrow_type({"type": ["string", "number"]})
    with pytest.raises(ValueError, match="leave one of the two out"):
        endpoint("/nowhere", ttl=1, schema=ROW, table="rows", offline=lambda *_: json_body({}))(_no_rows)
    assert "/nowhere" not in REGISTRY


def _no_rows(*_: object) -> Any:
    """No rows."""


@pytest.mark.requirement("tables:refused")
def test_an_unknown_form_is_refused_with_those_that_there_are(api: Api) -> None:
    answer = api.get("/api/markets?format=xlsx", X_Forwarded_For=some_address())
    assert answer.status == 400
    assert all(form in answer.json["error"] for form in ("json", "csv", "parquet", "arrow"))
    assert set(MEDIA) < set(REGISTRY["/api/markets"].media)
