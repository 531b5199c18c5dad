"""Which rows `bench.to_file` counts as correct, and whether every job has its programs."""

import csv
import json

import pytest

from bench.to_file.__main__ import ENDINGS, PROGRAMS
from bench.to_file.jobs import ALL, Job, _has_main_text, _same_product, _same_title

PRODUCT = {
    "name": "Lamp",
    "price": "5.10",
    "stock": "In stock",
    "sku": "L1",
    "image": "shop.test/1.jpg",
}


@pytest.fixture
def job(tmp_path):
    expected = {"shop.test/1": PRODUCT, "shop.test/2": {**PRODUCT, "name": "Chair"}}
    return Job("products", tmp_path, "", (), "products.csv", expected, _same_product)


def written(folder, *rows):
    with (folder / "products.csv").open("w", newline="") as file:
        made = csv.DictWriter(file, ["url", *PRODUCT])
        made.writeheader()
        made.writerows(rows)


def row(url, **values):
    return {**PRODUCT, "url": url, "image": "http://shop.test:8080/1.jpg", **values}


def test_port_and_price_digits_do_not_matter(job, tmp_path):
    written(tmp_path, row("http://shop.test:8080/1", price="5.1"))

    assert job.count_correct(tmp_path) == (1, 1)


@pytest.mark.parametrize(
    "difference", [{"price": ""}, {"price": "5.2"}, {"name": "lamp"}, {"image": "/1.jpg"}]
)
def test_row_with_another_value_is_wrong(job, tmp_path, difference):
    written(tmp_path, row("http://shop.test:8080/1", **difference))

    assert job.count_correct(tmp_path) == (0, 1)


def test_page_counts_once_and_only_if_requested(job, tmp_path):
    written(tmp_path, *2 * [row("http://shop.test/1")], row("http://shop.test/3"))

    assert job.count_correct(tmp_path) == (1, 3)


def test_missing_file_has_no_rows(job, tmp_path):
    assert job.count_correct(tmp_path) == (0, 0)


def test_title_may_lack_the_site_name_but_not_be_empty():
    expected = "Sets — Documentation"
    assert _same_title({"title": "Sets"}, expected)
    assert _same_title({"title": " Sets —  Documentation"}, expected)
    assert not _same_title({"title": ""}, expected)
    assert not _same_title({"title": "Se"}, expected)
    assert not _same_title({"title": "Documentation"}, expected)


def test_main_text_needs_its_heading_and_most_of_its_words():
    expected = {"heading": "sets", "words": "a set has no order at all"}
    assert _has_main_text(json.loads('{"markdown": "# Sets\\n\\nA set has no order"}'), expected)
    assert not _has_main_text({"markdown": "# Sets\n\nMenu of the site"}, expected)
    assert not _has_main_text(
        {"markdown": "a set has no order at all"}, {**expected, "heading": "x"}
    )
    assert not _has_main_text({"markdown": None}, expected)


def test_link_targets_are_not_words_of_a_heading():
    expected = {"heading": "stat reading the results", "words": "of stat"}
    linked = "# [`stat`](http://docs.test/stat.html#module-stat) — Reading the [results](/r.html)\n\nof stat"

    assert _has_main_text({"markdown": linked}, expected)


def test_every_job_has_a_program_for_each_side():
    names = {
        path.name for side in ENDINGS for path in (PROGRAMS / side).iterdir() if path.is_file()
    }
    needed = {f"{job}.{end}" for job in ALL for end in (*ENDINGS.values(), "sh")}

    assert needed <= names
