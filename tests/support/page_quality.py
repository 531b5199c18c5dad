"""Checks of every page at three widths, light and dark: accessible (axe-core) and not cut off."""

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
    """Set the page's width in px, and the preferred color scheme, `light` or `dark`."""
    page.set_viewport_size({"width": width, "height": HEIGHT})
    page.emulate_media(color_scheme=scheme)


def violations(page: Page, within: str | None = None) -> list[str]:
    """
    Return the axe-core rules that the page violates, each with the first such element.

    Args:
        page: the page in its current state.
        within: a selector of the part to check; None for the whole page.
    """
    found = Axe().run(page, within).response["violations"]
    return [f"{each['id']} ({len(each['nodes'])}): {each['nodes'][0]['html']}" for each in found]


def overflow_px(page: Page) -> int:
    """Return how much wider the page is than its window."""
    return int(page.evaluate("document.documentElement.scrollWidth - innerWidth"))


def background(page: Page) -> int:
    """Return the lightness of the page's background, 0 to 255."""
    color = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return int(color.removeprefix("rgb(").partition(",")[0])
