"""Custom extractors: their fields are added to the Rich Pin's, and a failing one affects no other."""

from importlib.metadata import EntryPoint

import orjson
import pytest

from aragog.crawl.stages.page_analysis import read_page
from aragog.errors import ConfigError, InvalidField
from aragog.pages import extractors
from aragog.pages.extractors import MAX_VALUE_BYTES, Extracted, ExtractorPage, to_fields
from tests.support.byte_streams import html_result

URL = "https://jobs.test/1"
PAGE = b"<title>A job</title><p class=salary>50,000</p>"
RECIPE = b"""<title>Soup</title><script type="application/ld+json">{"@type": "Recipe", "name": "Soup",
    "recipeIngredient": ["1 leek"]}</script><p class=salary>9</p>"""


def jobs(page: ExtractorPage) -> Extracted | None:
    node = page.document.tree.css_first(".salary")
    if node is None:
        return None
    values = {"salary": int(node.text().replace(",", "")), "title": page.pin.title, "none": None}
    return Extracted(values, page_type="jobs")


def fails(page: ExtractorPage) -> Extracted:
    raise ZeroDivisionError


def read(body, **extractors):
    return read_page(html_result(URL), body, agent="aragog", max_links=9, extractors=extractors)


def test_fields_are_stored_as_json_with_their_source_and_page_type():
    analysis = read(PAGE, jobs=jobs)

    assert orjson.loads(analysis.fields["jobs.salary"]) == 50_000
    assert orjson.loads(analysis.fields["jobs.title"]) == "A job"
    assert "jobs.none" not in analysis.fields
    assert analysis.provenance["jobs.salary"] == "extractor jobs"
    assert analysis.page_type == "jobs"
    assert analysis.complete


def test_page_with_a_rich_pin_keeps_its_type():
    analysis = read(RECIPE, jobs=jobs)

    assert (analysis.page_type, analysis.fields["jobs.salary"]) == ("recipe", b"9")


def test_failing_extractor_leaves_the_others_and_an_incomplete_page():
    analysis = read(PAGE, broken=fails, jobs=jobs)

    assert analysis.fields["jobs.salary"] == b"50000"
    assert analysis.problems == ("extractor broken: ZeroDivisionError: ",)
    assert not analysis.complete


@pytest.mark.parametrize(
    ("extracted", "message"),
    [
        (Extracted({"Salary": 1}), "jobs.Salary"),
        (Extracted({"salary": object()}), "jobs.salary"),
        (Extracted({"salary": "x" * MAX_VALUE_BYTES}), "larger than"),
        (Extracted({f"f{n}": n for n in range(101)}), "more than 100"),
        (Extracted(page_type="product"), "page type"),
    ],
)
def test_invalid_field_is_refused_by_name(extracted, message):
    with pytest.raises(InvalidField, match=message):
        to_fields("jobs", extracted)


DECLARED = (
    EntryPoint("jobs", "tests.unit.pages.test_extractors:jobs", extractors.GROUP),
    EntryPoint("gone", "tests.unit.pages.no_such_module:jobs", extractors.GROUP),
)
"""One works, and one cannot be imported."""


def test_declared_extractor_is_loaded_by_name():
    assert extractors.load_from(DECLARED, ("jobs",))["jobs"].__name__ == "jobs"


@pytest.mark.parametrize(
    ("name", "problem"),
    [("nobody", "declared: gone, jobs"), ("gone", "cannot be loaded"), ("No!", "letters")],
)
def test_unknown_extractor_gives_a_clear_error(name, problem):
    with pytest.raises(ConfigError, match=problem):
        extractors.load_from(DECLARED, (name,))
