"""Code, documentation and project files agree."""

import ast
import importlib
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from scripts.packages import libraries
from tests.support.sources import PACKAGES, all_modules, all_tests, modules_of

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = sorted(path for package in PACKAGES for path in package.rglob("lua/*.lua"))


def test_settings_page_matches_the_code():
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        page = importlib.import_module("settings_doc").page()
    finally:
        sys.path.pop(0)

    assert (ROOT / "docs" / "settings.md").read_text() == page


@pytest.mark.parametrize("name", ["http.md", "thrift.md"])
def test_error_tables_match_the_code(name):
    from scripts.errors_doc import page

    assert (ROOT / "docs" / name).read_text() == page(name)


def test_every_schedule_entry_names_a_registered_task():
    from aragog.beat_schedule import beat_schedule
    from aragog.workers.app import app

    app.loader.import_default_modules()

    assert {entry["task"] for entry in beat_schedule.values()} <= set(app.tasks)


def test_every_task_has_its_own_queue_and_every_queue_a_worker():
    from aragog.crawl.pipeline.routing import Destination, Queue
    from aragog.tasks.routes import QUEUES_BY_TASK
    from aragog.workers.app import app
    from aragog.workers.roles import ROLES

    app.loader.import_default_modules()
    # Celery adds the shared tasks of other apps, such as an example's, to every app.
    ours = {name for name, task in app.tasks.items() if f"{task.__module__}".startswith("aragog.")}

    assert ours == set(QUEUES_BY_TASK)
    assert all(QUEUES_BY_TASK[destination.task] is destination.queue for destination in Destination)
    assert {queue for role in ROLES.values() for queue in role.queues} == set(Queue)


def test_tasks_are_acknowledged_late_and_accept_only_json():
    from aragog.workers.app import app

    app.loader.import_default_modules()

    for name in [n for n in app.tasks if n.startswith("aragog.")]:
        assert app.tasks[name].acks_late
        assert app.tasks[name].reject_on_worker_lost
    assert list(app.conf.accept_content) == ["json"]
    assert app.conf.worker_prefetch_multiplier == 1


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_lua_script_documents_its_arguments_and_return_value(script):
    head = "\n".join(line for line in script.read_text().splitlines()[:40] if line.startswith("--"))

    shared = script.with_name("prelude.lua")  # names the keys for the scripts beside it
    if script != shared:
        assert re.search(r"KEYS\[1" if not shared.exists() else r"KEYS|ARGV", head)
        assert re.search(r"[Rr]eturn|[Aa]nswer", head)
    else:
        assert "KEYS[1]" in script.read_text()


def test_lock_has_versions_and_hashes_but_no_addresses():
    for lock in ("requirements.lock", "bench/requirements.lock", "scripts/build.lock"):
        text = (ROOT / lock).read_text()

        assert "://" not in text
        assert text.count("--hash=sha256:") > 50


def test_setup_installs_nothing_without_a_hash():
    script = (ROOT / "scripts" / "setup").read_text().replace("\\\n", " ")
    installs = re.findall(r"pip (?:install|sync)[^|]*", script)

    own = [each for each in installs if "$members" in each]
    assert len(installs) == 5
    assert [each for each in installs if "--require-hashes" not in each] == own
    assert all("--no-deps --no-build-isolation" in each for each in own)
    # An isolated build installs its requirements, with or without a hash.
    assert all("--no-build-isolation" in each for each in installs if '"$lock"' in each)


