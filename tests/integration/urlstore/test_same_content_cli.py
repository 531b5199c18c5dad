"""`aragog links --same-content`: pages of a host with the same body, and near copies."""

import json

import pytest
from click.testing import CliRunner

from aragog.bootstrap.stores import url_store
from aragog.cli import main
from aragog.settings import load_settings
from aragog.urlstore.records import Likeness
from richpins.text_sketch import sketch_of
from tests.support.documented import blocks
from tests.support.stores import body, page

A, B, C = (f"https://example.com/{name}" for name in "abc")
WORDS = [f"word{n}" for n in range(300)]


@pytest.fixture
def run(tmp_path):
    environ = {"ARAGOG_DATA_DIR": str(tmp_path), "ARAGOG_SETTINGS": ""}
    opened = url_store(load_settings(environ=environ))
    for url, hash_of_body, words in ((A, "1", WORDS), (B, "1", WORDS), (C, "2", WORDS[:-1])):
        likeness = Likeness(hash_of_body * 16, sketch_of(" ".join(words)))
        opened.write_pages([page(url, content=body(hash_of_body), likeness=likeness)])
    opened.close()
    return lambda *words: CliRunner().invoke(main, ["links", A, *words], env=environ)


def test_pages_with_the_same_body_are_listed(run):
    assert run("--same-content").stdout == f"{B}\tsame\n"
    assert json.loads(run("--same-content", "--json").stdout) == {
        "url": B, "is_identical": True, "distance": 0,
    }  # fmt: skip


def test_near_copies_are_listed_with_the_number_of_different_bits(run):
    listed = dict(
        line.split("\t") for line in run("--same-content", "--within", "3").stdout.splitlines()
    )

    assert listed.keys() == {B, C}
    assert listed[C] in ("0 bits", "1 bits", "2 bits", "3 bits")
    assert run("--same-content", "--within", "3", "--limit", "1").stdout.count("\n") == 1


def test_documented_commands_list_pages(run):
    (block,) = blocks("docs/store.md#pages-with-the-same-content", "sh")
    same, near = (line.split() for line in block.splitlines())

    assert same[:3] == near[:3] == ["aragog", "links", A]
    assert run(*same[3:]).stdout == f"{B}\tsame\n"
    assert len(run(*near[3:]).stdout.splitlines()) == 2


@pytest.mark.parametrize(
    "words", [["--within", "1"], ["--same-content", "--in"], ["--within", "9"]]
)
def test_conflicting_options_are_refused(run, words):
    assert run(*words).exit_code == 2
