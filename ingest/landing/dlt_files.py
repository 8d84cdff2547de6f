"""The names that dlt gives to its own files: everything here depends on them, and nothing else does.

dlt documents the tables and the layout of the data files, but not these names. They are used because

- readers of committed loads need no dlt. Its import takes 3 s and 65 MB in each process, and its dataset reads the
  rows of all loads there ever were; with these names the loads after a given one are found in 15 ms among 1,440.
- dlt fails for ever on a landing whose folder exists without its marker file, such as a mounted volume.
- dlt keeps a folder for each finished package. Its public way to find one reads the package first, which fails for a
  package whose deletion was interrupted.

tests/ingest/landing/test_dlt_files.py fails when a version of dlt names them differently.
"""

from pathlib import Path

SCHEMA_NAME = "recorder"
"""Name of the dlt schema of all loads, whichever pipeline lands them."""
LOADS = "_dlt_loads"
"""Folder in the landing with one file per committed load."""
MARKER = "init"
"""File that dlt expects in the landing's folder. It completes an empty one."""


def commit_file(load_id: str) -> str:
    """Name of the file in LOADS that commits a load; its JSON has status 0."""
    return f"{SCHEMA_NAME}__{load_id}.jsonl"


def committed_id(name: str) -> str:
    """The load id of a file in LOADS."""
    return name.rpartition("__")[2].removesuffix(".jsonl")


def data_load_id(name: str) -> str:
    """The load id of a data file, `<load id>.<file id>.parquet`; file ids have no dot."""
    return name.removesuffix(".parquet").rpartition(".")[0]


def finished_packages(state_dir: Path, pipeline: str) -> list[Path]:
    """The folders of the load packages that a pipeline has finished."""
    return list((state_dir / pipeline / "load" / "loaded").glob("*"))
