"""Bulk files of the small replica, written as the product writes them."""

import shutil
from collections.abc import Collection
from pathlib import Path

import duckdb

from orchestration.config.settings import Settings
from orchestration.publish.bulk import Written, write_bulk, write_folder
from tests.support.pipeline.dbt_project import give_parsed, write_manifest
from tests.support.pipeline.marts import quiet
from tests.support.pipeline.pipeline_home import settings_for
from tests.support.pipeline.shared import shared
from tests.support.replica.replica import publish

EDITION = 1842


def bulk_home(home: Path, max_days: int, tables: Collection[str] = (), finest_days: int = 3000) -> Settings:
    """A home with an edition of the small replica and its bulk files: of these tables (else all), and of at most
    `finest_days` where a day has a file. Written once in a run."""
    name = f"{max_days}_{finest_days}_{'-'.join(sorted(tables))}"
    with shared("bulk") as folder:
        if not (made := folder / name).exists():
            settings = settings_for(folder / f"{name}.new")
            replica = publish(settings.serving, EDITION, max_days=max_days)
            with duckdb.connect(str(replica)) as con:
                con.execute("create table publish_state as select 1 as build_id, 1 as finished_ms")
                first = f"(select as_of_ms - {finest_days} * 86400000::bigint from edition)"
                for step in ("1m", "5m", "15m", "1h"):
                    con.execute(f"delete from series_market_{step} where t < {first}")
                    con.execute(f"delete from series_base_{step} where t < {first}")
            write_again(settings, tables)
            settings.home.rename(made)
        shutil.copytree(made, home, dirs_exist_ok=True, copy_function=_link)
    return settings_for(home)


def _link(source: str, target: str) -> None:
    """Bulk files are two names of one file, and are never written again; a replica may be."""
    if source.endswith(".parquet"):
        Path(target).hardlink_to(source)
    else:
        shutil.copy2(source, target)


def write_again(settings: Settings, tables: Collection[str] = ()) -> Written:
    """A further pass over a home."""
    if not tables:
        give_parsed(settings)
        return write_bulk(settings, quiet)
    manifest = settings.home / "manifest.json"
    write_manifest(manifest, {}, tables)
    return write_folder(settings, manifest, quiet)
