"""The processes of `tidemark demo` and `tidemark up`: what must hold before they start, and what keeps them running."""
