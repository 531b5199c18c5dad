"""Every regular expression of the modules that read untrusted input, and how each is used."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

PACKAGES = (
    "richpins",
    "urlspelling",
    "aragog.pages",
    "aragog.crawl.fetcher",
    "aragog.crawl.politeness",
    "aragog.crawl.pipeline",
)
"""Packages that read pages, URLs, responses, robots.txt and sitemaps."""

METHODS = {
    "match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer",
}  # fmt: skip
_ALL = ("match", "fullmatch", "search", "finditer")


@dataclass(frozen=True)
class Use:
    """A pattern, its place, and the methods with which it reads input."""

    where: str
    pattern: re.Pattern[Any]
    methods: tuple[str, ...]

    def __str__(self) -> str:
        return self.where


@cache
def inventory() -> tuple[Use, ...]:
    """Return patterns in module globals, also inside containers, and patterns in calls."""
    methods = _methods_by_name()
    uses: dict[str, Use] = {}
    for module in _modules():
        for name, value in vars(module).items():
            for path, pattern in _patterns(value, name):
                if getattr(module, "__name__", "") == _home(module, name):
                    where = f"{module.__name__}:{path}"
                    uses[where] = Use(where, pattern, tuple(sorted(methods.get(name, ()))) or _ALL)
        for where, pattern, method in _inline(module):
            uses[where] = Use(where, pattern, (method,))
    return tuple(uses.values())


def unreadable_calls() -> list[str]:
    """Return calls of `re` in functions whose pattern is not a constant, so the inventory misses them."""
    return [
        f"{module.__name__}:{call.lineno}"
        for module in _modules()
        for call, at_top in _calls(module)
        if not at_top and not (call.args and isinstance(call.args[0], ast.Constant))
    ]


def _modules() -> list[Any]:
    names = []
    for package in PACKAGES:
        root = importlib.import_module(package)
        names += [package, *(m.name for m in pkgutil.walk_packages(root.__path__, f"{package}."))]
    return [importlib.import_module(name) for name in names if not name.endswith("__main__")]


@cache
def _tree(module: Any) -> ast.Module:
    return ast.parse(Path(module.__file__).read_text())


def _home(module: Any, name: str) -> str:
    """Return the module that defines `name` instead of importing it."""
    for node in _tree(module).body:
        if isinstance(node, ast.ImportFrom) and any(
            name == (a.asname or a.name) for a in node.names
        ):
            return node.module or ""
    return module.__name__


def _patterns(value: Any, path: str, depth: int = 0) -> Iterator[tuple[str, re.Pattern[Any]]]:
    if isinstance(value, re.Pattern):
        yield path, value
    elif depth < 4 and isinstance(value, dict):
        for key, each in value.items():
            yield from _patterns(each, f"{path}[{key!r}]", depth + 1)
            yield from _patterns(key, f"{path}.{key!r}", depth + 1)
    elif depth < 4 and isinstance(value, tuple | list | set | frozenset):
        for at, each in enumerate(value):
            yield from _patterns(each, f"{path}[{at}]", depth + 1)
    elif depth < 4 and type(value).__module__.startswith("aragog"):
        names = getattr(value, "__dict__", None) or getattr(value, "__slots__", ())
        for name in names:
            yield from _patterns(getattr(value, name, None), f"{path}.{name}", depth + 1)


def _methods_by_name() -> dict[str, set[str]]:
    """Return the methods called on each name in any module; all methods for names used otherwise."""
    called: dict[str, set[str]] = defaultdict(set)
    total: dict[str, int] = defaultdict(int)
    direct: dict[str, int] = defaultdict(int)
    for module in _modules():
        for node in ast.walk(_tree(module)):
            is_call = isinstance(node, ast.Attribute) and node.attr in METHODS
            if is_call and isinstance(node.value, ast.Name):
                called[node.value.id].add(node.attr)
                direct[node.value.id] += 1
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                total[node.id] += 1
    return {
        name: how if total[name] == direct[name] else {*how, *_ALL} for name, how in called.items()
    }


def _calls(module: Any) -> Iterator[tuple[ast.Call, bool]]:
    inside = {
        id(call)
        for node in ast.walk(_tree(module))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for call in ast.walk(node)
        if isinstance(call, ast.Call)
    }
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = node.func.value
            if (
                isinstance(owner, ast.Name)
                and owner.id == "re"
                and node.func.attr in {*METHODS, "compile"}
            ):
                yield node, id(node) not in inside


def _inline(module: Any) -> Iterator[tuple[str, re.Pattern[Any], str]]:
    for call, at_top in _calls(module):
        if at_top or not isinstance(call.args[0], ast.Constant):
            continue
        flags = next(
            (eval(ast.unparse(k.value), {"re": re}) for k in call.keywords if k.arg == "flags"), 0
        )
        places = {"match": 2, "search": 2, "fullmatch": 2, "findall": 2, "finditer": 2}
        place = places.get(call.func.attr)
        if place and len(call.args) > place:
            flags = eval(ast.unparse(call.args[place]), {"re": re})
        method = call.func.attr
        yield f"{module.__name__}:{call.lineno}", re.compile(call.args[0].value, flags), method
