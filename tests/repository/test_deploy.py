"""What is in deploy/: nginx's configuration with a real nginx, units, dashboard and alert rules.

That the names of the dashboard exist is tried on a running demo, in tests/orchestration/cli/test_main.py.
"""

import configparser
import contextlib
import http.client
import json
import re
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from orchestration.config.places import is_lake
from orchestration.config.settings import SETTINGS
from tests.support.replica.replica import publish
from tests.support.servers.api_server import free_port, running, until
from tests.support.servers.scrape import DEPLOY, expressions, used_names

NAME = "mcp.example.org"
SERIES = "/api/series/price?base=BTC&range=6h"


class Proxy:
    """A running nginx: its ports, and a client that trusts its certificate."""

    def __init__(self, folder: Path, plain: int, secure: int) -> None:
        self.plain, self.secure = plain, secure
        self.context = ssl.create_default_context(cafile=str(folder / "cert.pem"))

    @contextlib.contextmanager
    def connection(self, name: str = NAME) -> Iterator[http.client.HTTPSConnection]:
        # By address, under the name that the certificate has.
        raw = socket.create_connection(("127.0.0.1", self.secure), timeout=30)
        with contextlib.closing(http.client.HTTPSConnection(name, timeout=30)) as connection:
            connection.sock = self.context.wrap_socket(raw, server_hostname=name)
            yield connection

    def ask(
        self, path: str, method: str = "GET", body: bytes | None = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        with self.connection() as connection:
            connection.request(method, path, body, {name.replace("_", "-"): text for name, text in headers.items()})
            response = connection.getresponse()
            return response.status, {name.lower(): text for name, text in response.getheaders()}, response.read()


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """nginx with the repository's configuration before a server; only ports, names and files are replaced."""
    nginx = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
    if not nginx or not shutil.which("openssl"):
        pytest.skip("nginx and openssl are not installed here")
    folder = tmp_path_factory.mktemp("nginx")
    subject = ("-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}", "-days", "2", "-nodes")
    files = ("-keyout", folder / "key.pem", "-out", folder / "cert.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", *subject, *files], check=True, capture_output=True
    )
    plain, secure, upstream = free_port(), free_port(), free_port()
    text = (DEPLOY / "nginx" / "tidemark.conf").read_text()
    for before, after in (
        ("listen [::]:", "# listen [::]:"),
        ("listen 80;", f"listen 127.0.0.1:{plain};"),
        ("listen 443 ", f"listen 127.0.0.1:{secure} "),
        ("server 127.0.0.1:8080;", f"server 127.0.0.1:{upstream};"),
        ("/etc/ssl/certs/api.example.org.pem", f"{folder}/cert.pem"),
        ("/etc/ssl/private/api.example.org.key", f"{folder}/key.pem"),
        ("server_name api.example.org", f"server_name {NAME}"),
    ):
        assert before in text, before
        text = text.replace(before, after)
    (folder / "site.conf").write_text(text)
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/pid; error_log {folder}/error.log; events {{ }}\n"
        f"http {{ access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; "
        f"fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s; include site.conf; }}\n"
    )
    publish(folder / "serving", 1)
    with running(folder / "serving", upstream), (folder / "out.log").open("wb") as out:
        process = subprocess.Popen([nginx, "-p", folder, "-c", folder / "nginx.conf"], stdout=out, stderr=out)

        def answers() -> bool:
            assert process.poll() is None, (folder / "out.log").read_text()
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", secure), timeout=1).close()
                return True
            return False

        try:
            until(answers, bool)
            yield Proxy(folder, plain, secure)
        finally:
            process.terminate()
            process.wait(30)


def test_answers_pass_with_their_headers_over_tls(proxy: Proxy) -> None:
    status, headers, body = proxy.ask(SERIES, Accept_Encoding="gzip")
    assert status == 200
    assert headers["strict-transport-security"].startswith("max-age=31536000")
    assert headers["content-encoding"] == "gzip"
    assert headers["ratelimit"].startswith('"series"')
    assert len(body) > 100
    assert proxy.ask(SERIES, Accept_Encoding="gzip", If_None_Match=headers["etag"])[0] == 304
    status, headers, _ = proxy.ask("/docs")
    assert (status, headers["x-content-type-options"]) == (200, "nosniff")


def test_a_client_counts_whatever_it_says_of_its_address(proxy: Proxy) -> None:
    left = [
        int(proxy.ask(f"{SERIES}&end={1000 + n}&start=0", X_Forwarded_For=f"10.0.0.{n}")[1]["x-ratelimit-remaining"])
        for n in range(3)
    ]
    assert left != [left[0]] * 3, "each request is of the same client"


