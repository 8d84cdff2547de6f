"""A client's address behind trusted proxies. Parsed by the C library, because every request needs it."""

import ipaddress
import socket
from functools import lru_cache

from sanic import Request

SCHEMES = ("http", "https")
MAPPED = bytes(10) + b"\xff\xff"  # before an IPv4 address that is written as IPv6


class ClientAddresses:
    """Identifies clients by their addresses."""

    def __init__(self, trusted_proxies: tuple[str, ...] = ()) -> None:
        networks = [ipaddress.ip_network(text) for text in trusted_proxies]
        # Mask and start of the trusted networks, by the length of their addresses in bytes.
        self._proxies = {
            size: [(int(net.netmask), int(net.network_address)) for net in networks if net.max_prefixlen == 8 * size]
            for size in (4, 16)
        }
        self._is_proxy = lru_cache(maxsize=1024)(self._trusts)
        # A client sends many requests, each of which counts for it.
        self._name = lru_cache(maxsize=1024)(self._find_name)

    def scheme(self, request: Request) -> str:
        """The scheme of the URL that the client asked: a trusted proxy says it in `X-Forwarded-Proto`."""
        said = request.headers.get("x-forwarded-proto", "").lower()
        return said if said in SCHEMES and self._is_proxy(request.ip) else request.scheme

    def name(self, request: Request) -> str:
        """The nearest address that is not a trusted proxy, normalized. An IPv6 client is its whole /64."""
        text = request.ip
        if not self._is_proxy(text):
            return self._name(text, "")
        return self._name(text, ",".join(request.headers.getall("x-forwarded-for", ())))

    def _find_name(self, text: str, hops: str) -> str:
        """The name of a client with this address, or behind a trusted proxy with it, which sent these hops."""
        address = None
        while hops:
            hops, _, hop = hops.rpartition(",")
            if not (hop := hop.strip()):
                continue
            hop = _without_port(hop)
            nearer = _parse(hop)
            if nearer is None:
                break
            text, address = hop, nearer
            if not self._is_trusted(nearer):
                break
        if ":" not in text:
            return text  # IPv4 has one spelling
        address = address or _parse(text)
        if address is None:
            return text
        if len(address) == 4:
            return socket.inet_ntop(socket.AF_INET, address)
        return socket.inet_ntop(socket.AF_INET6, address[:8] + bytes(8)) + "/64"

    def _trusts(self, text: str) -> bool:
        address = _parse(text)
        return address is not None and self._is_trusted(address)

    def _is_trusted(self, address: bytes) -> bool:
        number = int.from_bytes(address, "big")
        return any(number & mask == start for mask, start in self._proxies[len(address)])


def _without_port(hop: str) -> str:
    """Some proxies write a port behind the address: 192.0.2.1:443, [2001:db8::1]:443."""
    if hop.startswith("["):
        return hop[1:].partition("]")[0]
    return hop.partition(":")[0] if hop.count(":") == 1 else hop


def _parse(text: str) -> bytes | None:
    """The bytes of an address; None for any other text."""
    try:
        if ":" not in text:
            return socket.inet_pton(socket.AF_INET, text)
        address = socket.inet_pton(socket.AF_INET6, text.strip("[]").partition("%")[0])
    except (OSError, ValueError):  # ValueError: not ASCII, or a null character
        return None
    return address[12:] if address.startswith(MAPPED) else address
