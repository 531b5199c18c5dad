"""Statements of the documentation about the code are true."""

import re
from pathlib import Path
from typing import get_args

import pytest

from scripts.packages import libraries
from tests.support.documented import anchor_of, blocks
from tests.support.sources import PACKAGES, all_modules

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *DOCS.rglob("*.md"),
        *ROOT.glob("aragog/**/*.md"),
        *ROOT.glob("packages/*/*.md"),
        *ROOT.glob("examples/*.md"),
    ]
)
SOURCES = {".py", ".lua", ".html"}
GLOSSARY = (DOCS / "glossary.md").read_text()
ARCHITECTURE = (DOCS / "architecture.md").read_text()

LIVING = [page for page in PAGES if page.name != "CHANGELOG.md"]
"""Pages about the current state; the changelog also names what existed earlier."""


def page_id(page):
    return str(page.relative_to(ROOT))


def rows(page, heading):
    """The cells of the rows of the first table under a heading."""
    part = page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_glossary_links_existing_modules():
    targets = re.findall(r"\]\((\.\./aragog/[^)]+)\)", GLOSSARY)

    assert len(targets) > 100
    assert [target for target in targets if not (DOCS / target).is_file()] == []


def test_every_glossary_row_links_a_module():
    table = [line for line in GLOSSARY.splitlines() if re.match(r"\| (?!term)", line)]

    assert [line for line in table if not re.search(r"\]\(\.\./(aragog|packages)/", line)] == []


def test_glossary_has_the_words_of_the_public_code():
    from aragog.client import Aragog
    from aragog.crawl.pipeline.enqueue_results import EnqueueStatus
    from aragog.fetch_record.outcome import Outcome
    from pinlater.models import JobState

    words = {kind.__name__ for kind in get_args(Outcome)}
    words |= {str(status.value) for status in EnqueueStatus}
    words |= {str(state.value) for state in JobState}
    words |= {"input", "status", "reason", "run_after", "canonical_url"}
    words |= {"enqueue", "watch", "unwatch", "backlog", "counters", "in_flight"}

    assert all(hasattr(Aragog, name) for name in ("enqueue", "watch", "unwatch", "backlog"))
    assert sorted(word for word in words if word not in GLOSSARY) == []


def test_architecture_lists_the_folders_of_the_package():
    package = ROOT / "aragog"
    folders = {
        f"aragog/{path.relative_to(package)}"
        for pattern in ("*/", "*/*/", "*/*/*/")
        for path in package.glob(pattern)
        if path.is_dir()
        and path.name != "__pycache__"
        and any(f.suffix in SOURCES for f in path.rglob("*"))
    }
    documented = [row[0].strip("`") for row in rows(ARCHITECTURE, "Where the code is")]

    assert sorted(documented) == sorted(folders)


def test_readme_tree_has_every_package():
    tree = (ROOT / "README.md").read_text().partition("## Where things are")[2].partition("## ")[0]
    packages = {path.parent.name for path in (ROOT / "aragog").glob("*/__init__.py")}
    packages |= {library.root.name for library in libraries()}

    assert packages - set(re.findall(r"(\w+)/", tree)) == set()


def test_system_diagram_has_every_queue_and_worker():
    from aragog.crawl.pipeline.routing import Queue
    from aragog.workers.roles import ROLES

    (drawing,) = blocks("docs/architecture.md", "text", " producers")
    (queues,) = re.findall(r"│ +(\w+(?: · \w+)+) +│", drawing)

    assert set(queues.split(" · ")) == {queue.value for queue in Queue}
    assert sorted(role for role in ROLES if role not in drawing) == []


def test_job_diagram_has_every_state():
    from pinlater.models import JobState

    (drawing,) = blocks("docs/architecture.md", "text", " PENDING")

    assert set(re.findall(r"[A-Z]{5,}", drawing)) == {state.value for state in JobState}


def test_limiter_diagram_uses_existing_names():
    (drawing,) = blocks("docs/politeness.md", "text")
    code = "".join(path.read_text() for path in (ROOT / "aragog/crawl/politeness").rglob("*.py"))
    names = set(re.findall(r"[a-z]+_[a-z]+|[A-Z][a-z]+[A-Z][a-z]+", drawing)) | {"reserve"}

    assert names == {"reserve", "acquire_permit", "release_permit", "RateExceeded"}
    assert [name for name in names if not re.search(rf"(def|class) {name}\b", code)] == []


