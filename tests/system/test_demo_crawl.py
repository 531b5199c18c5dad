"""The main job from outside: the demo web fetched, canonicalized, stored and served."""

import json
import urllib.error
import urllib.request
from urllib.parse import quote

import pytest
from click.testing import CliRunner

from aragog.cli import main
from tests.support.documented import agrees, examples, run
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.redis, pytest.mark.slow]


def aragog(system, *arguments):
    """A command in this process, as for a user of the system."""
    return CliRunner().invoke(main, arguments, env=dict(system.environ))


def show(system, url, *options):
    told = aragog(system, "show", url, "--json", *options)
    assert told.exit_code == 0, told.stderr
    return json.loads(told.stdout)


def http(system, path):
    port = system.settings.serving.http_port
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=120) as answer:
        return json.loads(answer.read())


def test_a_product_is_served_by_any_spelling_of_its_url(crawled):
    for spelling in (
        "http://www.shop.test/p/walnut-desk",
        "HTTP://WWW.Shop.Test:80/p/walnut-desk?utm_source=letter#top",
        "http://www.shop.test/p/walnut-desk?colour=oak",
    ):
        found = show(crawled, spelling)

        assert found["canonical_url"] == "http://www.shop.test/p/walnut-desk"
        assert found["fields"]["product.price"] == "649.00"


def test_a_moved_page_is_an_alias_of_where_it_went(crawled):
    found = show(crawled, "http://old.test/city-bees.html")

    assert found["canonical_url"] == "http://news.test/city-bees"
    assert "http://old.test/city-bees.html" in found["aliases"]


def test_a_chain_of_permanent_redirects_ends_at_its_page(crawled):
    assert (
        show(crawled, "http://old.test/chain/1")["canonical_url"]
        == "http://kitchen.test/r/focaccia"
    )


def test_a_temporary_redirect_makes_no_alias(crawled):
    assert show(crawled, "http://old.test/today")["canonical_url"] == "http://old.test/today"


def test_what_robots_txt_closes_is_refused_and_says_which_line(crawled):
    facts = show(crawled, "http://private.test/members/list")["facts"]

    assert facts["outcome"] == "Refused"
    assert "Disallow: /members/" in facts["reason"]
    assert show(crawled, "http://private.test/members/join")["facts"]["outcome"] == "Fetched"


def test_a_busy_host_is_asked_again_until_it_answers(crawled):
    facts = show(crawled, "http://busy.test/worth-the-wait")["facts"]

    assert facts["outcome"] == "Fetched"
    assert facts["attempts"] == 3


@pytest.mark.parametrize(
    ("url", "outcome"),
    [
        ("http://odd.test/binary", "Unreadable"),
        ("http://odd.test/gone", "Gone"),
        ("http://odd.test/nothing-here", "Gone"),
        ("http://odd.test/broken", "Unreachable"),
        ("http://old.test/loop/1", "Unreachable"),
        ("http://nobody-lives-here.test.invalid/", "Unreachable"),
    ],
)
def test_what_brings_no_page_has_an_outcome_in_the_store(crawled, url, outcome):
    facts = show(crawled, url)["facts"]

    assert facts["outcome"] == outcome
    assert facts["reason"]


def test_a_half_sent_page_is_stored_and_marked(crawled):
    found = show(crawled, "http://odd.test/half")

    assert found["facts"]["outcome"] == "Fetched"
    assert found["facts"]["truncated"] == 1


def test_content_comes_back_as_it_was_sent(crawled):
    from aragog.standalone.demo.sites import web

    told = aragog(crawled, "content", "http://kitchen.test/r/dal-tadka")

    assert told.stdout_bytes == web()["kitchen.test"]["/r/dal-tadka"].body


def test_inlinks_are_compacted_from_the_journal(crawled):
    def linking():
        told = aragog(crawled, "links", "http://news.test/paper-maps", "--in")
        return {line.split("\t")[0] for line in told.stdout.splitlines()}

    wait_until(lambda: linking() >= {"http://news.test/", "http://news.test/city-bees"})


def test_outlinks_carry_their_text(crawled):
    told = aragog(crawled, "links", "http://kitchen.test/")

    assert "http://kitchen.test/r/shakshuka\tShakshuka" in told.stdout.splitlines()


def test_the_read_api_answers_for_any_spelling(crawled):
    url = quote("HTTP://www.SHOP.test/p/clay-vase?utm_campaign=x", safe="")
    found = http(crawled, f"/v1/urls?url={url}&fields=product.price,product.currency")

    assert found["canonical_url"] == "http://www.shop.test/p/clay-vase"
    assert found["fields"]["product.price"] == "39.00"
    assert set(found["fields"]) <= {"product.price", "product.currency"}


def test_the_read_api_says_what_is_wrong(crawled):
    for path, status in (("/v1/urls?url=nonsense", 400), ("/v1/urls?url=http://no.test/", 404)):
        with pytest.raises(urllib.error.HTTPError) as caught:
            http(crawled, path)
        assert caught.value.code == status
        assert json.loads(caught.value.read())["detail"]


def test_flower_shows_the_workers(crawled):
    port = crawled.settings.serving.flower_port

    def lists_all():
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/workers", timeout=120) as answer:
                page = answer.read().decode()
        except (urllib.error.URLError, TimeoutError):
            return False
        return all(f"{role}@" in page for role in ("fetch", "robots", "canonicalize", "store"))

    wait_until(lists_all, every_s=0.5, otherwise=crawled.logs)


def test_doctor_finds_nothing_wrong(crawled):
    ran = crawled.aragog("doctor")

    assert ran.returncode == 0, ran.stdout
    for part in ("redis", "store", "content", "data_dir", "workers", "beat"):
        assert f"ok   {part}" in ran.stdout


def test_every_command_of_the_page_prints_what_the_page_says(crawled):
    wrong = []
    for command, wanted in (*examples("docs/cli.md"), *examples("docs/tutorial.md")):
        got = run(command, crawled.environ)
        if not agrees(wanted, got):
            wrong.append(f"$ {command}\n{got}\ninstead of\n{wanted}")

    assert not wrong, "\n".join(wrong)


def test_nothing_ended_in_a_traceback(crawled):
    assert "Traceback" not in crawled.logs()