def test_make_help_names_both_commands():
    reported = subprocess.run(
        ["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert "make run" in reported.stdout
    assert "make test" in reported.stdout


@pytest.mark.parametrize(
    "page",
    [
        p
        for p in sorted(ROOT.rglob("*.md"))
        # Not the files that setup, measurements and `make libraries` leave in ignored folders.
        if not {"build", "dist", ".cache"} & {*p.relative_to(ROOT).parts}
        and not p.relative_to(ROOT).parts[0].startswith(".venv")
    ],
    ids=lambda p: str(p.relative_to(ROOT)),
)
def test_links_of_a_page_lead_to_existing_files(page):
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text())

    missing = [t for t in targets if "://" not in t and not (page.parent / t).exists()]

    assert missing == []


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_class_name_appears_once_in_a_package(package):
    names = [
        node.name
        for path in modules_of(package)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    ]

    assert [name for name, count in Counter(names).items() if count > 1] == []


def checks_something(function):
    """
    Whether it asserts, expects an exception or a page, or calls a helper whose name says that it
    asserts.
    """
    return any(
        isinstance(node, ast.Assert)
        or (
            isinstance(node, ast.Call)
            and re.match(r"assert_|pytest\.(raises|fail|warns)$|expect$", ast.unparse(node.func))
        )
        for node in ast.walk(function)
    )


def test_every_test_checks_something():
    unchecked = [
        f"{path.relative_to(ROOT)}: {node.name}"
        for path in all_tests()
        if path.name.startswith("test_")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        and not checks_something(node)
    ]

    assert unchecked == []


def calls_in(path):
    """(the function's text, the first argument's text) of each call in a file."""
    text = path.read_text()
    if not re.search(r"sleep|setattr|mock|Event\(\)\.wait", text):
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call):
            first = ast.unparse(node.args[0]) if node.args else ""
            yield ast.unparse(node.func), first


def test_tests_neither_sleep_nor_patch():
    """They wait for conditions, and pass parameters instead of patching."""
    # One polls, one is a task's work, and the fault suite and the fleet sample a running system.
    sleeps = {
        "support/waiting.py",
        "support/pinlater_app.py",
        "support/limited_tasks.py",
        "chaos/laws.py",
        "chaos/run.py",
    }
    sleeps |= {f"fleet/{name}.py" for name in ("fleet", "reader", "run", "timeline")}
    # Their scenarios check that something does not happen for a while.
    sleeps |= {f"reports/doors/{name}.py" for name in ("queues", "monitors")}
    sleeps |= {"support/queue_app.py", "support/taker.py"}
    calls = [
        f"{name}: {function}({first})"
        for path in all_tests()
        for function, first in calls_in(path)
        for name in [re.sub(r"^(packages/\w+/)?tests/", "", str(path.relative_to(ROOT)))]
        if (function in ("time.sleep", "asyncio.sleep", "Event().wait") and name not in sleeps)
        or (function.endswith(".setattr") and first != "tempfile")
        or function.startswith(("mock.", "unittest.mock"))
    ]

    assert calls == []


def test_decisions_are_numbered_without_gaps_and_start_with_their_number():
    pages = sorted((ROOT / "docs" / "adr").glob("[0-9]*.md"))
    titles = [page.read_text().partition(". ")[0] for page in pages]

    assert [int(page.name[:4]) for page in pages] == list(range(1, len(pages) + 1))
    assert titles == [f"# {number}" for number in range(1, len(pages) + 1)]


def test_index_has_each_decision_with_its_title_and_status():
    folder = ROOT / "docs" / "adr"
    index = (folder / "README.md").read_text()
    for page in sorted(folder.glob("[0-9]*.md")):
        number, _, title = page.read_text().partition("\n")[0][2:].partition(". ")
        status = re.search(r"^\*\*Status:\*\* (.*)\.$", page.read_text(), re.MULTILINE)[1]

        assert f"| {number} | [{title}]({page.name}) | {status} |" in index


def imported_by(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_every_stage_and_pipeline_module_is_imported_by_a_test():
    tests = [p for p in all_tests() if p.name.startswith("test_") and p != Path(__file__)]
    imported = {name for path in tests for name in imported_by(path)}
    modules = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for package in ("stages", "pipeline")
        for path in (ROOT / "aragog" / "crawl" / package).rglob("*.py")
        if path.stem != "__init__"
    }

    # These contain protocols and a dataclass of the stages, and nothing to run.
    assert modules - imported == {
        "aragog.crawl.stages.process_stages",
        "aragog.crawl.pipeline.ports",
    }


