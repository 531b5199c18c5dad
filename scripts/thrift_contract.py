"""
Add new fields of the fetch record to the Thrift contract, in `aragog/api/urlstore.thrift`.

    python scripts/thrift_contract.py

Fields of `FetchRecord` with a single value that the struct `FetchReport` lacks are appended, each
with the next number and its docstring as the comment. Numbers that clients know never change. Safe
to repeat.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

from aragog.fetch_record.outcome import SCALAR_FIELDS, FetchRecord, ScalarField

CONTRACT = Path(__file__).parent.parent / "aragog/api/urlstore.thrift"
STRUCT = re.compile(r"struct FetchReport \{\n(?P<fields>.*?)^\}", re.MULTILINE | re.DOTALL)
FIELD = re.compile(r"^  (?P<number>\d+): (?:optional )?[\w<>,]+ (?P<name>\w+)$", re.MULTILINE)
TYPES = {str: "string", int: "i64", float: "double", bool: "bool"}


def with_new_fields(
    contract: str, values: Mapping[str, ScalarField], comments: Mapping[str, str]
) -> str:
    """Return the contract with a field for each of these values."""
    struct = STRUCT.search(contract)
    if struct is None:
        raise ValueError(f"{CONTRACT}: no struct FetchReport")
    numbers = {match["name"]: int(match["number"]) for match in FIELD.finditer(struct["fields"])}
    lines, number = "", max(numbers.values())
    for name in values:
        if name not in numbers:
            number += 1
            lines += _line(number, name, values[name], comments.get(name, ""))
    offset = struct.end("fields")
    return contract[:offset] + lines + contract[offset:]


def _line(number: int, name: str, value: ScalarField, comment: str) -> str:
    optional = "optional " if value.optional else ""
    text = f"  /** {comment} */\n" if comment else ""
    return f"{text}  {number}: {optional}{TYPES[value.type]} {name}\n"


def docstrings(record: type) -> dict[str, str]:
    """Return the docstring under each field of a dataclass, on one line."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(record)))
    body = next(node.body for node in tree.body if isinstance(node, ast.ClassDef))
    return {
        field.target.id: " ".join(text.value.value.split())
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
        if isinstance(text.value.value, str)
    }


def main() -> None:
    """Complete the contract."""
    contract = CONTRACT.read_text(encoding="utf-8")
    CONTRACT.write_text(
        with_new_fields(contract, SCALAR_FIELDS, docstrings(FetchRecord)), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