def test_package_docstrings_that_list_modules_are_complete():
    """In the docstring, one per line: `name.py`, two spaces, a description."""
    lists = {}
    for path in all_modules():
        if path.stem != "__init__":
            continue
        if listed := re.findall(r"^ {4}(\w+)\.py {2}", path.read_text(), re.MULTILINE):
            modules = {module.stem for module in path.parent.glob("*.py")} - {"__init__"}
            lists[page_id(path)] = modules ^ set(listed)

    assert len(lists) >= 2
    assert {name: wrong for name, wrong in lists.items() if wrong} == {}


def test_architecture_has_every_redis_key_of_the_code():
    sources = [
        path.read_text()
        for part in ("pipeline", "politeness")
        for path in sorted((ROOT / "aragog" / "crawl" / part).rglob("*"))
        if path.suffix in {".py", ".lua"}
    ]
    keys = {
        key.rstrip(":")
        for text in sources
        for key in re.findall(r"\{(?:self\._)?prefix\}([a-z_0-9]+(?:[.:][a-z_]+)?)", text)
    }
    documented = " ".join(row[0] for row in rows(ARCHITECTURE, "Keys in Redis"))
    names = {name.partition(":<")[0] for name in re.findall(r"`([^`]+)`", documented)}

    assert len(keys) > 10
    assert sorted(keys - names) == []


@pytest.mark.parametrize(
    ("page", "heading"),
    [("architecture.md", "Tables"), ("design/tables.md", "Row keys and cells")],
)
def test_page_lists_the_tables_of_the_store(page, heading):
    from zengraph.tables import TABLES

    cells = [row[0] for row in rows((DOCS / page).read_text(), heading)]

    assert {name for cell in cells for name in re.findall(r"`(\w)`", cell)} == set(TABLES)


@pytest.mark.parametrize("page", LIVING, ids=page_id)
def test_page_names_existing_files(page):
    named = re.findall(
        r"(?<![\w/.])((?:aragog|packages|tests|tasks|workers|bench|deploy|docs|scripts|examples)/[\w/.-]+)",
        page.read_text(),
    )
    files = {name.rstrip(".") for name in named if not re.match(r"aragog/\d", name)}

    assert sorted(name for name in files if not (ROOT / name).exists()) == []


@pytest.mark.parametrize(
    "page",
    [p for p in PAGES if p.parent in (ROOT, DOCS) and p.name != "CHANGELOG.md"],
    ids=page_id,
)
def test_page_names_modules_by_existing_paths(page):
    """Paths relative to the package, such as `stages/fetch.py`, and those in link texts."""
    paths = set(re.findall(r"[`\[]((?:[a-z0-9_]+/)+[a-z0-9_]+\.(?:py|lua))[`\]]", page.read_text()))

    places = (ROOT, *PACKAGES, *(package.parent for package in PACKAGES))
    assert sorted(p for p in paths if not any((place / p).exists() for place in places)) == []


