"""The published replica as the server reads it: the edition, its metric definitions, its gaps."""
