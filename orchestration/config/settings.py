"""Every setting of Tidemark: its name, default and meaning, read from the environment and validated once.

This is the only module that reads the environment. It has no slow imports, so that a wrong setting is reported at once.
"""

import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from orchestration.config import places
from orchestration.config.logs import FORMATS
from orchestration.config.places import SettingsError, text_of

REPOSITORY = Path(__file__).resolve().parents[2]
WAREHOUSE = "warehouse.duckdb"
UNIVERSES = ("small", "full", "triple")
MCP_REVISIONS = ("2025-11-25", "2026-07-28")
MEMORY = re.compile(r"(?P<number>[1-9][0-9]*(\.[0-9]+)?)(?P<unit>[KMGT]i?B)")
CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")
# A window's models wait for each other: more than these find little to do.
MOST_MODELS = 4
CONTAINER_CPU = Path("/sys/fs/cgroup/cpu.max")
HOST = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")

CONTACT = re.compile(r"(mailto:[^\s@]+@[^\s@]+|https://[^\s/]\S*)")

OFF, ON, ALL = "off", "on", "all"
# Without end they would double the disk of the landing.
STAGED_DAYS = "30"


class Setting(NamedTuple):
    """One environment variable; `default` is the text shown in the documentation."""

    name: str
    default: str
    meaning: str


SETTINGS = (
    Setting("TIDEMARK_HOME", "./data", "Folder of all state: landing, warehouse, replicas, recorder, logs."),
    Setting(
        "TIDEMARK_API_HOST",
        "127.0.0.1",
        "Address on which the API listens: `0.0.0.0` or `::` for all of this machine's, which needs a reverse proxy.",
    ),
    Setting("TIDEMARK_API_PORT", "8080", "Port of the API."),
    Setting(
        "TIDEMARK_DAGSTER_HOST",
        "127.0.0.1",
        "Address on which the Dagster UI listens. It has no login: another address is for a container's own network.",
    ),
    Setting("TIDEMARK_DAGSTER_PORT", "3000", "Port of the Dagster UI."),
    Setting("TIDEMARK_SANDBOX_HOST", "127.0.0.1", "Address on which the simulated exchanges listen (demo only)."),
    Setting("TIDEMARK_SANDBOX_PORT", "9100", "Port of the simulated exchanges (demo only)."),
    Setting(
        "TIDEMARK_UNIVERSE",
        "small",
        "Size of the simulated market: `small` (about 40 coins), `full` (about 2,000 coins) or, as a test of load, "
        "`triple` (three times as many).",
    ),
    Setting(
        "TIDEMARK_LANDING",
        "<home>/landing",
        "Where raw responses land: a folder, or one in an object store, such as `s3://bucket/tidemark`.",
    ),
    Setting(
        "TIDEMARK_WAREHOUSE",
        "<home>/warehouse.duckdb",
        "The warehouse that dbt builds: a DuckDB file; `ducklake:postgres:<connection>` for a lake whose catalog is in "
        "that PostgreSQL database, such as `ducklake:postgres:dbname=lake host=db.example.org`; or `md:<name>` for "
        "MotherDuck.",
    ),
    Setting(
        "TIDEMARK_LAKE_DATA",
        "<home>/lake",
        "Where a lake has its rows: a folder, or one in an object store, such as `s3://bucket/lake`. It is fixed when "
        "the lake is made.",
    ),
    Setting(
        "TIDEMARK_BUILD_THREADS",
        "all cores",
        "DuckDB's threads in a build, a publish and upkeep; quality checks have half. A build has as many models at "
        "once, at most four, and one in a lake.",
    ),
    Setting(
        "TIDEMARK_BUILD_MEMORY",
        "a quarter of the memory",
        "DuckDB's memory in a build, a publish and upkeep, such as `4GB`; beyond it DuckDB goes to disk. "
        "Quality checks have half.",
    ),
    Setting(
        "TIDEMARK_BULK_DAYS",
        "all",
        "Days of Parquet files that `/api/bulk` keeps: a whole number, or `all`; `off` writes none.",
    ),
    Setting(
        "TIDEMARK_STAGED_DAYS",
        STAGED_DAYS,
        "Days of staged rows that are kept beside the landing, for rebuilds: a whole number, or `all`; "
        "`off` keeps none.",
    ),
    Setting(
        "TIDEMARK_VENUES_URL",
        "unset",
        "Prefix of simulated exchanges such as `http://127.0.0.1:9100`; unset means the real exchanges.",
    ),
    Setting(
        "TIDEMARK_API_LANDING",
        "the landing, if it is a folder",
        "Folder of the landing as the API finds it, for the raw responses of `/api/explain`; `off` shows none.",
    ),
    Setting(
        "TIDEMARK_API_MINUTES",
        "the folder beside the warehouse",
        "Folder of the minutes of the archives' files as the API finds it; `off` serves none.",
    ),
    Setting(
        "TIDEMARK_API_WORKERS",
        "1, or half of the cores with Redis",
        "Processes of the API on its port; more than one need Redis.",
    ),
    Setting(
        "TIDEMARK_REDIS_URL",
        "unset",
        "Redis such as `redis://127.0.0.1:6379/0`, where API workers and hosts share request counters and answers.",
    ),
    Setting(
        "TIDEMARK_TRUSTED_PROXIES",
        "unset",
        "Addresses or networks of reverse proxies, comma-separated, whose `X-Forwarded-For` names the client.",
    ),
    Setting(
        "TIDEMARK_PUBLIC_HOSTS",
        "unset",
        "Host names, comma-separated, under which a reverse proxy publishes `/mcp` or Dagster's UI; these answer no "
        "other `Host` or `Origin` than these and this machine's own.",
    ),
    Setting(
        "TIDEMARK_LOG_FORMAT",
        "text",
        "Form of log lines: `text`, or `json` for log collectors; each line about a minute has the field `minute`.",
    ),
    Setting(
        "TIDEMARK_MCP_REVISION",
        "2025-11-25",
        "Newest protocol revision that `/mcp` speaks: `2025-11-25`, which includes `2025-06-18`, or `2026-07-28` as "
        "well.",
    ),
    Setting(
        "TIDEMARK_MCP_SQL",
        "off",
        "`on`: the tool `sql_query` of `/mcp` runs read-only SQL that clients send, on the newest edition.",
    ),
    Setting(
        "TIDEMARK_SECURITY_CONTACT",
        "unset",
        "Whom `/.well-known/security.txt` names: `mailto:` with an address, or an `https://` URL.",
    ),
)


