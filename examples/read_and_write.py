"""
Write a field of your own beside those of the crawler, and read both.

    python examples/read_and_write.py thrift://127.0.0.1:8101 http://shop.example/p/1

The address is that of `aragog serve`, over Thrift or HTTP.
"""

import sys

from aragog.client import connect
from aragog.errors import VersionConflict

address, url = sys.argv[1:3]
with connect(address) as client:
    before = client.get(url, ["page.title", "team.score"])
    known = before is not None and "team.score" in before.fields
    score = int(before.fields["team.score"]) + 1 if known else 1
    try:
        version = before.version if before is not None else ""
        client.put(url, {"team.score": str(score).encode()}, if_version=version)
    except VersionConflict:
        print("somebody else wrote first: run me again")
    after = client.get(url, ["page.title", "team.score"])
    print(after.canonical_url, {name: value.decode() for name, value in after.fields.items()})
