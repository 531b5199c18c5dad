"""
Bugs reported by users of other programs, each with our own input and the correct answer.

A class of reports is one file `<class>.toml` beside this module. `doors/<class>.py` or the named
`door` answers its inputs through aragog's public interfaces, with one function `answer(input) ->
dict`. A report:

    [[report]]
    id = "unique within its class"
    project = "owner/name on GitHub"
    number = 1
    why = "the standard, or what browsers and search engines do"
    first = "right"                 # or "wrong": the verdict of the first run
    door = "http_origins"           # only if its class has several doors
    held_back = true                # only if no author of a fix read it before its last verdict
    open = "what is still wrong"    # only while it is
    by_design = "what aragog does instead, and where docs explain it"    # instead of `open`
    input = { url = "http://a.test/" }
    right = { url = "http://a.test/" }

`right` has the keys of the answer that count. A key that ends in ` has` or ` lacks` lists texts
that the value must or must not contain; `absent` lists keys that the answer must not have.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """One outside report."""

    of: str
    """Its class."""
    id: str
    project: str
    number: int
    input: Mapping[str, Any]
    right: Mapping[str, Any]
    why: str
    first: str
    """`right` or `wrong`: the verdict of the first run."""
    door: str = ""
    """The module of `doors` that answers it; empty means that of its class."""
    held_back: bool = False
    """Whether the authors of fixes did not know it; its verdicts show how well fixes generalize."""
    open: str = ""
    """What is still wrong; empty if the answer is right."""
    by_design: str = ""
    """Why aragog deliberately answers differently; empty if it does not."""

    @property
    def differs(self) -> str:
        """Why the answer is wrong; empty if it is right."""
        return self.open or self.by_design


def reports() -> Iterator[Report]:
    """Every report, by class."""
    for path in sorted(FOLDER.glob("*.toml")):
        for entry in tomllib.loads(path.read_text())["report"]:
            yield Report(of=path.stem, **entry)


def door(report: Report) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """The function that answers the input of a report."""
    return import_module(f"tests.reports.doors.{report.door or report.of}").answer


def differences(right: Mapping[str, Any], answer: Mapping[str, Any]) -> list[str]:
    """The differences between an answer and the right one, one line each."""
    lines = []
    for key, expected in right.items():
        name, _, relation = key.rpartition(" ")
        if key == "absent":
            lines += [f"{k}: {answer[k]!r}, and nothing is right" for k in expected if k in answer]
        elif relation in ("has", "lacks"):
            value = answer.get(name, "")
            wrong = [e for e in expected if (e in value) is (relation == "lacks")]
            lines += [f"{name}: {value!r} {relation} not {each!r}" for each in wrong]
        elif answer.get(key) != expected:
            lines.append(f"{key}: {answer.get(key)!r}, right is {expected!r}")
    return lines