def test_tools_answer_under_the_public_name_with_links_to_it(proxy: Proxy) -> None:
    call = {"name": "market_snapshot", "arguments": {"base": "BTC"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    status, _, body = proxy.ask(
        "/mcp", "POST", json.dumps(message).encode(), Content_Type="application/json", Accept="application/json"
    )
    assert status == 200
    page = json.loads(body)["result"]["structuredContent"]["provenance"]["page"]
    assert page.startswith(f"https://{NAME}/")


def test_a_followed_answer_is_not_held_back(proxy: Proxy) -> None:
    with proxy.connection() as connection:
        connection.request("GET", "/api/events")
        response = connection.getresponse()
        first = response.fp.readline() + response.fp.readline() + response.fp.readline()
    assert response.status == 200
    assert b"retry:" in first


def test_what_is_not_for_everybody_and_what_is_too_large(proxy: Proxy) -> None:
    assert proxy.ask("/metrics")[0] == 404
    assert proxy.ask("/healthz")[0] == 200
    assert proxy.ask("/mcp", "POST", bytes(70_000))[0] == 413
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", proxy.plain, timeout=30)) as plain:
        plain.request("GET", "/api/markets", headers={"Host": NAME})
        answer = plain.getresponse()
        assert (answer.status, answer.headers["location"]) == (308, f"https://{NAME}/api/markets")
    with pytest.raises(ssl.SSLError), proxy.connection("another.example.org"):
        raise AssertionError("another name gets no connection")


@pytest.mark.parametrize("unit", sorted((DEPLOY / "systemd").iterdir()), ids=lambda path: path.name)
def test_units_run_the_command_with_settings_that_there_are(unit: Path) -> None:
    # Reads what systemd reads, but for keys that are given twice, which ours are not.
    read = configparser.ConfigParser(interpolation=None, delimiters=("=",))
    read.optionxform = str  # type: ignore[assignment,method-assign]
    read.read_string(unit.read_text())
    if unit.suffix == ".timer":
        assert read["Install"]["WantedBy"] == "timers.target"
        return
    service = read["Service"]
    assert service["ExecStart"].startswith("/usr/local/lib/tidemark/bin/tidemark ")
    assert service["UMask"] == "0077"
    assert "TIDEMARK_HOME=/var/lib/tidemark" in service["Environment"].split()


def test_dashboard_and_rules_are_whole() -> None:
    assert len(used_names()) > 30
    dashboard = json.loads((DEPLOY / "grafana" / "tidemark.json").read_text())
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    assert all(expression.count("(") == expression.count(")") for expression in expressions())
    [group] = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yml").read_text())["groups"]
    for rule in group["rules"]:
        assert rule["alert"].startswith("Tidemark")
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert rule["annotations"]["summary"]


def test_promtool_accepts_the_rules() -> None:
    promtool = shutil.which("promtool")
    if not promtool:
        pytest.skip("promtool is not installed here")
    subprocess.run([promtool, "check", "config", DEPLOY / "prometheus" / "prometheus.yml"], check=True)


def test_containers_publish_ports_on_this_machine_alone() -> None:
    compose = yaml.safe_load((DEPLOY / "docker" / "compose.yml").read_text())
    profiles = {name: set(service["profiles"]) for name, service in compose["services"].items()}
    assert {profile for named in profiles.values() for profile in named} == {"demo", "single", "several", "cluster"}
    for name, service in compose["services"].items():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ())), name
        if service["image"] == "tidemark":
            assert service["command"][0] in ("demo", "up", "serve", "record", "follow")
            assert service["cap_drop"] == ["ALL"]
    assert compose["services"]["server-1"]["volumes"] == ["data:/data:ro"]


def test_hosts_of_a_lake_share_no_home_and_have_the_names_that_the_proxy_asks() -> None:
    services = yaml.safe_load((DEPLOY / "docker" / "compose.yml").read_text())["services"]
    hosts = {name: one for name, one in services.items() if "cluster" in one["profiles"] and one["image"] == "tidemark"}
    assert {name: host["command"][0] for name, host in hosts.items()} == {
        "recorder": "record", "builder": "up", "follower-1": "follow", "follower-2": "follow",
    }  # fmt: skip
    homes = [next(volume for volume in host["volumes"] if volume.endswith(":/data")) for host in hosts.values()]
    assert len(set(homes)) == len(hosts)
    assert all("shared:/shared:ro" in host["volumes"] for name, host in hosts.items() if "follower" in name)
    assert all(is_lake(host["environment"]["TIDEMARK_WAREHOUSE"]) for host in hosts.values())
    asked = set(re.findall(r"server ([a-z0-9-]+):", (DEPLOY / "docker" / "proxy.conf").read_text()))
    several = {name for name, one in services.items() if one["profiles"] == ["several"]}
    networks = [host["networks"]["default"] for host in hosts.values() if "networks" in host]
    assert asked == several == {alias for network in networks for alias in network["aliases"]}
    image = (DEPLOY / "docker" / "Dockerfile").read_text()
    assert "-m 0700 /data /shared" in image, "a new volume has the owner of the image's folder"


def test_every_setting_that_is_named_exists() -> None:
    known = {setting.name for setting in SETTINGS}
    for file in DEPLOY.rglob("*"):
        if file.is_file():
            named = set(re.findall(r"\bTIDEMARK_[A-Z_]+\b", file.read_text()))
            assert named <= known, file


def test_the_image_takes_all_that_the_wheel_is_made_of() -> None:
    taken = (DEPLOY / "docker" / "Dockerfile.dockerignore").read_text().splitlines()
    for name in ("dbt_project", "docs", "ingest", "orchestration", "sandbox", "serve", "pyproject.toml", "LICENSE"):
        assert f"!{name}" in taken, name
    text = (DEPLOY / "docker" / "Dockerfile").read_text()
    assert "--require-hashes" in text
    assert re.search(r"^USER tidemark$", text, re.M), "not root"