def parts_of(package):
    """The names of a package's modules and of its folders."""
    modules = {path.stem for path in package.glob("*.py")} - {"__init__"}
    return modules, {path.parent.name for path in package.glob("*/__init__.py")}


def listed_of(package):
    """The names under `Public:` in the docstring of a package; None without such a list."""
    text = ast.get_docstring(ast.parse((package / "__init__.py").read_text())) or ""
    _, heading, listed = text.partition("Public:\n\n")
    return set(re.findall(r"^ {4}(\w+) +\S", listed, re.MULTILINE)) if heading else None


def is_public(package, name, *, is_whole):
    """
    Whether others may import a module or folder of a package.

    They may if the docstring of the package lists it. Without a list, a package's own modules are
    public, and of its folders the contents of their `__init__` (`is_whole`).
    """
    if (listed := listed_of(package)) is not None:
        return name in listed
    modules, _ = parts_of(package)
    return name in modules or is_whole


def module_of(name):
    """The parts of the aragog module that a dotted name is, or is in; none for other names."""
    parts = name.split(".") if name.startswith("aragog.") else []
    while parts and not any(
        path.exists()
        for path in (ROOT.joinpath(*parts, "__init__.py"), ROOT.joinpath(*parts).with_suffix(".py"))
    ):
        parts.pop()
    return parts


def private_imports(source):
    """The imports of a module from other packages that are not public there."""
    own = list(source.relative_to(ROOT).with_suffix("").parts)
    for parts in map(module_of, set(imported_by(source))):
        for depth in range(2, len(parts)):
            is_whole, package = depth == len(parts) - 1, ROOT.joinpath(*parts[:depth])
            if own[:depth] != parts[:depth] and not is_public(
                package, parts[depth], is_whole=is_whole
            ):
                yield ".".join(parts)


def test_modules_import_only_public_names_of_other_packages():
    wired = {
        f"{source.relative_to(ROOT)} imports {name}"
        for source in modules_of(ROOT / "aragog")
        for name in private_imports(source)
    }
    # Wiring and contracts of engines know the tables of each engine.
    tables = {each for each in wired if " imports zengraph.tables." in each}

    assert wired - tables == set()
    assert len(tables) <= 12


def test_listed_public_names_exist():
    lists = {
        package: listed
        for package in (path.parent for path in (ROOT / "aragog").rglob("__init__.py"))
        if (listed := listed_of(package)) is not None
    }

    assert len(lists) >= 10
    assert [
        f"{package}: {name}"
        for package, listed in lists.items()
        for name in listed - set().union(*parts_of(package))
    ] == []


# Not tests of one module: what all modules import, how tests run, and the code as a whole.
CROSSCUTTING = {
    "pages/test_regex_growth.py",
    "test_declared_imports.py",
    "test_imports.py",
    "test_old_names.py",
    "test_short_forms.py",
}
# They test folders beside the package.
FOLDERS = {"bench", "chaos", "fleet", "deploy", "scripts", "support"}


def names_of(package):
    """
    The names after which a test of the package may be named: the package, its folders and its
    modules.
    """
    modules = {path.stem.lstrip("_") for path in package.rglob("*.py") if path.stem != "__init__"}
    folders = {path.name.lstrip("_") for path in package.rglob("*/") if path.is_dir()}
    return {package.name} | folders | modules


UNIT_TESTS = {ROOT / "tests" / "unit": ROOT / "aragog"} | {
    library.root / "tests" / "unit": library.package for library in libraries()
}


