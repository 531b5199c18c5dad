"""The code blocks of the documentation, and a shell that runs them as a reader would."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import chdir
from dataclasses import dataclass, field
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker
from functools import cache
from pathlib import Path

from click.testing import CliRunner
from markdown_it import MarkdownIt

from aragog.cli import main

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDERS = ("aragog", "packages", "deploy", "docs", "examples", "packaging", "scripts", "bench")
PAGES = sorted(
    str(path.relative_to(ROOT))
    for path in [*ROOT.glob("*.md"), *(p for f in FOLDERS for p in ROOT.glob(f"{f}/**/*.md"))]
)


INSTEAD = Path(__file__).with_name("commands")
"""Replacements for commands such as curl on machines that do not have them."""


@dataclass(frozen=True, slots=True)
class Block:
    """
    A code block: its page, first line and language ("" if none is given, None if it is indented).

    `sections` are the anchors of the headings above it, from the page's title inwards.
    """

    page: str
    line: int
    language: str | None
    text: str
    sections: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return language and first line, which identify a block of a page."""
        first, _, _ = self.text.partition("\n")
        return f"{self.language}: {first}"

    def is_of(self, place: str) -> bool:
        """Return True if it is on the page, or for `page.md#anchor` below that heading."""
        page, _, section = place.partition("#")
        return self.page == page and (not section or section in self.sections)


def anchor_of(heading: str) -> str:
    """Return the anchor of a heading, as made by GitHub and MkDocs."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


@cache
def _blocks_of(page: str) -> tuple[Block, ...]:
    tokens = MarkdownIt().parse((ROOT / page).read_text("utf-8"))
    found: list[Block] = []
    sections: list[str] = []
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        if token.type == "heading_open" and following:
            sections[int(token.tag[1]) - 1 :] = [anchor_of(following.content)]
        elif token.type in ("fence", "code_block") and token.map:
            language = token.info if token.type == "fence" else None
            line = token.map[0] + 1
            found.append(Block(page, line, language, token.content, tuple(sections)))
    return tuple(found)


def blocks(page: str, language: str | None = None, start: str = "") -> list[str]:
    """
    Return the texts of a page's code blocks in a language that begin with `start`.

    `page.md#anchor` is the part of a page below one heading.
    """
    found = [
        block.text
        for block in _blocks_of(page.partition("#")[0])
        if block.is_of(page) and block.language == language and block.text.startswith(start)
    ]
    if not found and "#" in page and not any(b.is_of(page) for b in all_blocks()):
        raise ValueError(f"{page}: no such section with a block")
    return found


def all_blocks(pages: list[str] = PAGES) -> list[Block]:
    """Return every code block of these pages."""
    return [block for page in pages for block in _blocks_of(page)]


def examples(page: str) -> Iterator[tuple[str, str]]:
    """Yield each command of the page's console blocks with its output; `…` matches anything."""
    for block in blocks(page, "console"):
        joined = re.sub(r"\\\n\s*", "", block)
        for example in re.split(r"^\$ (?:\.venv/bin/)?", joined, flags=re.MULTILINE)[1:]:
            command, _, output = example.partition("\n")
            yield command, output


def recipe(command: str) -> str:
    """Return what `make …` runs once everything is installed, such as `aragog run urls.txt`."""
    target = shlex.split(command, comments=True)[1:]
    # Under `make test`, make would print its folders and inherit the outer options.
    environ = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    reported = subprocess.run(
        ["make", "--dry-run", "--no-print-directory", "--assume-old=setup", "BIN=BIN", *target],
        cwd=ROOT, env=environ, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return reported.stdout.replace("BIN/", "").strip()


@dataclass
class Shell:
    """
    A shell for the commands of a page, in its own folder.

    `instead` maps texts of the page, such as a port or a folder, to those of the test.
    """

    environ: Mapping[str, str]
    folder: Path = ROOT
    instead: Mapping[str, str] = field(default_factory=dict)

    def run(self, command: str) -> str:
        """
        Return the output of a command, from both streams.

        `aragog …` runs in this process, which is faster, and `make …` as the commands of its target.
        """
        command = self._here(command)
        if exported := re.fullmatch(r"export (\w+)=(.*)", command):
            (value,) = shlex.split(exported[2])
            self.environ = {**self.environ, exported[1]: value}
            return ""
        if command.startswith("make "):
            command = recipe(command)
        if re.match(r"aragog (?!run )[^|>;]*$", command):
            with chdir(self.folder):
                words = shlex.split(command, comments=True)[1:]
                return CliRunner().invoke(main, words, env=dict(self.environ)).output
        return self._bash(command).stdout

    def script(self, text: str) -> subprocess.CompletedProcess[str]:
        """Run the text with bash, which stops at the first command that fails."""
        return self._bash(self._here(text))

    def _here(self, text: str) -> str:
        for theirs, ours in self.instead.items():
            text = text.replace(theirs, ours)
        return text

    def _bash(self, text: str) -> subprocess.CompletedProcess[str]:
        path = f"{Path(sys.executable).parent}:{self.environ.get('PATH', os.defpath)}:{INSTEAD}"
        return subprocess.run(
            ["bash", "-ec", text],
            env={**self.environ, "PATH": path},
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )

    def mismatches(self, page: str, *, but: tuple[str, ...] = ()) -> str:
        """
        Return how the output of a page's commands differs from the page, or an empty string.

        Commands that begin with one of `but` are skipped.
        """
        differences = []
        for command, expected in examples(page):
            if command.startswith(but):
                continue
            printed = self.run(command)
            if not agrees(self._here(expected), printed):
                differences.append(f"{page}: $ {command}\n{printed}\ninstead of\n{expected}")
        return "\n".join(differences)


def agrees(expected: str, actual: str) -> bool:
    """Return True if the output is the documented one, except for line breaks and JSON's spaces."""
    pattern = expected.replace("…", "...")
    if actual.startswith("{"):
        pattern, actual = (re.sub(r"\s", "", text) for text in (pattern, actual))
    return OutputChecker().check_output(pattern, actual, ELLIPSIS | NORMALIZE_WHITESPACE)
