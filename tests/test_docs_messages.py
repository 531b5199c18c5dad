"""Error messages quoted in the documentation are raised by the code."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from aragog.urlstore.zen_remedies import REMEDIES
from tests.support.sources import all_modules

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"

# Messages of the libraries and servers behind aragog, as quoted within its own.
FOREIGN = {
    "Could not connect to",
    "Could not connect to the endpoint URL",
    "InternalError",
    "No protocol version header",
    "SlowDown",
    "TSocket read 0 bytes",
    "attempt to write a readonly database",
    "invalid version",
    "timed out",
}
# Names that are not messages: errors and metrics, whose existence other tests check.
NAMES = re.compile(r"[A-Za-z_]+")


def quoted():
    """(page, message) for each code span in the first column of a table of messages."""
    for page in sorted(DOCS.glob("*.md")):
        for head, body in re.findall(r"^(\| (?:message|symptom) \|.*)\n\|[-| ]+\n((?:\|.*\n)+)",
                                     page.read_text(), re.MULTILINE):  # fmt: skip
            assert head
            for row in body.splitlines():
                for message in re.findall(r"`([^`]+)`", row.split("|")[1]):
                    if message not in FOREIGN and not NAMES.fullmatch(message):
                        yield page.name, message


def part_of(node):
    """A part of an f-string as text: a gap for a value, unless it is one of the graph's words."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    value = node.value
    is_word = isinstance(value, ast.Attribute) and ast.unparse(value.value).endswith("words")
    return getattr(REMEDIES, value.attr) if is_word else "\0"


@cache
def texts_of_the_code():
    """All string literals of the package, f-strings with a gap for each value."""
    texts = []
    for path in all_modules():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.append(node.value)
                if "{words." in node.value:
                    texts.append(node.value.format(words=REMEDIES))
            elif isinstance(node, ast.JoinedStr):
                texts.append("".join(map(part_of, node.values)))
    return "\n".join(texts).replace("`", "")


def test_there_are_messages_to_check():
    assert len(list(quoted())) >= 10


@pytest.mark.parametrize(("page", "message"), [*quoted()])
def test_quoted_message_occurs_in_the_code(page, message):
    parts = [part.strip(" :") for part in re.split(r"…|\b\d[\w.]*", message)]

    assert [part for part in parts if len(part) > 3 and part not in texts_of_the_code()] == []
