"""The documentation of page extraction is true; tests/test_docs_code.py runs its examples."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest

from aragog.settings import Settings
from richpins import _markup_limits as markup_limits
from richpins import document, links, provenance
from richpins.encodings import detection, prescan
from richpins.extraction import MAX_PROBLEMS
from richpins.page_facts import site_names
from richpins.page_types import NAMES, page_types, product, recipe
from richpins.rich_pins import FIELDS_VERSION, PAGE_FIELDS
from richpins.structured_data import graph, jsonld, lenient_json, microdata_rdfa
from richpins.values import images
from richpins.visible_text import captions, price, section_headings, sections

DOCS = Path(__file__).parents[1] / "docs"


def test_every_stored_field_is_documented():
    text = (DOCS / "extraction.md").read_text()
    names = {name.rpartition(".")[2] for name in _named(text)}

    for page_type in page_types():
        for each in fields(page_type.record):
            assert each.name in names, f"{page_type.name}.{each.name}"
    assert names >= set(PAGE_FIELDS)
    assert f"Format version: {FIELDS_VERSION} " in text


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("page.type", {*NAMES, "page"}),
        ("product.availability", set(get_args(product.Availability))),
        ("product.condition", set(get_args(product.Condition))),
    ],
)
def test_documented_values_of_a_field_match_the_code(field, values):
    text = (DOCS / "extraction.md").read_text().partition("## Stored fields")[2]
    (row,) = [line for line in text.splitlines() if line.startswith(f"| {field} |")]

    assert set(re.findall(r"\w+", row.split("|")[2])) - {"or"} == values


PIPELINE = Settings().pipeline
BOUNDS = [
    f"| {PIPELINE.page_max_cpu_s:g} s, {PIPELINE.page_max_memory_bytes >> 30} GiB (",
    f"| body | {markup_limits.MAX_BODY_BYTES >> 20} MiB; the rest is not read |",
    f"elements | {document.MAX_HEAD_ELEMENTS:,}; only the first {document.MAX_HEADINGS} headings are compared",
    (
        f"| items of a page | {graph.MAX_NODES:,}, nested {graph.MAX_DEPTH} deep;"
        f" {graph.MAX_VALUES:,} values of a"
    ),
    (
        f"| JSON-LD | {jsonld.MAX_BLOCKS} blocks, {jsonld.MAX_TOTAL_CHARS:,} characters; a"
        f" malformed block {lenient_json.MAX_MALFORMED_CHARS:,} |"
    ),
    (
        f"| microdata, RDFa | {microdata_rdfa.MAX_MARKED_ELEMENTS:,} marked elements;"
        f" {microdata_rdfa.MAX_REFERENCED:,} reached through `itemref`; {microdata_rdfa.MAX_VALUE_CHARS:,} characters of values |"
    ),
    f"| ingredients, steps | {recipe.MAX_INGREDIENTS} each |",
    f"| headings; lists without one | {section_headings._MAX_HEADINGS:,}; {sections._MAX_LISTS} |",
    (
        f"| text searched for captions of times and servings, such as `Prep time` | {captions.MAX_CHARS:,} characters;"
        f" {captions._MAX_TOKENS} durations and captions |"
    ),
    f"| images | {images.MAX_IMAGES}; in the page itself the first {images.MAX_EXAMINED} are",
    f"| bytes searched for the host's name | {site_names._MAX_SEARCHED_BYTES:,} at the start",
    f"| elements whose class contains `price` | {price._MAX_EXAMINED} after the h1 |",
    (
        f"| conflicts, dropped, problems | {provenance.MAX_CONFLICTS} per field,"
        f" {provenance.MAX_DROPPED}, {MAX_PROBLEMS} |"
    ),
    f"in the first {prescan.PRESCAN_BYTES:,} bytes",
    f"a meta element in the first {detection._LATE_DECLARATION_BYTES >> 10} KiB",
    f"chardet's result from a confidence of {detection._DETECTION_CONFIDENCE} on",
    f"**More than {markup_limits._MAX_UNCHECKED_TAGS:,} tags.**",
    f"nested deeper than {markup_limits.MAX_DEPTH} elements, and stops at {markup_limits.MAX_TAGS:,} tags",
    f"the number of tags is over {markup_limits._MAX_REOPENED:,}",
    (
        f"**A tag over {markup_limits.MAX_TAG_BYTES >> 10} KiB** with more than"
        f" {markup_limits.MAX_ATTRIBUTES:,} attributes"
    ),
    f"cut at {links.MAX_TEXT_CHARS} characters",
    (f"at most {PIPELINE.max_links_per_page:,} with {links.MAX_TOTAL_CHARS:,} characters together"),
    f"declared under {images.PRESENTABLE_PIXELS} pixels",
    f"steps of fewer than {recipe._MIN_STEPS_CHARS} characters together",
]


@pytest.mark.parametrize("statement", BOUNDS)
def test_documented_limit_of_the_analysis_matches_the_code(statement):
    pages = (DOCS / "extraction.md", DOCS.parent / "packages/richpins/RULES.md")
    assert any(statement in " ".join(page.read_text().split()) for page in pages)


def _named(text: str) -> list[str]:
    """The names in the first column of the table."""
    rows = (line.split("|")[1] for line in text.splitlines() if line.startswith("|"))
    return [name.strip() for row in rows for name in row.split(",")]
