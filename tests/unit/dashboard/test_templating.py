"""Flower's templates with ours between them."""

from pathlib import Path

import flower
from tornado.template import Template

from aragog.dashboard.templating import OURS, Loader, with_links

FLOWERS = Path(flower.__file__).parent / "templates"
LINKS = (OURS / "links.html").read_text()


def test_the_navigation_of_this_flower_takes_our_links():
    navigation = Loader(str(FLOWERS)).load("navbar.html")

    assert "aragog-" in navigation.code


def test_a_navigation_that_looks_otherwise_stays_as_it_is():
    assert with_links("<nav></nav>", LINKS) == "<nav></nav>"


def test_every_template_of_ours_can_be_loaded_and_escapes():
    loader = Loader(str(FLOWERS))
    for path in OURS.iterdir():
        text = path.read_text()
        assert "{% raw" not in text
        assert isinstance(loader.load(path.name), Template)
        assert loader.load(path.name).autoescape == "xhtml_escape"
