"""The SSRF filter's decisions about URLs. DNS is not used: no name resolves."""

from __future__ import annotations

from ipaddress import ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aragog.crawl.fetcher.ssrf import SsrfFilter, is_forbidden
from aragog.errors import InvalidUrl
from aragog.settings import FetchSettings


def no_dns(host: str) -> list[str]:
    raise OSError(-2, f"{host} is not known here")


GUARD = SsrfFilter(lookup=no_dns)


@pytest.mark.parametrize(
    "url",
    [
        # IPv4 in every spelling
        "http://127.0.0.1/", "http://127.1/", "http://127.0.1/", "http://2130706433/",
        "http://0x7f000001/", "http://0x7f.0x0.0x0.0x1/", "http://0177.0.0.01/", "http://017700000001/",
        "http://0x7F.1/", "http://127.0.0.1./", "http://127.255.255.254/", "http://0/", "http://0.0.0.0/",
        "http://%31%32%37.0.0.1/", "http://127%2e0%2e0%2e1/", "http://\u2460\u2461\u2466.0.0.1/",
        "http://\uff11\uff12\uff17.0.0.1/", "http://127\u30020\u30020\u30021/", "http:127.0.0.1/",
        "http:\\\\127.0.0.1\\", "http:///127.0.0.1/", " http://127.0.0.1/ ", "http://127.0.0\t.1/",
        "HTTP://127.0.0.1/", "http://127.0.0.1?x", "http://127.0.0.1#x", "http://192.168.257/",
        # private and special ranges
        "http://10.0.0.1/", "http://172.16.0.1/", "http://172.31.255.255/", "http://192.168.0.1/",
        "http://169.254.1.1/", "http://100.64.0.1/", "http://198.18.0.1/", "http://198.19.255.255/",
        "http://192.0.0.1/", "http://192.0.2.1/", "http://198.51.100.7/", "http://203.0.113.9/",
        "http://192.88.99.1/", "http://224.0.0.1/", "http://239.1.2.3/", "http://240.0.0.1/",
        "http://255.255.255.255/",
        # IPv6, alone and with an embedded IPv4 address
        "http://[::1]/", "http://[::]/", "http://[0:0:0:0:0:0:0:1]/", "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:7f00:1]/", "http://[::127.0.0.1]/", "http://[::ffff:0:10.0.0.1]/",
        "http://[64:ff9b::10.0.0.1]/", "http://[64:ff9b:1::8.8.8.8]/", "http://[2002:7f00:1::]/",
        "http://[2002:a9fe:a9fe::1]/", "http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/",
        "http://[2607:f8b0::5efe:192.168.0.1]/", "http://[2607:f8b0::200:5efe:10.0.0.1]/",
        "http://[fe80::1]/", "http://[fec0::1]/", "http://[fc00::1]/", "http://[fd12:3456::1]/",
        "http://[ff02::1]/", "http://[100::1]/", "http://[100:0:0:1::1]/", "http://[2001:db8::1]/",
        "http://[2001:2::1]/", "http://[2001:10::1]/", "http://[3fff::1]/", "http://[5f00::1]/",
        "http://[4000::1]/",
        # cloud metadata
        "http://169.254.169.254/latest/meta-data/", "http://[fd00:ec2::254]/", "http://100.100.100.200/",
        "http://192.0.0.192/", "http://168.63.129.16/", "http://[::ffff:169.254.169.254]/",
        "http://2852039166/", "http://metadata.google.internal/", "http://METADATA.google.internal./",
        "http://metadata/", "http://instance-data/", "http://metadata.tencentyun.com/",
        # local names
        "http://localhost/", "http://LOCALHOST./", "http://a.localhost/", "http://localhost.localdomain/",
        "http://\u24db\u24de\u24d2\u24d0\u24db\u24d7\u24de\u24e2\u24e3/", "http://printer.local/",
        "http://kubernetes.default.svc.cluster.local/", "http://a.internal/", "http://router/",
        "http://nas.home.arpa/", "http://x.onion/", "http://ip6-localhost/",
        # wildcard DNS
        "http://127.0.0.1.nip.io/", "http://a.127-0-0-1.nip.io/", "http://7f000001.nip.io/",
        "http://app-10-0-0-1.sslip.io/", "http://--1.sslip.io/", "http://fd00--1.sslip.io/",
        "http://169.254.169.254.nip.io/", "http://x.localtest.me/", "http://www.example.org.1ynrnhl.xip.io/", "http://kubernetes.default.svc/", "http://lvh.me/",
        "http://7f000001.08080808.rbndr.us/", "http://make-1.2.3.4-rebind-127.0.0.1-rr.1u.ms/",
        # credentials, ports, schemes
        "http://user@example.com/", "http://user:pw@example.com/", "http://example.com@127.0.0.1/",
        "http://127.0.0.1@example.com/", "http://example.com:22/", "http://example.com:8080/",
        "https://example.com:6379/", "ftp://example.com/", "file:///etc/passwd", "gopher://example.com/",
        "dict://example.com/", "data:text/html,x", "javascript:alert(1)", "localhost:80",
        # text that parsers interpret differently
        "http://example.com\\@127.0.0.1/", "http://example.com:80\\@169.254.169.254/",
        "http://127.0.0.1\\@example.com/", "http://127.0.0.1:80\\@example.com/",
        "http://127.0.0.1#@example.com/", "http://127.0.0.1?@example.com/",
    ],
)  # fmt: skip
def test_forbidden_url_is_blocked(url: str):
    assert GUARD.vet_url(url)
    assert GUARD.is_forbidden(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/", "https://example.com/", "https://example.com:443/", "http://8.8.8.8/",
        "https://example.com:80/", "http://1.1.1.1/", "http://9.255.255.255/", "http://11.0.0.0/",
        "http://172.15.255.255/", "http://172.32.0.0/", "http://192.167.255.255/", "http://100.63.0.1/",
        "http://100.128.0.0/", "http://169.253.1.1/", "http://198.17.1.1/", "http://198.20.0.0/",
        "http://223.255.255.255/", "http://128.0.0.1/", "http://192.0.1.0/", "http://134744072/",
        "http://[2606:4700::1111]/", "http://[2001:4860:4860::8888]/", "http://[::ffff:8.8.8.8]/",
        "http://[64:ff9b::8.8.8.8]/", "http://[2002:808:808::1]/", "http://[2a00:1450::1]/",
        "http://[2001:200::1]/", "http://8.8.8.8.nip.io/", "http://08080808.nip.io/",
        "https://medium.com/@someone/x", "http://example.com/?u=http://127.0.0.1/",
        "http://example.com/#@127.0.0.1/", "http://localhost.example.com/", "http://127.0.0.1.example.com/",
        "http://internal.example.com/", "http://b\u00fccher.example/", "http://a_b.example.com/",
        "http://localtest.men/", "http://notnip.io/", "http://metadata.example.com/",
    ],
)  # fmt: skip
def test_permitted_url_is_allowed(url: str):
    assert GUARD.vet_url(url) is None
    assert not GUARD.is_forbidden(url)


