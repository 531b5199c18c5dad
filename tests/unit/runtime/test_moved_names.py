"""Names from version 0.1 still import the renamed modules, with a warning."""

import subprocess
import sys

import pytest

from aragog.runtime.moved_names import MOVED, new_name

# Split in two: no code may use these names anymore.
OLD = "aragog" + "."
DOCUMENTED = [
    "fetcher.fetcher",
    "fetcher.outcome",
    "fetcher.ssrf",
    "pages.document",
    "pages.rich_pins",
    "pinlater",
    "pinlater.brokers",
    "pinlater.job_types",
    "pinlater.policy",
    "pipeline.enqueue_results",
    "pipeline.webhook_signatures",
    "politeness.robots_rules",
    "scrapy",
    "scrapy.addon",
    "scrapy.download_handler",
    "scrapy.dupefilter",
    "scrapy.item_pipeline",
    "scrapy.scheduler",
    "scrapy.stored_pages",
    "testing.shard",
    "urls",
    "urls.canonical",
    "zen.tables.sqlite",
]


def run(code, *options):
    done = subprocess.run(
        [sys.executable, *options, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("new_first", [True, False])
def test_documented_old_names_are_the_same_modules(new_first):
    names = {OLD + name: new_name(OLD + name) for name in DOCUMENTED}
    order = "reversed(pair)" if new_first else "pair"
    code = f"""
from importlib import import_module
for pair in {list(names.items())!r}:
    one, other = map(import_module, {order})
    assert one is other, pair
print("same")
"""

    assert run(code, "-W", "ignore::DeprecationWarning") == "same\n"


def test_old_name_warns_at_the_import_and_gives_the_new_name():
    code = f"""
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", DeprecationWarning)
    from {OLD}pipeline import webhook_signatures
ours = [each for each in caught if "{OLD}" in str(each.message)]
print([str(each.message) for each in ours], {{each.filename for each in ours}})
"""

    assert run(code) == (
        f"['{OLD}pipeline was renamed to aragog.crawl.pipeline; the next release removes the old name'] "
        "{'<string>'}\n"
    )


def test_scrapy_addon_is_found_by_its_old_path():
    code = f"""
from scrapy.settings import Settings
from scrapy.utils.misc import load_object
from aragog.addons.scrapy.addon import AragogAddon
from aragog.addons.scrapy.scheduler import SpiderScheduler
settings = Settings({{"ADDONS": {{"{OLD}scrapy.addon.AragogAddon": 0}}}})
assert [load_object(path) for path in settings["ADDONS"]] == [AragogAddon]
assert load_object("{OLD}scrapy.scheduler.SpiderScheduler") is SpiderScheduler
print("found")
"""

    assert run(code, "-W", "ignore::DeprecationWarning") == "found\n"


def test_program_of_the_old_package_runs():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", f"{OLD}pinlater", "--help"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "Usage:" in done.stdout


def test_old_name_of_the_url_library_still_works():
    code = (
        f"from {OLD}urls import InvalidUrl, normalize, url_key; print(normalize('http://a.test'))"
    )

    assert run(code, "-W", "ignore::DeprecationWarning") == "http://a.test/\n"


def test_unknown_name_is_reported_as_missing():
    code = f"""
try:
    import {OLD}fetcher.nothing
except ModuleNotFoundError as error:
    print(error)
try:
    import {OLD}nothing
except ModuleNotFoundError as error:
    print(error)
"""

    assert run(code, "-W", "ignore::DeprecationWarning") == (
        "No module named 'aragog.crawl.fetcher.nothing'\nNo module named 'aragog.nothing'\n"
    )


def test_no_module_of_aragog_has_an_old_name():
    code = f"""
import pkgutil, aragog
names = [found.name for found in pkgutil.walk_packages(aragog.__path__, "aragog.")]
print(sorted({{name.removeprefix("aragog.") for name in names}} & {set(MOVED)!r}))
"""

    assert run(code) == "[]\n"


OLD_PACKAGE = f"""
from {OLD}pages.document import Document
from aragog.pages.extractors import Extracted

def jobs(page):
    assert isinstance(page.document, Document)
    return Extracted({{"salary": page.document.tree.css_first("b").text()}})

def main_text(page, form):
    assert isinstance(page, Document)
    return form + page.tree.css_first("b").text()
"""
POINTS = (
    "[aragog.extractors]\njobs = jobboard:jobs\n[aragog.text_finders]\nmain = jobboard:main_text\n"
)
"""The entry point groups have the names used by version 0.1."""


def test_package_for_version_0_1_still_works_with_a_warning(tmp_path):
    (tmp_path / "jobboard.py").write_text(OLD_PACKAGE)
    info = tmp_path / "jobboard-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: jobboard\nVersion: 1\n")
    (info / "entry_points.txt").write_text(POINTS)
    code = f"""
import sys, warnings
sys.path.insert(0, {str(tmp_path)!r})
from aragog.pages import extractors, main_text
from richpins.document import parse
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", DeprecationWarning)
    extract = extractors.load(("jobs",))["jobs"]
page = parse(b"<b>90</b>", url="http://a.test/", content_type="text/html")
print(dict(extract(extractors.ExtractorPage(page, None)).fields), main_text.load("main").find(page, "text"))
print({{str(each.message) for each in caught if "{OLD}" in str(each.message)}})
"""

    output, warned = run(code).splitlines()

    assert output == "{'salary': '90'} text90"
    assert f"{OLD}pages.document was renamed to richpins.document" in warned
