"""
HBase table definitions: how tables are created, and problems of existing ones. Pure.

HBase's own defaults for Thrift are poor for point reads: no bloom filter, no block cache, three
versions, no compression. Thrift 1 can neither pre-split a table nor choose a block encoding nor
change a family, so for a large store the tables are made in the hbase shell: `shell_commands`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from aragog.zen.tables import TABLES
from aragog.zen.tables.hbase.connection import thrift_api

# Tables whose keys begin with a hash, and with a bucket (0 to 15); keys of `u` begin with the
# name of a property, so HBase splits it.
HASHED = ("n", "e", "o", "l")
BUCKETED = ("j", "i", "d", "h", "f")


def table_name(prefix: str, name: str) -> bytes:
    """The table's name in HBase."""
    return f"{prefix}{name}".encode()


def families(name: str, compression: str) -> list[thrift_api.ColumnDescriptor]:
    """The families of table `name`, as Thrift creates them."""
    return [
        thrift_api.ColumnDescriptor(
            name=f"{family}:".encode(),
            maxVersions=1,
            compression=compression,
            bloomFilterType="ROW",
            blockCacheEnabled=True,
        )
        for family in TABLES[name]
    ]


def problems(table: str, name: str, result: Mapping[bytes, Any], compression: str) -> Iterator[str]:
    """Problems of a table with those column descriptors, one line each with the remedy."""
    by_name = {key.rstrip(b":").decode(): value for key, value in result.items()}
    for family in TABLES[name]:
        have = by_name.get(family)
        if have is None:
            yield f"{table}: has no family {family}: alter '{table}', {{NAME => '{family}', …}}"
            continue
        expected = {
            "VERSIONS": (have.maxVersions, 1),
            "BLOOMFILTER": (_text(have.bloomFilterType), "ROW"),
            "BLOCKCACHE": (have.blockCacheEnabled, True),
            "COMPRESSION": (_text(have.compression), compression),
        }
        for option, (value, want) in expected.items():
            if value != want:
                new = f"'{want}'" if isinstance(want, str) else str(want).lower()
                yield (
                    f"{table}: {option} of family {family} is {value}, not {want}: in the hbase "
                    f"shell, alter '{table}', {{NAME => '{family}', {option} => {new}}}"
                )


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value


def shell_commands(prefix: str, compression: str, regions: int = 16) -> str:
    """
    Commands for the hbase shell that create all tables, split into `regions` from the start.

    Keys that are hashes are split evenly; keys that begin with a bucket have a region per bucket.
    Every family may be replicated: without a peer that costs nothing, and changing it later
    rewrites nothing but is easily forgotten for one table, which then stays empty at the peer.
    """
    lines = []
    for name in TABLES:
        options = (
            f"VERSIONS => 1, BLOOMFILTER => 'ROW', COMPRESSION => '{compression}', "
            "DATA_BLOCK_ENCODING => 'FAST_DIFF', REPLICATION_SCOPE => 1"
        )
        parts = [f"{{NAME => '{family}', {options}}}" for family in TABLES[name]]
        if name in BUCKETED:
            parts.append("SPLITS => [" + ", ".join(f'"\\x{n:02x}"' for n in range(1, 16)) + "]")
        elif name in HASHED and regions > 1:
            parts.append(f"{{NUMREGIONS => {regions}, SPLITALGO => 'UniformSplit'}}")
        lines.append(f"create '{prefix}{name}', {', '.join(parts)}")
    return "\n".join(lines) + "\n"