@pytest.mark.parametrize("unit", UNIT_TESTS, ids=lambda unit: UNIT_TESTS[unit].name)
def test_unit_test_is_named_after_its_module(unit):
    strangers = []
    for test in unit.rglob("test_*.py"):
        place = test.relative_to(unit).as_posix()
        folder, _, _ = place.rpartition("/")
        if place in CROSSCUTTING or folder in FOLDERS:
            continue
        name, package = test.stem.removeprefix("test_"), UNIT_TESTS[unit] / folder
        modules = (
            names_of(package) if folder else {p.stem.lstrip("_") for p in package.glob("*.py")}
        )
        if not any(name == module or name.startswith(f"{module}_") for module in modules):
            strangers.append(place)

    assert strangers == []


def parameters(node):
    """The names that the `Args` section of a function's or class's docstring may describe."""
    if isinstance(node, ast.ClassDef):
        own = {item.target.id for item in node.body if isinstance(item, ast.AnnAssign)}
        made_by = [f for f in node.body if getattr(f, "name", "") in ("__init__", "__new__")]
        return own.union(*map(parameters, made_by))
    listed = node.args
    named = [*listed.posonlyargs, *listed.args, *listed.kwonlyargs, listed.vararg, listed.kwarg]
    return {argument.arg for argument in named if argument}


def described(docstring):
    """The names that the `Args` section of a docstring describes."""
    section = re.search(r"^Args:\n((?: .*\n?|\n)+)", docstring, re.MULTILINE)
    lines = re.findall(r"^    (\w+(?:, \w+)*):", section[1] if section else "", re.MULTILINE)
    return {name for line in lines for name in line.split(", ")}


def test_docstrings_describe_existing_parameters():
    leftovers = []
    for source in all_modules():
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names = described(ast.get_docstring(node) or "") - parameters(node)
                leftovers += [f"{source.name}: {node.name}: {name}" for name in sorted(names)]

    assert leftovers == []


# Errors of these programs differ only in their text.
FOREIGN_TEXTS = {"http1/tls.py", "encodings/detection.py", "hbase/table.py"}
# The evidence of an alias is kept as text.
STORED_TEXTS = {"dashboard/explanation.py"}


def test_no_code_decides_by_the_words_of_a_reason():
    """A reason is for people; what programs must distinguish has a type."""
    wrong = []
    for path in all_modules():
        if any(str(path).endswith(name) for name in FOREIGN_TEXTS | STORED_TEXTS):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if _reads_prose(node):
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}")

    assert wrong == []


@pytest.mark.parametrize(
    ("code", "reads"),
    [
        ("reason == TAKEN_DOWN", True),
        ("outcome.reason in (NO_RULES, NO_SLOT)", True),
        ("' resolves to ' not in outcome.reason", True),
        ("outcome.reason.startswith('robots')", True),
        ("_NAME.findall(problem.reason)", True),
        ("re.search('robots', reason)", True),
        ("reason is None", False),
        ("outcome.cause in (A, B)", False),
    ],
)
def test_comparison_of_a_reason_is_detected(code, reads):
    assert _reads_prose(ast.parse(code, mode="eval").body) is reads


def _reads_prose(node: ast.AST) -> bool:
    if isinstance(node, ast.Compare):
        texts = (ast.Eq, ast.NotEq, ast.In, ast.NotIn)
        sides = (node.left, *node.comparators)
        return any(isinstance(op, texts) for op in node.ops) and any(map(_is_reason, sides))
    called = node.func if isinstance(node, ast.Call) else None
    if not isinstance(node, ast.Call) or not isinstance(called, ast.Attribute):
        return False
    patterns = ("search", "match", "fullmatch", "findall", "finditer")
    if called.attr in patterns and any(map(_is_reason, node.args)):
        return True
    return called.attr in (
        "startswith",
        "endswith",
        "find",
        "index",
        "partition",
        "split",
    ) and _is_reason(called.value)


def _is_reason(node: ast.AST) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None)
    return name in ("reason", "why")
