"""
Measure the cost of signing a request: Web Bot Auth with Ed25519, in CPU time of one thread.

    .venv/bin/python -m bench.signing [requests]

Compares aragog's signer, the signature alone (cryptography), and the library
http-message-signatures in turn, so that other load affects all of them. The last line is how much
more a whole request costs with a key than without, over loopback.
"""

from __future__ import annotations

import argparse
import datetime as dt
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import requests
from http_message_signatures import HTTPMessageSigner, HTTPSignatureKeyResolver
from http_message_signatures.algorithms import ED25519

from aragog.crawl.fetcher.fetcher import Fetcher
from aragog.crawl.identity.keys import new_key, write_keys
from aragog.crawl.identity.request_signer import LABEL, TAG, RequestSigner
from aragog.crawl.identity.signature_base import SignedMessage
from aragog.settings import FetchSettings, IdentitySettings
from bench.quick import add_quick
from tests.support.origin import Origin, page

ROUNDS = 5
AGENT = "https://bot.example.com/.well-known/http-message-signatures-directory"
URL = "https://www.example.com/products/brass-lamp?color=green"
USER_AGENT = "examplebot/1.0 (+https://example.com/bot)"


def us_per_call(call: Callable[[], object], calls: int) -> float:
    """Return the CPU microseconds per call in this thread."""
    before = time.thread_time()
    for _ in range(calls):
        call()
    return (time.thread_time() - before) / calls * 1e6


def library_signer(private_key: object, thumbprint: str) -> Callable[[], object]:
    """Return a function that makes the same signature with http-message-signatures."""

    class Keys(HTTPSignatureKeyResolver):
        def resolve_private_key(self, key_id: str) -> object:
            return private_key

    signer = HTTPMessageSigner(signature_algorithm=ED25519, key_resolver=Keys())
    agent = f'"signature-agent";key="{LABEL}"'

    def sign() -> object:
        request = requests.Request("GET", URL, {"Signature-Agent": f'{LABEL}="{AGENT}"'}).prepare()
        now = dt.datetime.now(dt.UTC)
        signer.sign(
            request, key_id=thumbprint, created=now, expires=now + dt.timedelta(minutes=5),
            nonce="n" * 88, label=LABEL, tag=TAG,
            covered_component_ids=("@method", "@authority", "@path", "@query", agent),
        )  # fmt: skip
        return request.headers["Signature"]

    return sign


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("requests", type=int, nargs="?", default=2000)
    add_quick(parser, requests=20)
    count = parser.parse_args().requests
    with tempfile.TemporaryDirectory() as folder:
        path, key = Path(folder) / "identity.jwks", new_key(start_s=0)
        write_keys(path, [key], overwrite=False)
        signer = RequestSigner(IdentitySettings(key=path, agent=AGENT))
        message = SignedMessage(
            method="GET",
            authority="www.example.com",
            path="/products/brass-lamp",
            query="?color=green",
            fields={"User-Agent": USER_AGENT, "Accept": "*/*", "Accept-Encoding": "gzip"},
        )
        signers = {
            "aragog: three header fields": lambda: signer.sign(message),
            "of these, Ed25519 (cryptography)": lambda: key.sign(b"x" * 500),
            "http-message-signatures": library_signer(key.private_key, key.thumbprint),
        }
        print(f"{count} requests per round, median of {ROUNDS} rounds:")
        rounds = [{name: us_per_call(call, count) for name, call in signers.items()}
                  for _ in range(ROUNDS)]  # fmt: skip
        for name in signers:
            print(f"{name:36} {statistics.median(costs[name] for costs in rounds):7.1f} µs")
        with_key, without = request_costs(signer, count // 10)
        print(f"{'a whole request without a key':36} {without:7.1f} µs")
        print(f"{'a whole request with a key':36} {with_key:7.1f} µs")


def request_costs(signer: RequestSigner, count: int) -> tuple[float, float]:
    """
    Return the CPU microseconds per fetch with and without a signature, in the client's
    thread.
    """
    settings = FetchSettings(
        user_agent=USER_AGENT, allowed_networks=("127.0.0.0/8",),
        allowed_ports=tuple(range(1024, 65_536)),
    )  # fmt: skip
    with (
        Origin({"/*": page(b"<p>x", keep_alive=True)}) as origin,
        Fetcher(settings, signer=signer) as signed,
        Fetcher(settings) as plain,
    ):
        url = origin.url("/a?b=c")
        rounds = [
            (
                us_per_call(lambda: signed.fetch(url), count),
                us_per_call(lambda: plain.fetch(url), count),
            )
            for _ in range(ROUNDS)
        ]
    with_key, without = zip(*rounds, strict=True)
    return statistics.median(with_key), statistics.median(without)


if __name__ == "__main__":
    main()
