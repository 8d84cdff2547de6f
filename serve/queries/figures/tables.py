"""The tables of an edition, as its dbt project describes them."""

from typing import Any

from serve.replica.edition import Reader

# Views that need a time, and what the server itself reads: no one else can make anything of them.
OF_SERVER = (
    "starts_with(name, 'methodology_') or starts_with(name, 'known_') or "
    "name in ('base_keys', 'copied_views', 'table_states')"
)
RELATIONS = f"""
select name from (
    select table_name as name from duckdb_tables() where not internal
    union all select view_name from duckdb_views() where not internal
) where not ({OF_SERVER})
"""
TABLES = f"""
with relations as ({RELATIONS})
select name, m.description, count(c.column_name) as columns
from relations
join duckdb_columns() as c on c.table_name = name and not c.internal
left join methodology_models as m on m.model = name
group by all order by name
"""
COLUMNS = """
select c.column_name as name, c.data_type as type, {description} as description
from duckdb_columns() as c {join}
where c.table_name = $table and not c.internal order by c.column_index
"""
DESCRIBED = "left join methodology_columns as d on d.model = c.table_name and d.column_name = c.column_name"


def read_tables(db: Reader) -> list[dict[str, Any]]:
    """Name, description (null: none) and number of columns of each table and view."""
    return db.once("tables", lambda: db.rows(TABLES))


def read_columns(db: Reader, table: str) -> list[dict[str, Any]]:
    """Name, type and description (null: none) of each column, in order."""
    # A replica of an earlier version lacks them until the first publish.
    known = db.value("select 1 from duckdb_tables() where table_name = 'methodology_columns'")
    own = {"description": "d.description", "join": DESCRIBED} if known else {"description": "null", "join": ""}
    return db.rows(COLUMNS.format(**own), {"table": table})
