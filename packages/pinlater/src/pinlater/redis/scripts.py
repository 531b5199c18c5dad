"""
Lua scripts from the packages' lua/ folders, called with named keys and arguments.

Two comment lines of a script declare its names, in the order of KEYS and ARGV:

    -- keys: leases
    -- args: lease_s whole names

The last name may end in `...`; it takes a sequence. The caller passes all values by name:

    load_script("shop.locks", "lease_renew").run(
        client, leases=key, lease_s=60, whole=1, names=names
    )
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import redis
from redis.client import Pipeline
from redis.exceptions import NoScriptError

REST_SUFFIX = "..."


class LuaScript:
    """
    A script and its SHA-1 digest. A server that does not know the digest gets the source.

    Args:
        name: for error messages.
        source: Lua code, including the comments that declare its names.
    """

    def __init__(self, name: str, source: str) -> None:
        self.name = name
        self.script = source
        self.sha = hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()
        self.keys = _declared_names("keys", source)
        self.args = _declared_names("args", source)

    def run(self, client: redis.Redis, **values: Any) -> Any:
        """
        Run the script and return its result; one round trip, two if the server does not know it.

        Raises:
            TypeError: a declared name is missing, or an undeclared one is given.
            redis.RedisError: the server does not answer, or refuses the call.
        """
        return self.call(client, *self.bind(values))

    def queue(self, pipe: Pipeline, **values: Any) -> None:
        """
        Add the call to a pipeline or transaction.

        The call contains the source. With only the digest, a server that does not know the script
        would run the pipeline's other commands without it, and checking first costs a round trip.
        Hashing the source takes the server 3 µs.
        """
        keys, args = self.bind(values)
        pipe.eval(self.script, len(keys), *keys, *args)

    def call(self, client: redis.Redis, keys: Sequence[Any], args: Sequence[Any]) -> Any:
        """Run the script with keys and arguments in order, as `bind` returns them."""
        try:
            return client.evalsha(self.sha, len(keys), *keys, *args)
        except NoScriptError:
            return client.eval(self.script, len(keys), *keys, *args)

    def bind(self, values: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
        """Return keys and arguments in order. Raises `TypeError`, see `run`."""
        if len(values) != len(self.keys) + len(self.args):
            expected = ", ".join(self.keys + self.args)
            raise TypeError(f"{self.name}.lua takes {expected}; got {', '.join(values)}")
        return _ordered_values(self, self.keys, values), _ordered_values(self, self.args, values)


def _ordered_values(
    script: LuaScript, names: Sequence[str], values: Mapping[str, Any]
) -> list[Any]:
    result: list[Any] = []
    for name in names:
        try:
            if name.endswith(REST_SUFFIX):
                result.extend(values[name.removesuffix(REST_SUFFIX)])
            else:
                result.append(values[name])
        except KeyError:
            raise TypeError(f"{script.name}.lua needs {name}") from None
    return result


def _declared_names(kind: str, source: str) -> tuple[str, ...]:
    line = re.search(rf"^-- {kind}:(.*)$", source, re.MULTILINE)
    return tuple(line[1].split()) if line else ()


@cache
def load_script(package: str, name: str, *, prelude: str | tuple[str, ...] = ()) -> LuaScript:
    """Load lua/<name>.lua of a package, preceded by other files in the folder."""
    folder = files(package) / "lua"
    preludes = (prelude,) if isinstance(prelude, str) else prelude
    parts = [(folder / f"{part}.lua").read_text("utf-8") for part in (*preludes, name)]
    return LuaScript(name, "".join(parts))
