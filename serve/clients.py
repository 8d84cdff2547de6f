"""Who asks: a client's address behind trusted proxies, read by the C library, because every request needs it."""

import ipaddress
import socket
from functools import lru_cache
from typing import NamedTuple

from sanic import Request

MAPPED = bytes(10) + b"\xff\xff"  # before an IPv4 address that is written as IPv6


class Network(NamedTuple):
    """A network as numbers; `size` is that of its addresses in bytes."""

    size: int
    mask: int
    start: int


class Client(NamedTuple):
    """Whom an address stands for, and whether what it says of others is believed."""

    name: str
    trusted: bool


class Clients:
    """Tells clients apart."""

    def __init__(self, trusted_proxies: tuple[str, ...] = ()) -> None:
        self.proxies = tuple(map(_network, trusted_proxies))
        self._known = lru_cache(maxsize=4096)(self._read)

    def name(self, request: Request) -> str:
        """The nearest address that is no trusted proxy."""
        client = self._known(request.ip)
        if client is None or not client.trusted:
            return client.name if client else request.ip
        rest = ",".join(request.headers.getall("x-forwarded-for", []))
        while rest and client.trusted:
            rest, _, hop = rest.rpartition(",")
            if hop := hop.strip():
                nearer = self._known(hop)
                if nearer is None:
                    break
                client = nearer
        return client.name

    def _read(self, text: str) -> Client | None:
        """None for what is no address. An IPv6 client owns its whole /64."""
        text = text.strip("[]")
        try:
            if ":" not in text:
                return Client(text, self._trusted(socket.inet_pton(socket.AF_INET, text)))
            address = socket.inet_pton(socket.AF_INET6, text.partition("%")[0])
        except (OSError, ValueError):  # ValueError: characters that no address has
            return None
        if address.startswith(MAPPED):
            return Client(socket.inet_ntop(socket.AF_INET, address[12:]), self._trusted(address[12:]))
        return Client(socket.inet_ntop(socket.AF_INET6, address[:8] + bytes(8)) + "/64", self._trusted(address))

    def _trusted(self, address: bytes) -> bool:
        number, length = int.from_bytes(address, "big"), len(address)
        return any(length == size and number & mask == start for size, mask, start in self.proxies)


def _network(text: str) -> Network:
    network = ipaddress.ip_network(text)
    return Network(network.max_prefixlen // 8, int(network.netmask), int(network.network_address))
