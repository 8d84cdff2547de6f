"""The exception for data that cannot be read now."""


class Unavailable(Exception):
    """The data cannot be read now. `missing`: it does not exist yet; otherwise it exists and is unreadable."""

    def __init__(self, reason: str, missing: bool = False) -> None:
        super().__init__(reason)
        self.missing = missing
