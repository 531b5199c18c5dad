"""Load aragog's and Flower's templates together: aragog's extend Flower's base template."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from tornado import template

OURS = files("aragog.dashboard") / "templates"
NAVIGATION = "navbar.html"
# The end of the Broker item, after which aragog's items are inserted in Flower's navigation.
BEHIND = ">Broker</a>\n        </li>\n"


class Loader(template.Loader):
    """Looks for a template here first, then in Flower's folder."""

    def _create_template(self, name: str) -> template.Template:
        ours = OURS / name
        if ours.is_file():
            source = ours.read_text("utf-8")
        else:
            source = (Path(self.root) / name).read_text("utf-8")
        if name == NAVIGATION:
            source = with_links(source, (OURS / "links.html").read_text("utf-8"))
        return template.Template(source, name=name, loader=self)


def with_links(navigation: str, links: str) -> str:
    """Flower's navigation with aragog's items added; unchanged if its markup is not as expected."""
    before, found, after = navigation.partition(BEHIND)
    return f"{before}{found}{links}{after}" if found else navigation
