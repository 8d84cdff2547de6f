"""Settings that are locations: folders, files and URLs, read from their variables and validated."""

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

LAKE = "ducklake:postgres:"


class SettingsError(ValueError):
    """A setting that cannot work: the message names the variable, its value and what is allowed."""


def text_of(env: Mapping[str, str], name: str) -> str:
    """The value of a variable. An empty value counts as not set, because shells and Makefiles unset variables that
    way."""
    return env.get(name, "").strip()


def folder(env: Mapping[str, str], name: str, default: Path) -> Path:
    text = text_of(env, name)
    if "://" in text:
        raise SettingsError(f"{name} is {text!r}, but it must be a folder on this machine.")
    return _path(name, text or default)


def location(env: Mapping[str, str], name: str, default: Path) -> str:
    text = text_of(env, name)
    if "://" not in text:
        return str(_path(name, text or default))
    if text.startswith("file:///"):
        return str(_path(name, text.removeprefix("file://")))
    if _split(text).scheme != "s3" or not _split(text).netloc:
        raise SettingsError(f"{name} is {text!r}, but it must be a folder or a URL such as 's3://bucket/folder'.")
    return text.rstrip("/")


def warehouse(env: Mapping[str, str], name: str, default: Path) -> str:
    text = text_of(env, name)
    if not is_file(text):
        return text
    if "://" in text or text.startswith("ducklake:"):
        raise SettingsError(
            f"{name} is {text!r}, but it must be a DuckDB file on this machine, 'ducklake:postgres:<connection>' or "
            "'md:<database>'."
        )
    return str(_path(name, text or default))


def is_file(warehouse: str) -> bool:
    """Whether the warehouse is a DuckDB file on this machine."""
    return not warehouse.startswith("md:") and not is_lake(warehouse)


def is_lake(warehouse: str) -> bool:
    """Whether the warehouse is a lake whose catalog is in PostgreSQL."""
    return warehouse.startswith(LAKE)


def web(env: Mapping[str, str], name: str) -> str | None:
    text = text_of(env, name).rstrip("/")
    parts = _split(text)
    fits = parts.scheme in ("http", "https") and parts.hostname and _has_a_port(parts)
    if text and (not fits or parts.query or parts.fragment):
        raise SettingsError(f"{name} is {text!r}, but it must be unset or a URL such as 'http://127.0.0.1:9100'.")
    return text or None


def redis(env: Mapping[str, str], name: str) -> str | None:
    text = text_of(env, name)
    parts = _split(text)
    fits = parts.scheme in ("redis", "rediss", "unix") and text.partition("://")[2] and _has_a_port(parts)
    if text and not fits:
        raise SettingsError(f"{name} is {text!r}, but it must be unset or a URL such as 'redis://127.0.0.1:6379/0'.")
    return text or None


def _path(name: str, path: Path | str) -> Path:
    try:
        return Path(path).expanduser().absolute()
    except RuntimeError:
        raise SettingsError(
            f"{name} is '{path}', but it must be a path on this machine, and '{Path(path).parts[0]}' is nobody's home."
        ) from None


def _split(url: str) -> SplitResult:
    """The parts of a URL; all are empty if the text is no URL, for example with an unclosed bracket."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


def _has_a_port(parts: SplitResult) -> bool:
    """Whether the port is valid or left out."""
    try:
        return parts.port != 0
    except ValueError:
        return False