def anchors(page):
    """The anchors of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {anchor_of(heading) for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_link_anchors_match_headings(page):
    links = re.findall(r"\]\(([^)#\s:]*)#([^)\s]+)\)", page.read_text())

    targets = [(page.parent / name if name else page, anchor) for name, anchor in links]
    assert [f"{path}#{at}" for path, at in targets if at not in anchors(path)] == []


@pytest.mark.parametrize("page", LIVING, ids=page_id)
def test_page_names_existing_modules(page):
    text = page.read_text()
    modules = set(re.findall(r"`((?:aragog|bench)(?:\.[a-z_0-9]+)+)`", text))
    modules |= set(re.findall(r"python -m (bench\.\w+)", text))

    missing = [
        name
        for name in sorted(modules - {"aragog.toml"})
        if not (ROOT / name.replace(".", "/")).with_suffix(".py").exists()
        and not (ROOT / name.replace(".", "/")).exists()
        and not (ROOT / name.rpartition(".")[0].replace(".", "/")).with_suffix(".py").exists()
    ]
    assert missing == []


@pytest.mark.parametrize("page", [p for p in PAGES if p.name != "CHANGELOG.md"], ids=page_id)
def test_page_names_existing_settings(page):
    from dataclasses import fields

    from aragog.settings import Settings

    sections = {field.name: getattr(Settings(), field.name) for field in fields(Settings)}
    pairs = re.findall(r"`([a-z]+)\.([a-z_0-9]+)`", page.read_text())
    named = [pair for pair in pairs if hasattr(sections.get(pair[0]), "__dataclass_fields__")]

    assert [pair for pair in named if not hasattr(sections[pair[0]], pair[1])] == []


def test_changelog_names_existing_pages():
    """Pages that were merged or renamed, such as docs/scale.md, which no longer open."""
    text = (ROOT / "CHANGELOG.md").read_text()
    named = set(re.findall(r"\b(docs/[\w/.-]+\.md)(?:#([\w-]+))?", text))

    missing = [name for name, _ in named if not (ROOT / name).is_file()]
    assert sorted(missing) == []
    assert (
        sorted(f"{name}#{at}" for name, at in named if at and at not in anchors(ROOT / name)) == []
    )


def test_store_page_lists_its_parts():
    from aragog.settings import StoreSettings
    from aragog.urlstore.content.memory import MemoryContent
    from aragog.urlstore.store import UrlStore
    from zengraph.tables.memory import MemoryTables

    store = UrlStore(MemoryTables(), MemoryContent(), StoreSettings())
    parts = {name for name in vars(store) if not name.startswith("_")} - {"formats"}
    documented = [row[0] for row in rows((DOCS / "store.md").read_text(), "Parts")]

    assert {name.strip("`").removeprefix("UrlStore.") for name in documented} == parts


def test_fetching_page_lists_the_facts():
    from aragog.crawl.pipeline.messages import UrlJob
    from aragog.crawl.stages.page_analysis import PageAnalysis
    from aragog.crawl.stages.page_updates import failure_update, page_update
    from aragog.fetch_record.outcome import OutcomeKind
    from aragog.pages.preferences import UseStatement
    from aragog.settings import Settings
    from tests.support.fetch_results import fetch_result
    from tests.support.stores import store_harness
    from urlspelling.canonical import Evidence, decide
    from zengraph.tables.memory import MemoryTables

    url = "http://a.example/"
    fetched = fetch_result(
        job=UrlJob(url=url, purposes="search"), outcome=OutcomeKind.FETCHED, final_url=url, status=200, reason="cut",
        fetched_at_ms=1000, address="192.0.2.1", content_type="text/html", rendering="rendered",
        headers=(("ETag", '"1"'), ("Last-Modified", "Thu, 01 Jan 1970 00:00:00 GMT")),
        robots_preferences="search=y (robots.txt line 1, Content-Usage: search=y)",
    )  # fmt: skip
    failed = fetch_result(
        job=UrlJob(url=url), outcome=OutcomeKind.PAYMENT_REQUIRED, final_url=f"{url}paid", status=402,
        fetched_at_ms=2000, crawler_price="USD 0.01", cause="robots",
    )  # fmt: skip
    evidence = Evidence(url=url, final_url=url)
    analysis = PageAnalysis(
        evidence=evidence, links=(), fields={}, provenance={}, page_type="page", noindex=False,
        nofollow=False, complete=True, problems=("links: ValueError",), unavailable_after_ms=1,
        preferences=(UseStatement("search", "y", "header Content-Usage: search=y"),),
    )  # fmt: skip
    store = store_harness(MemoryTables()).store
    settings = Settings()
    store.write_pages([page_update(fetched, analysis, decide(evidence), settings).write])
    stored = set(store.get(url).facts)
    store.write_pages([failure_update(failed, settings).write])
    stored |= set(store.get(url).facts)

    table = rows((DOCS / "fetching.md").read_text(), "Page facts")
    assert {name for row in table for name in re.findall(r"`(\w+)`", row[0])} == stored


def test_fetching_page_lists_the_headers_that_are_always_kept():
    from aragog.crawl.pipeline.fetch_results import NEEDED_HEADERS

    page = (DOCS / "fetching.md").read_text()

    assert sorted(name for name in NEEDED_HEADERS if f"`{name}`" not in page) == []


def test_every_page_is_in_the_list_of_pages():
    listed = set(re.findall(r"\]\((\w[\w-]*\.md)\)", (DOCS / "contents.md").read_text()))

    assert {page.name for page in DOCS.glob("*.md")} - listed == {"contents.md"}


def test_readme_has_few_links():
    readme = (ROOT / "README.md").read_text()

    assert len(re.findall(r"(?<!!)\[[^\]]+\]\(", readme)) <= 8


def test_every_page_is_in_the_site_navigation():
    config = (ROOT / "mkdocs.yml").read_text()

    assert [page.name for page in DOCS.glob("*.md") if f": {page.name}\n" not in config] == []


def test_changelog_has_each_section_of_a_version_once():
    for version in (ROOT / "CHANGELOG.md").read_text().split("\n## ")[1:]:
        sections = re.findall(r"^### (.+)$", version, re.MULTILINE)

        assert len(sections) == len(set(sections))
