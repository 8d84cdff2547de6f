"""The wheel: what `pip install` of it puts beside each other is what a checkout has."""

import subprocess
import sys
import zipfile
from pathlib import Path

from orchestration.config.settings import REPOSITORY

ROOMS = ("dbt_project", "ingest", "orchestration", "sandbox", "serve")


def test_a_wheel_has_every_file_of_the_rooms_and_the_guide(tmp_path: Path) -> None:
    listed = subprocess.run(["git", "ls-files", *ROOMS], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    copy = tmp_path / "copy"
    # Setuptools leaves its folder `build` behind, and would take what an earlier one left there.
    for name in (*listed.stdout.split(), "pyproject.toml", "README.md", "LICENSE"):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).symlink_to((REPOSITORY / name).resolve())
    words = ("wheel", "--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check", "-w", tmp_path)
    subprocess.run([sys.executable, "-m", "pip", *words, copy], check=True, capture_output=True)
    [wheel] = tmp_path.glob("tidemark-*.whl")
    with zipfile.ZipFile(wheel) as packed:
        names = {name for name in packed.namelist() if ".dist-info/" not in name}
        expected = {name for name in listed.stdout.split() if (REPOSITORY / name).is_file()}
        guide = {
            f"serve/guide/pages/{page.relative_to(REPOSITORY / 'docs')}" for page in REPOSITORY.glob("docs/**/*.*")
        }
        assert names == expected | guide
        for name in sorted(expected):
            assert packed.read(name) == (REPOSITORY / name).read_bytes(), name
        entry = next(name for name in packed.namelist() if name.endswith("entry_points.txt"))
        assert b"tidemark = orchestration.cli.main:main" in packed.read(entry)
