"""What readers of the replica raise when there is nothing to read."""


class Unavailable(Exception):
    """The data cannot be read now. `missing`: there is no replica; otherwise it is there and cannot be read."""

    def __init__(self, reason: str, missing: bool = False) -> None:
        super().__init__(reason)
        self.missing = missing
