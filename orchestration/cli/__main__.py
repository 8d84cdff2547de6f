"""`python -m orchestration.cli`: the `tidemark` command of this checkout, even if another version is installed."""

from orchestration.cli.main import main

main()
