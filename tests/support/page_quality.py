"""What every page must be, at three widths, light and dark: accessible (axe-core) and not cut off."""

from __future__ import annotations

import itertools
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

WIDTHS = (390, 768, 1280)
SCHEMES = ("light", "dark")
SCREENS = list(itertools.product(WIDTHS, SCHEMES))
HEIGHT = 900


def show_on(page: Page, width: int, scheme: Any) -> None:
    """Give the page this width in px, and a reader who prefers `light` or `dark`."""
    page.set_viewport_size({"width": width, "height": HEIGHT})
    page.emulate_media(color_scheme=scheme)


def violations(page: Page, within: str | None = None) -> list[str]:
    """
    The rules of axe-core that the page breaks, each with the first element that does.

    Args:
        page: as it is shown now.
        within: a selector of the part to check; None: all of the page.
    """
    found = Axe().run(page, within).response["violations"]
    return [f"{each['id']} ({len(each['nodes'])}): {each['nodes'][0]['html']}" for each in found]


def overflow_px(page: Page) -> int:
    """How much wider the page is than its window."""
    return int(page.evaluate("document.documentElement.scrollWidth - innerWidth"))


def background(page: Page) -> int:
    """How light the page's background is, 0 to 255."""
    color = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return int(color.removeprefix("rgb(").partition(",")[0])
