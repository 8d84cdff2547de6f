"""All measurements as tables: `python -m benchmarks`, or `make bench`. See `--help` for less of it."""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import latency, pipeline
from benchmarks.calibration import calibration
from benchmarks.product import table
from orchestration.config.settings import UNIVERSES


def main() -> None:
    """Runs what was chosen and prints a table per subject; `--json FILE` keeps the figures."""
    parser = argparse.ArgumentParser(prog="make bench ARGS=...", description="Measures what has to be fast.")
    parser.add_argument("--only", choices=["latency", "pipeline"], help="one of the two parts (default: both)")
    parser.add_argument("--universe", nargs="+", choices=UNIVERSES, default=["small", "full"])
    parser.add_argument("--days", nargs="+", type=int, default=[1, 30], help="days of history behind the pipeline")
    parser.add_argument("--minutes", type=int, default=5, help="minute boundaries to watch, and minutes to build")
    parser.add_argument("--folder", type=Path, help="where the states are kept meanwhile (default: a temporary one)")
    parser.add_argument("--json", type=Path, help="also write the figures into this file")
    chosen = parser.parse_args()
    tables: dict[str, list[dict[str, Any]]] = {}
    _add(tables, "calibration", {"when": "before", **calibration()})
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        for universe in chosen.universe:
            home = Path(folder) / universe
            home.mkdir()
            if chosen.only != "pipeline":
                for subject, figures in latency.measure(home / "demo", universe, chosen.minutes):
                    _add(tables, subject, figures)
            if chosen.only != "latency":
                for subject, figures in pipeline.measure(home, universe, tuple(chosen.days), chosen.minutes):
                    _add(tables, subject, figures)
    _add(tables, "calibration", {"when": "after", **calibration()})
    for subject, rows in tables.items():
        print(f"\n{subject}\n{table(rows)}")
    if chosen.json:
        chosen.json.write_text(json.dumps(tables, indent=1))


def _add(tables: dict[str, list[dict[str, Any]]], subject: str, figures: dict[str, Any]) -> None:
    print(subject, figures, flush=True)
    tables.setdefault(subject, []).append(figures)


if __name__ == "__main__":
    main()
