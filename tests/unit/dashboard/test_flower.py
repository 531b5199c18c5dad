"""Flower's templates combined with those of pinlater and aragog."""

from pathlib import Path

import flower
from tornado.template import Template

import aragog.dashboard
import pinlater.flower
from pinlater.flower import Loader

FLOWERS = Path(flower.__file__).parent / "templates"
OURS = [
    Path(package.__file__).parent / "templates" for package in (pinlater.flower, aragog.dashboard)
]


def test_our_links_are_added_to_the_navigation_of_flower():
    navigation = Loader(str(FLOWERS), OURS).load("navbar.html")

    assert navigation.code.index("pinlater-queues") < navigation.code.index("aragog-")


def test_every_template_can_be_loaded_and_escapes_html():
    loader = Loader(str(FLOWERS), OURS)
    for path in (path for folder in OURS for path in folder.iterdir()):
        text = path.read_text()
        assert "{% raw" not in text
        assert isinstance(loader.load(path.name), Template)
        assert loader.load(path.name).autoescape == "xhtml_escape"
