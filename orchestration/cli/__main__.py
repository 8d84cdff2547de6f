"""`python -m orchestration.cli`: the `tidemark` command of this checkout, whatever is installed."""

from orchestration.cli.main import main

main()
