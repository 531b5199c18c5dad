"""The current version on the data folder of an earlier one, with waiting jobs."""

import json
import tarfile
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from aragog.bootstrap.stores import url_store
from aragog.cli import main
from aragog.client import Aragog
from aragog.settings import load_settings
from richpins.rich_pins import EXTRACTOR_VERSION
from tests.support.standalone import standalone
from zengraph.tables import FORMAT

pytestmark = [pytest.mark.redis, pytest.mark.slow]

ARCHIVES = sorted((Path(__file__).parents[1] / "data" / "earlier").glob("*.tar.xz"))
WAITING = [f"http://www.shop.test/p/later-{number}" for number in range(5)]
# Python 3.11 in Debian 12 has no filters; later versions require one.
FILTER = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
LAMP = "http://www.shop.test/p/brass-lamp"


@pytest.fixture(scope="module", params=ARCHIVES, ids=lambda path: path.name.partition(".")[0])
def left(request):
    """The folder as the earlier version left it; its path is short because it contains sockets."""
    with tempfile.TemporaryDirectory(prefix="ar") as folder:
        with tarfile.open(request.param) as archive:
            archive.extractall(folder, **FILTER)
        yield Path(folder)


@pytest.fixture(scope="module")
def system(left, demo_web):
    # Without beat: all pages of an old folder are due, and fetching them would extract them again.
    with standalone(demo_web, folder=left / "var", frontends=()) as running:
        yield running


def aragog(folder, *arguments):
    environ = {"ARAGOG_DATA_DIR": str(folder), "ARAGOG_SETTINGS": ""}
    ran = CliRunner().invoke(main, list(map(str, arguments)), env=environ)
    assert ran.exit_code == 0, ran.output
    return ran.output


def field(store, name):
    return json.loads(store.get(LAMP).fields[name])


def without_new_data(line):
    """
    An exported record without data that earlier versions did not export: the fetch of an alias.
    """
    record = json.loads(line)
    if "fields" in record or "canonical_url" not in record or not record.pop("facts", None):
        return line
    return json.dumps(record, separators=(",", ":"))


# The tests below share the folder; the first one reads it before anything else.
def test_records_are_exported_as_by_the_earlier_version(left, tmp_path):
    aragog(left / "var", "store", "export", tmp_path / "now.jsonl")

    earlier, now = (
        path.read_text().splitlines() for path in (left / "records.jsonl", tmp_path / "now.jsonl")
    )
    assert len(earlier) > 70
    assert sorted(map(without_new_data, now)) == sorted(earlier)


def test_copy_in_a_new_store_has_new_keys_and_the_same_records(left, tmp_path):
    target, folder = tmp_path / "new.toml", tmp_path / "new"
    target.write_text(f'data_dir = "{folder}"\n')

    aragog(left / "var", "store", "copy", target)
    aragog(folder, "store", "export", tmp_path / "copied.jsonl")

    earlier = (left / "records.jsonl").read_text().splitlines()
    copied = (tmp_path / "copied.jsonl").read_text().splitlines()
    assert sorted(map(without_new_data, copied)) == sorted(earlier)
    forms = [(path / "store" / "format").read_text() for path in (left / "var", folder)]
    assert forms == ["1\n", f"{FORMAT}\n"]
    assert "no problems found" in aragog(folder, "store", "repair", "--no-wait")


def test_waiting_jobs_are_done_and_a_paused_queue_stays_paused(system):
    with Aragog(system.settings) as client:
        paused = system.aragog("queue", "list", "--json").stdout
        waited = client.in_flight()
        system.aragog("queue", "resume", "fetch")
        system.finish(client)

    store = url_store(system.settings)
    facts = [record.facts for record in store.get_many(WAITING)]
    store.close()
    (fetch,) = [row for row in json.loads(paused) if row["queue"] == "fetch"]
    assert (fetch["paused"], waited) == (True, len(WAITING))
    assert {each["outcome"] for each in facts} == {"Gone"}  # the demo's shop has no such page


def test_watched_page_stays_watched(system):
    assert "shop-team" in system.aragog("due", LAMP).stdout


def test_fields_are_reextracted_from_content_of_the_earlier_version(system):
    store = url_store(system.settings)
    before = field(store, "page.extractor_version")

    reported = system.aragog("reextract")

    assert reported.returncode == 0, reported.stderr
    assert before < field(store, "page.extractor_version") == EXTRACTOR_VERSION
    assert field(store, "product.price") == "89.90"
    store.close()


def test_folder_of_a_later_version_is_refused_in_one_line(tmp_path):
    url_store(load_settings(environ={"ARAGOG_DATA_DIR": str(tmp_path)})).close()
    (tmp_path / "store" / "format").write_text("9\n")

    ran = CliRunner().invoke(main, ["show", LAMP], env={"ARAGOG_DATA_DIR": str(tmp_path)})

    assert ran.exit_code == 1
    assert len(ran.output.splitlines()) == 1
    assert "has format 9, written by a later version of aragog" in ran.output
