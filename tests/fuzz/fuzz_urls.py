"""
Fuzz all parts of `urlspelling` that read untrusted text: `one_input` takes any bytes.

    python -m tests.fuzz.fuzz_urls [inputs]     number of mutations

If atheris is installed, fuzzing is coverage-guided and takes libFuzzer's arguments.
"""

from __future__ import annotations

import random
from itertools import pairwise

from aragog.errors import InvalidUrl
from tests.fuzz.engine import edited, fuzz
from urlspelling import explain, normalize, parse_link_header, url_key
from urlspelling.canonical import Evidence, KnownPage, Redirect, decide
from urlspelling.domain import host, origin, registered_domain, reversed_host

SEEDS = (
    b"http://me:pw@EXAMPLE.com.:80/a/../b/%7efoo%2f%zz;jsessionid=1?b=2&&utm_source=x&a=1#f",
    "https://faß.de\\x?q=[ü]&sid=587fba8f825b05844526519fdb7d75c8".encode(),
    "http://１２7.0x1/。/%E2%80%8D?a+b=1&a%20b=0".encode(),
    b"//[::ffff:1.2.3.4]:0443/(S(4hqa0555fwsecu455xqckv45))/x.aspx\n../?%75tm_x",
    b'<../a,b>; rel="canonical"; title="c, <d>", </e>;rel=next;anchor="#f"\nhttp://xn--fa-hia.de/x',
    b"http://2130706433/%2e%2E/%%41\nhttp://www.co.uk:8080/index.html",
)
TOKENS = (b"%", b"%2e", b"/", b"\\", b"?", b"&", b"=", b";", b"#", b"@", b":", b".", b"[", b"]", b"xn--",
          b"\xed\xa0\x80", b"\xc3\x9f", b"\xe3\x80\x82", b"\xe2\x80\x8d", b"\t", b"\0", b"\n", b"0x", b"<", b">", b'"')  # fmt: skip


def one_input(data: bytes) -> list[str]:
    """
    Each line is a reference to the next line, a Link header, and evidence.

    Returns the normalized URLs.
    """
    lines = _text(data).split("\n")
    normal = [url for url in map(_normalized, lines, [*lines[1:], None]) if url is not None]
    for line in lines:
        for link in parse_link_header([line], base="http://base.test/x/"):
            _check(link.url)
    if normal:
        _decide(normal)
    return normal


def _text(data: bytes) -> str:
    """May contain lone surrogates, like text from JSON or a file name."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _normalized(line: str, base: str | None) -> str | None:
    for beside in (None, base):
        try:
            url = normalize(line, beside)
        except InvalidUrl:
            continue
        _check(url)
        steps = explain(line, beside)
        if (steps[-1].after if steps else line) != url:
            raise AssertionError(
                f"{line!r} against {beside!r} is explained to {steps!r}, not {url!r}"
            )
        return url
    return None


def _check(url: str) -> None:
    """Check the properties of every normalized URL."""
    if normalize(url) != url or not url.isascii() or "#" in url:
        raise AssertionError(f"{url!r} is not normal")
    name, registered = host(url), registered_domain(url)
    if not url.startswith(origin(url)) or registered not in {
        name[-len(registered) :],
        name.rstrip(".")[-len(registered) :],
    }:
        raise AssertionError(f"{url!r} does not begin with its origin")
    reversed_host(name)
    url_key(url)


def _decide(urls: list[str]) -> None:
    first, last = urls[0], urls[-1]
    known = {url: KnownPage(status=200, canonical_url=after) for url, after in pairwise(urls)}
    decision = decide(
        Evidence(
            url=first,
            final_url=last,
            redirects=(Redirect(first, last, permanent=len(urls) % 2 == 0),),
            link_canonical=tuple(urls[1:2]),
            og_url=urls[len(urls) // 2],
            meta_refresh=(0.0, first),
            known=known,
        )
    )
    if decision.canonical_url not in urls:
        raise AssertionError(f"{decision!r} out of nothing")


def mutations(seed: int, count: int) -> list[bytes]:
    """`count` inputs made from the seeds; each line is read as a URL."""
    rng = random.Random(seed)
    return [edited(rng, SEEDS, TOKENS, join=b"\n") for _ in range(count)]


if __name__ == "__main__":
    fuzz(one_input, mutations)