@dataclass(frozen=True)
class Settings:
    """All settings, validated; every path is absolute."""

    home: Path
    landing: str
    warehouse: str
    lake_data: str
    build_threads: int
    build_memory: str
    api_host: str
    api_port: int
    dagster_host: str
    dagster_port: int
    sandbox_host: str
    sandbox_port: int
    universe: str
    bulk_days: int | None
    staged_days: int | None
    venues_url: str | None
    api_landing: Path | None
    api_minutes: Path | None
    api_workers: int
    redis_url: str | None
    trusted_proxies: tuple[str, ...]
    public_hosts: tuple[str, ...]
    mcp_revision: str
    mcp_sql: bool
    security_contact: str
    log_format: str

    @property
    def api_url(self) -> str:
        """The API as this machine finds it."""
        return f"http://{reachable(self.api_host)}:{self.api_port}"

    @property
    def dagster_url(self) -> str:
        """The Dagster UI as this machine finds it."""
        return f"http://{reachable(self.dagster_host)}:{self.dagster_port}"

    @property
    def sandbox_url(self) -> str:
        """The simulated exchanges as this machine finds them."""
        return f"http://{reachable(self.sandbox_host)}:{self.sandbox_port}"

    @property
    def keys(self) -> Path:
        return self.home / "keys.json"

    @property
    def serving(self) -> Path:
        return self.home / "serving"

    @property
    def recorder(self) -> Path:
        return self.home / "recorder"

    @property
    def backfill(self) -> Path:
        return self.home / "backfill"

    @property
    def backfill_status(self) -> Path:
        """A copy of the backfill's progress in the one folder of this home that the API reads."""
        return self.serving / "backfill.json"

    @property
    def dbt_target(self) -> Path:
        return self.home / "dbt" / "target"

    @property
    def dbt_logs(self) -> Path:
        return self.home / "dbt" / "logs"

    @property
    def docs(self) -> Path:
        return self.home / "docs"

    @property
    def quality(self) -> Path:
        return self.home / "quality"

    @property
    def quality_docs(self) -> Path:
        return self.quality / "docs"

    @property
    def dagster_home(self) -> Path:
        return self.home / "dagster"

    @property
    def bulk(self) -> Path:
        """The folder of Parquet files that /api/bulk serves."""
        return self.home / "bulk"

    @property
    def metrics(self) -> Path:
        """The folder of the files that processes write for Prometheus, in its text format; /metrics shows them all."""
        return self.home / "metrics"

    @property
    def logs(self) -> Path:
        return self.home / "logs"

    @property
    def minutes(self) -> Path:
        """The folder into which builds write the minutes of files, as the macro `minutes_folder` has it."""
        return _minutes(self.home, self.warehouse)

    @property
    def build_resources(self) -> Mapping[str, str | int]:
        """DuckDB's configuration for a connection to the warehouse: threads and memory."""
        return {"threads": self.build_threads, "memory_limit": self.build_memory}

    @property
    def models_at_once(self) -> int:
        """How many models dbt builds at a time. One in a lake, whose catalog two at a time were not tried with."""
        return 1 if places.is_lake(self.warehouse) else min(self.build_threads, MOST_MODELS)

    @property
    def quality_resources(self) -> Mapping[str, str | int]:
        """DuckDB's configuration for the quality checks: half of a build's, because a build may run meanwhile."""
        return {"threads": max(1, self.build_threads // 2), "memory_limit": self.memory_of_each(2)}

    def memory_of_each(self, parts: int) -> str:
        """A build's memory limit divided by so many."""
        memory = MEMORY.fullmatch(self.build_memory)
        assert memory
        return f"{float(memory['number']) / parts:f}{memory['unit']}"

    @classmethod
    def from_env(cls, env: Mapping[str, str] = os.environ) -> "Settings":
        """Read and validate the TIDEMARK_* variables; raises SettingsError for the first wrong one."""
        home = places.folder(env, "TIDEMARK_HOME", Path("data"))
        redis_url = places.redis(env, "TIDEMARK_REDIS_URL")
        ports = _ports(env, "TIDEMARK_API_PORT", "TIDEMARK_DAGSTER_PORT", "TIDEMARK_SANDBOX_PORT")
        landing = places.location(env, "TIDEMARK_LANDING", home / "landing")
        warehouse = places.warehouse(env, "TIDEMARK_WAREHOUSE", home / WAREHOUSE)
        return cls(
            home=home,
            landing=landing,
            warehouse=warehouse,
            lake_data=places.location(env, "TIDEMARK_LAKE_DATA", home / "lake"),
            build_threads=_threads(env, "TIDEMARK_BUILD_THREADS"),
            build_memory=_memory(env, "TIDEMARK_BUILD_MEMORY"),
            api_host=_address(env, "TIDEMARK_API_HOST"),
            api_port=ports[0],
            dagster_host=_address(env, "TIDEMARK_DAGSTER_HOST"),
            dagster_port=ports[1],
            sandbox_host=_address(env, "TIDEMARK_SANDBOX_HOST"),
            sandbox_port=ports[2],
            universe=_choice(env, "TIDEMARK_UNIVERSE", UNIVERSES),
            bulk_days=_days(env, "TIDEMARK_BULK_DAYS", ALL),
            staged_days=_days(env, "TIDEMARK_STAGED_DAYS", STAGED_DAYS),
            venues_url=places.web(env, "TIDEMARK_VENUES_URL"),
            api_landing=_api_folder(env, "TIDEMARK_API_LANDING", None if "://" in landing else Path(landing)),
            api_minutes=_api_folder(env, "TIDEMARK_API_MINUTES", _minutes(home, warehouse)),
            api_workers=_workers(env, "TIDEMARK_API_WORKERS", redis_url),
            redis_url=redis_url,
            trusted_proxies=_networks(env, "TIDEMARK_TRUSTED_PROXIES"),
            public_hosts=_hosts(env, "TIDEMARK_PUBLIC_HOSTS"),
            mcp_revision=_choice(env, "TIDEMARK_MCP_REVISION", MCP_REVISIONS),
            security_contact=_contact(env, "TIDEMARK_SECURITY_CONTACT"),
            mcp_sql=_choice(env, "TIDEMARK_MCP_SQL", (OFF, ON)) == ON,
            log_format=_choice(env, "TIDEMARK_LOG_FORMAT", FORMATS),
        )

    def environ(self) -> dict[str, str]:
        """These settings as environment variables, from which another process with any working folder reads the same
        settings."""
        return {
            "TIDEMARK_HOME": str(self.home),
            "TIDEMARK_LANDING": self.landing,
            "TIDEMARK_WAREHOUSE": self.warehouse,
            "TIDEMARK_LAKE_DATA": self.lake_data,
            "TIDEMARK_BUILD_THREADS": str(self.build_threads),
            "TIDEMARK_BUILD_MEMORY": self.build_memory,
            "TIDEMARK_API_HOST": self.api_host,
            "TIDEMARK_API_PORT": str(self.api_port),
            "TIDEMARK_DAGSTER_HOST": self.dagster_host,
            "TIDEMARK_DAGSTER_PORT": str(self.dagster_port),
            "TIDEMARK_SANDBOX_HOST": self.sandbox_host,
            "TIDEMARK_SANDBOX_PORT": str(self.sandbox_port),
            "TIDEMARK_UNIVERSE": self.universe,
            "TIDEMARK_BULK_DAYS": ALL if self.bulk_days is None else str(self.bulk_days or OFF),
            "TIDEMARK_STAGED_DAYS": ALL if self.staged_days is None else str(self.staged_days or OFF),
            "TIDEMARK_VENUES_URL": self.venues_url or "",
            "TIDEMARK_API_LANDING": str(self.api_landing or OFF),
            "TIDEMARK_API_MINUTES": str(self.api_minutes or OFF),
            "TIDEMARK_API_WORKERS": str(self.api_workers),
            "TIDEMARK_REDIS_URL": self.redis_url or "",
            "TIDEMARK_TRUSTED_PROXIES": ",".join(self.trusted_proxies),
            "TIDEMARK_PUBLIC_HOSTS": ",".join(self.public_hosts),
            "TIDEMARK_MCP_REVISION": self.mcp_revision,
            "TIDEMARK_MCP_SQL": ON if self.mcp_sql else OFF,
            "TIDEMARK_SECURITY_CONTACT": self.security_contact,
            "TIDEMARK_LOG_FORMAT": self.log_format,
        }


def _api_folder(env: Mapping[str, str], name: str, usual: Path | None) -> Path | None:
    text = text_of(env, name)
    if text == OFF or (not text and usual is None):
        return None
    return places.folder(env, name, usual or Path())


def _minutes(home: Path, warehouse: str) -> Path:
    return (Path(warehouse).parent if places.is_file(warehouse) else home) / "minutes"


def reachable(host: str) -> str:
    """An address to listen on, as a URL of this machine has it."""
    address = ipaddress.ip_address(host)
    if address.is_unspecified:
        address = ipaddress.ip_address("127.0.0.1" if address.version == 4 else "::1")
    return str(address) if address.version == 4 else f"[{address}]"


def _address(env: Mapping[str, str], name: str) -> str:
    text = text_of(env, name) or "127.0.0.1"
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise SettingsError(
            f"{name} is {text!r}, but it must be an address of this machine, such as '127.0.0.1' or '0.0.0.0'."
        ) from None


def _port(env: Mapping[str, str], name: str) -> int:
    text = text_of(env, name) or next(setting.default for setting in SETTINGS if setting.name == name)
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= 65535):
        raise SettingsError(f"{name} is {text!r}, but a port must be a whole number from 1 to 65535.")
    return int(text)


def _ports(env: Mapping[str, str], *names: str) -> list[int]:
    taken: dict[int, str] = {}
    for name in names:
        port = _port(env, name)
        if port in taken:
            raise SettingsError(f"{name} is '{port}', but {taken[port]} is that port already: they must differ.")
        taken[port] = name
    return list(taken)


def _choice(env: Mapping[str, str], name: str, allowed: tuple[str, ...]) -> str:
    text = text_of(env, name) or allowed[0]
    if text not in allowed:
        raise SettingsError(f"{name} is {text!r}, but it must be one of: {', '.join(allowed)}.")
    return text


def _workers(env: Mapping[str, str], name: str, redis_url: str | None) -> int:
    usual = 1 if redis_url is None else min(64, max(1, machine_cores() // 2))
    text = text_of(env, name) or str(usual)
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= 64):
        raise SettingsError(f"{name} is {text!r}, but it must be a whole number from 1 to 64.")
    if int(text) > 1 and redis_url is None:
        raise SettingsError(f"{name} is {text!r}, but more than 1 need TIDEMARK_REDIS_URL: they share what they count.")
    return int(text)


def _threads(env: Mapping[str, str], name: str) -> int:
    text = text_of(env, name) or str(machine_cores())
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= 1024):
        raise SettingsError(f"{name} is {text!r}, but it must be a whole number from 1 to 1024.")
    return int(text)


def _memory(env: Mapping[str, str], name: str) -> str:
    text = text_of(env, name) or f"{max(1000, machine_bytes() // 4_000_000)}MB"
    if not MEMORY.fullmatch(text):
        raise SettingsError(f"{name} is {text!r}, but it must be a size such as '4GB' or '512MB'.")
    return text


def machine_cores() -> int:
    """The cores that this process may use: of this machine, or as much CPU time as its container has."""
    cores = len(os.sched_getaffinity(0))
    try:
        quota, period = CONTAINER_CPU.read_text().split()
        return max(1, min(cores, -(-int(quota) // int(period))))
    except (OSError, ValueError):  # no container, or the quota `max`
        return cores


def machine_bytes() -> int:
    """The memory of this machine, or of the container that this process runs in."""
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        return min(machine, int(CONTAINER_LIMIT.read_text()))
    except (OSError, ValueError):  # no container, or the value `max`
        return machine


def _days(env: Mapping[str, str], name: str, default: str) -> int | None:
    """A number of days; None for all, 0 for none."""
    text = text_of(env, name) or default
    if text in (ALL, OFF):
        return None if text == ALL else 0
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= 36_500):
        raise SettingsError(f"{name} is {text!r}, but it must be a whole number from 1 to 36500, '{ALL}' or '{OFF}'.")
    return int(text)


def _contact(env: Mapping[str, str], name: str) -> str:
    text = text_of(env, name)
    if text and not CONTACT.fullmatch(text):
        raise SettingsError(
            f"{name} is {text!r}, but it must be 'mailto:security@example.org' or an https:// URL, without spaces."
        )
    return text


def _hosts(env: Mapping[str, str], name: str) -> tuple[str, ...]:
    found = tuple(filter(None, map(str.strip, text_of(env, name).lower().split(","))))
    for text in found:
        if not HOST.fullmatch(text):
            raise SettingsError(
                f"{name} has {text!r}, but it must be host names without a port, such as 'api.example.org'."
            )
    return found


def _networks(env: Mapping[str, str], name: str) -> tuple[str, ...]:
    found = []
    for text in filter(None, map(str.strip, text_of(env, name).split(","))):
        try:
            found.append(str(ipaddress.ip_network(text)))
        except ValueError:
            raise SettingsError(
                f"{name} has {text!r}, but it must be addresses or networks such as '127.0.0.1, 10.0.0.0/8'."
            ) from None
    return tuple(found)
