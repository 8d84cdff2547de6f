"""The `tidemark` command: one function per command; each imports what it needs when it runs."""
