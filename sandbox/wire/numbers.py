"""Numbers as the venues write and read them: decimals with or without trailing zeros, whole numbers of a query."""


def trimmed(value: float, decimals: int) -> str:
    """A decimal without trailing zeros: 113080, 0.0001."""
    # Bodies consist of these: this takes a third less time than an f-string.
    text = "%.*f" % (decimals, value)  # noqa: UP031
    return text.rstrip("0").rstrip(".") if decimals else text


def pointed(value: float, decimals: int) -> str:
    """A decimal without trailing zeros but always with a point: 113080.0, 0.0000125."""
    text = trimmed(value, decimals)
    return text if "." in text else text + ".0"


def whole(query: dict[str, str], name: str) -> int | None:
    """A whole number from the query, None if absent; ValueError names the parameter if it is not one."""
    text = query.get(name)
    if text is None or text == "":
        return None
    try:
        return int(text)
    except ValueError:
        raise ValueError(name) from None
