"""A real S3 server of a test's own on loopback (moto's), which checks keys, and a proxy before it that fails."""

import http.client
import json
import os
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ingest.landing.store import object_store
from tests.support.servers.api_server import free_port, until

BUCKET = "market-data"
HOP = {"connection", "transfer-encoding", "server", "date"}


@dataclass(frozen=True)
class S3Server:
    """Its address, and the keys of a user who may do everything."""

    port: int
    access_key: str
    secret_key: str

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"

    def environ(self, **other: str) -> dict[str, str]:
        """What every S3 client reads."""
        return {
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_DEFAULT_REGION": "eu-central-1",
            "AWS_ENDPOINT_URL_S3": self.url,
            "AWS_EC2_METADATA_DISABLED": "true",
            **other,
        }

    def names(self) -> list[str]:
        """Every object of the bucket."""
        return [one["Key"] for one in client(self).list_objects_v2(Bucket=BUCKET).get("Contents", [])]


def client(server: S3Server, service: str = "s3") -> Any:
    """A client of the server."""
    import boto3

    return boto3.client(
        service,
        endpoint_url=server.url,
        region_name="eu-central-1",
        aws_access_key_id=server.access_key,
        aws_secret_access_key=server.secret_key,
    )


@contextmanager
def s3_server(folder: Path) -> Iterator[S3Server]:
    """A running server with an empty bucket until the block ends. It knows one user's keys and refuses all others."""
    port = free_port()
    # So many requests need no keys: to make the user.
    env = {**os.environ, "INITIAL_NO_AUTH_ACTION_COUNT": "3"}
    with (folder / "s3.log").open("wb") as out:
        words = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
        process = subprocess.Popen(words, env=env, stdout=out, stderr=out)
    try:
        first = S3Server(port, "none", "none")

        def answers() -> bool:
            assert process.poll() is None, (folder / "s3.log").read_text()
            with suppress(OSError), urllib.request.urlopen(f"{first.url}/moto-api/data.json", timeout=5) as response:
                return bool(response.status == 200)
            return False

        until(answers, bool, 60)
        iam = client(first, "iam")
        iam.create_user(UserName="tidemark")
        allowed = {"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}
        iam.put_user_policy(UserName="tidemark", PolicyName="all", PolicyDocument=json.dumps(allowed))
        key = iam.create_access_key(UserName="tidemark")["AccessKey"]
        server = S3Server(port, key["AccessKeyId"], key["SecretAccessKey"])
        place = {"LocationConstraint": "eu-central-1"}
        client(server).create_bucket(Bucket=BUCKET, CreateBucketConfiguration=place)
        yield server
    finally:
        process.terminate()
        process.wait(30)


def use(server: S3Server, monkeypatch: pytest.MonkeyPatch, **other: str) -> None:
    """Make this process one that started with the server's keys."""
    for name, value in server.environ(**other).items():
        monkeypatch.setenv(name, value)
    forget()


def forget() -> None:
    """Make this process one that has not read the keys yet."""
    from s3fs import S3FileSystem

    object_store.cache_clear()
    S3FileSystem.clear_instance_cache()


class Weather:
    """What becomes of requests on their way: they pass, or get this status, or no answer at all."""

    def __init__(self) -> None:
        self.status: int | None = None
        self.silent = False
        self.over = threading.Event()
        self.answered: list[tuple[str, int]] = []
        self.good = 0
        """So many more requests pass before `status` is given."""
        self.of = ""
        """Only requests whose path has this are given it."""


@contextmanager
def stormy(server: S3Server) -> Iterator[tuple[S3Server, Weather]]:
    """The server behind a proxy whose weather changes."""
    weather = Weather()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def pass_on(self) -> None:
            assert "Transfer-Encoding" not in self.headers
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if weather.silent:
                self.close_connection = True
                weather.over.wait(60)
                return
            if weather.status is not None and weather.of in self.path:
                weather.good -= 1
                if weather.good < 0:
                    self.answer(weather.status, {}, b"")
                    return
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
            connection.request(self.command, self.path, body or None, dict(self.headers))
            response = connection.getresponse()
            kept = {name: value for name, value in response.getheaders() if name.lower() not in HOP}
            self.answer(response.status, kept, response.read())
            connection.close()

        def answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
            weather.answered.append((self.command, status))
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = pass_on

        def log_message(self, *_: Any) -> None:
            pass

    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    proxy.daemon_threads = True
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    try:
        yield replace(server, port=proxy.server_address[1]), weather
    finally:
        weather.over.set()
        proxy.shutdown()
        proxy.server_close()
