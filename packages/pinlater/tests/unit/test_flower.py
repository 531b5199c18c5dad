"""Flower's templates combined with ours."""

import re
from pathlib import Path
from types import SimpleNamespace

import flower
from tornado.template import Template

import pinlater.flower
from pinlater.flower import Loader, add_links

FLOWERS = Path(flower.__file__).parent / "templates"
OURS = [Path(pinlater.flower.__file__).parent / "templates"]
LINKS = "".join((folder / "links.html").read_text() for folder in OURS)


def test_our_links_are_added_to_the_navigation_of_flower():
    navigation = Loader(str(FLOWERS), OURS).load("navbar.html")

    assert "pinlater-queues" in navigation.code


def test_unknown_navigation_is_left_unchanged():
    assert add_links("<nav></nav>", LINKS) == "<nav></nav>"


def test_every_template_can_be_loaded_and_escapes_html():
    loader = Loader(str(FLOWERS), OURS)
    for path in (path for folder in OURS for path in folder.iterdir()):
        text = path.read_text()
        assert "{% raw" not in text
        assert isinstance(loader.load(path.name), Template)
        assert loader.load(path.name).autoescape == "xhtml_escape"


def test_broker_page_of_another_broker_keeps_the_columns_of_flower():
    page = Loader(str(FLOWERS), OURS).load("broker.html")

    def shown(queue):
        text = page.generate(
            static_url=str, reverse_url=str, url_prefix="", broker_url="amqp://", queues=[queue],
            _tt_modules=SimpleNamespace(Template=lambda *_, **__: ""),
        ).decode()  # fmt: skip
        return re.findall(r"<t[hd](?: [^>]*)?>(?:<span[^>]*>)?([^<]*)<", text)

    theirs = shown({"name": "q", "messages": 3, "messages_ready": 2, "consumers": 1})
    ours = shown({"name": "q", "messages": 3, "messages_due": 2, "messages_later": 0})

    assert theirs == ["Queue", "Messages", "Unacked", "Ready", "Consumers", "Idle since",
                      "q", "3", "—", "2", "1", "—"]  # fmt: skip
    assert ours == ["Queue", "Due", "Later", "Running", "All", "q", "2", "0", "—", "3"]
