"""Load our templates and Flower's together: ours extend Flower's base template."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources.abc import Traversable
from pathlib import Path

from tornado import template

NAVIGATION, LINKS = "navbar.html", "links.html"
# The end of the Broker item, after which our items are inserted in Flower's navigation.
BEHIND = ">Broker</a>\n        </li>\n"


class Loader(template.Loader):
    """
    Looks for a template in `folders`, then in Flower's.

    Each folder may have a `links.html` with items for Flower's navigation.
    """

    def __init__(self, root: str, folders: Sequence[Traversable]) -> None:
        super().__init__(root)
        self._folders = folders

    def _create_template(self, name: str) -> template.Template:
        ours = [folder / name for folder in self._folders if (folder / name).is_file()]
        source = (ours[0] if ours else Path(self.root) / name).read_text("utf-8")
        if name == NAVIGATION:
            links = [folder / LINKS for folder in self._folders if (folder / LINKS).is_file()]
            source = with_links(source, "".join(path.read_text("utf-8") for path in links))
        return template.Template(source, name=name, loader=self)


def with_links(navigation: str, links: str) -> str:
    """Flower's navigation with our items added; unchanged if its markup is not as expected."""
    before, parts, after = navigation.partition(BEHIND)
    return f"{before}{parts}{links}{after}" if parts else navigation
