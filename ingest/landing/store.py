"""Where a landing is: a folder, or an object store that speaks S3, which fsspec, dlt and DuckDB reach alike.

Credentials, region and endpoint come from where every S3 client has them, read by botocore: `AWS_ACCESS_KEY_ID` and
`AWS_SECRET_ACCESS_KEY` (`AWS_SESSION_TOKEN`), a profile of `~/.aws` (`AWS_PROFILE`) or the machine's role;
`AWS_DEFAULT_REGION`; `AWS_ENDPOINT_URL_S3` or `AWS_ENDPOINT_URL` for a store of one's own. Such a store is asked with
the bucket in the path, and AWS with the bucket in the host name, unless a profile's `addressing_style` says otherwise.
"""

import importlib.util
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import duckdb
import fsspec

S3 = "s3://"
HTTPFS = "duckdb_extension_httpfs"
SECRET = "tidemark_landing"
# A store that does not answer holds up the landing, not the recording: rows wait in the journal.
CONNECT_S, READ_S, ATTEMPTS = 10, 60, 3


class StoreFault(Exception):
    """A landing cannot be reached; the message is one line that says why, and what to set."""


class StoreDown(StoreFault):
    """It may work later, as it is."""


@dataclass(frozen=True)
class ObjectStore:
    """How this machine reaches S3, without its credentials, which a role renews by itself."""

    session: Any
    endpoint: str | None
    region: str
    style: str

    def credentials(self) -> Any:
        """Access key, secret key and token of now; StoreFault without any."""
        found = self.session.get_credentials()
        if found is None:
            raise StoreFault(
                "no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE to a profile of ~/.aws"
            )
        return found.get_frozen_credentials()

    @property
    def config(self) -> dict[str, Any]:
        """The settings of botocore's clients."""
        chosen: dict[str, Any] = {
            "s3": {"addressing_style": self.style},
            "connect_timeout": CONNECT_S,
            "read_timeout": READ_S,
            "retries": {"mode": "standard", "max_attempts": ATTEMPTS},
        }
        if self.endpoint:
            # Not every store knows the checksums that AWS takes by default.
            chosen |= dict.fromkeys(("request_checksum_calculation", "response_checksum_validation"), "when_required")
        return chosen


@cache
def object_store() -> ObjectStore:
    """The object store of this process's environment. botocore takes a third of a second to import."""
    from botocore.configprovider import ConfiguredEndpointProvider
    from botocore.exceptions import BotoCoreError
    from botocore.session import get_session

    session = get_session()
    try:
        profile = session.get_scoped_config()
        endpoint = ConfiguredEndpointProvider(session.full_config, profile, "s3", os.environ).provide()
        region = session.get_config_variable("region") or "us-east-1"
    except BotoCoreError as error:
        raise StoreFault(str(error)) from error
    style = dict(profile.get("s3") or {}).get("addressing_style") or "auto"
    if style == "auto":
        style = "path" if endpoint else "virtual"
    return ObjectStore(session, endpoint, region, style)


def is_remote(landing: str) -> bool:
    """Whether it is in an object store."""
    return landing.startswith(S3)


def open_store(landing: str) -> tuple[Any, str]:
    """The fsspec filesystem of a landing or of one of its files, and the path in it."""
    if not is_remote(landing):
        found: tuple[Any, str] = fsspec.core.url_to_fs(landing)
        return found
    store = object_store()
    store.credentials()
    options: dict[str, Any] = {"client_kwargs": {"region_name": store.region}, "config_kwargs": store.config}
    # Other processes, dlt and DuckDB write there too: what was listed before may be different now.
    options["use_listings_cache"] = False
    remote: tuple[Any, str] = fsspec.core.url_to_fs(landing, endpoint_url=store.endpoint, **options)
    return remote


def destination(parent: str, **options: Any) -> Any:
    """dlt's filesystem destination in a folder or bucket."""
    import dlt

    if is_remote(parent):
        from dlt.common.configuration.specs import AwsCredentials

        store = object_store()
        keys = store.credentials()
        options["credentials"] = AwsCredentials(
            aws_access_key_id=keys.access_key,
            aws_secret_access_key=keys.secret_key,
            aws_session_token=keys.token,
            region_name=store.region,
            endpoint_url=store.endpoint,
        )
        options["kwargs"] = {"config_kwargs": store.config}
    return dlt.destinations.filesystem(bucket_url=parent or "/", **options)


def give_access(con: duckdb.DuckDBPyConnection, files: Iterable[str]) -> None:
    """Let a connection read and write these files, if one of them is in an object store."""
    if not any(map(is_remote, files)):
        return
    if con.execute(f"select 1 from duckdb_secrets() where name = '{SECRET}'").fetchone():
        return
    store = object_store()
    keys, at = store.credentials(), urlsplit(store.endpoint or "")
    con.execute(f"load '{_literal(extension(HTTPFS))}'")
    values = {
        "key_id": keys.access_key,
        "secret": keys.secret_key,
        "session_token": keys.token,
        "region": store.region,
        "endpoint": f"{at.netloc}{at.path}".rstrip("/"),
        "url_style": "path" if store.style == "path" else "vhost",
    }
    listed = ", ".join(f"{name} '{_literal(value)}'" for name, value in values.items() if value)
    con.execute(f"create secret {SECRET} (type s3, {listed}, use_ssl {str(at.scheme != 'http').lower()})")


def prove_writable(landing: str) -> None:
    """Write an object and delete it; StoreFault if the store does not let this machine, StoreDown if it cannot."""
    try:
        filesystem, root = open_store(landing)
        probe = f"{root}/.writable-{os.getpid()}"
        filesystem.pipe_file(probe, b"")
        filesystem.rm_file(probe)
    except StoreFault:
        raise
    except Exception as error:
        refused = isinstance(error, PermissionError | FileNotFoundError)
        raise (StoreFault if refused else StoreDown)(reason_of(error)) from error


def is_no_bucket(error: FileNotFoundError) -> bool:
    """Whether the bucket does not exist, and not a folder or an object in it."""
    response: Any = getattr(error.__cause__, "response", None) or {}
    return bool(response.get("Error", {}).get("Code") == "NoSuchBucket")


def reason_of(error: BaseException) -> str:
    """One line: the innermost reason of what fsspec, a store's client or dlt raised."""
    refused = False
    while error.__cause__ is not None:
        refused |= isinstance(error, PermissionError)
        error = error.__cause__
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    lines = str(error).strip().splitlines()
    reason = lines[-1] if lines else repr(error)
    return f"{reason} (the store does not know these keys, or does not let them)" if refused else reason


def extension(package: str) -> str:
    """The file of an extension of DuckDB from its Python package, which has DuckDB's version."""
    found = importlib.util.find_spec(package)
    for folder in (found.submodule_search_locations or []) if found else []:
        for file in Path(folder).rglob("*.duckdb_extension"):
            return str(file)
    name = package.removeprefix("duckdb_extension_")
    raise StoreFault(f"DuckDB needs its extension {name}: pip install 'tidemark[lake]'")


def _literal(text: str) -> str:
    return text.replace("'", "''")