@pytest.mark.parametrize(
    "url", ["", "nonsense", "http://", "http://[::1", "http://[fe80::1%25eth0]/", "http://1.2.3.256/",
            "http://a b/", "http://exa\0mple.com/", "//example.com/", "http://:80/", "http://a:99999/"],
)  # fmt: skip
def test_malformed_url_is_invalid(url: str):
    with pytest.raises(InvalidUrl):
        GUARD.is_forbidden(url)
    assert GUARD.vet_url(url) == "not a URL"


def test_public_function_needs_no_dns_for_addresses():
    assert is_forbidden("http://[::1]/")
    assert not is_forbidden("http://8.8.8.8/")


@given(st.text(max_size=60) | st.text("htp:/@.[]127:0\\#?%ef ", max_size=40).map("http://".__add__))
def test_no_text_raises_anything_but_invalid_url(text: str):
    try:
        forbidden = GUARD.is_forbidden(text)
    except InvalidUrl:
        assert GUARD.vet_url(text) == "not a URL"
    else:
        assert forbidden or GUARD.vet_url(text) is None


@given(st.ip_addresses(v=4))
def test_every_spelling_of_an_ipv4_address_gets_the_same_decision(ip):
    number, octets = int(ip), ip.packed
    spellings = [
        str(ip), f"{number}", f"{number:#x}", f"0{number:o}", ".".join(f"{o:#x}" for o in octets),
        ".".join(f"0{o:o}" for o in octets), f"{octets[0]}.{number & 0xFFFFFF}", f"{ip}.",
        f"[::ffff:{ip}]", f"[64:ff9b::{ip}]", f"[2002:{number >> 16:x}:{number & 0xFFFF:x}::]",
        f"[2607:f8b0::5efe:{ip}]", f"{ip}.nip.io", f"{number:08x}.nip.io",
    ]  # fmt: skip

    assert len({GUARD.is_forbidden(f"http://{spelling}/") for spelling in spellings}) == 1


# Globally reachable by the registry, or by the embedded IPv4 address; Python versions differ.
ANYCAST = [ip_network(n) for n in ("192.0.0.8/30", "2001:1::/126", "2001:3::/32", "2001:4:112::/48",
                                   "2001:20::/28", "2001:30::/28", "2002::/16", "::ffff:0:0/96")]  # fmt: skip


@given(st.ip_addresses(v=4) | st.ip_addresses(v=6))
def test_address_not_global_in_python_is_refused(ip):
    if ip.is_multicast or not (ip.is_global or any(ip in network for network in ANYCAST)):
        assert GUARD.vet_address(str(ip))


def test_only_listed_ports_are_open():
    ssrf_filter = SsrfFilter(FetchSettings(allowed_ports=(443, 8443)), lookup=no_dns)

    assert ssrf_filter.vet_url("https://example.com:8443/") is None
    assert ssrf_filter.vet_url("http://example.com/") == "port 80 is not in fetch.allowed_ports"
