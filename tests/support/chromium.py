"""The system's headless Chromium, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Page, expect, sync_playwright

from tests.support.missing_parts import CHROMIUM, skip_without

COMMANDS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
WIDTH, HEIGHT = 1280, 800
TIMEOUT_MS = 60_000
"""Maximum wait of an action or an `expect`, which take milliseconds on an idle machine."""

expect.set_options(timeout=TIMEOUT_MS)


def find_chromium() -> str | None:
    """Return the path of a Chromium, or None."""
    return next(filter(None, map(shutil.which, COMMANDS)), None)


def chromium_or_skip() -> str:
    """Return the path of a Chromium. Without one the test is skipped, or fails if CI=true."""
    path = find_chromium()
    if path is None:
        skip_without(CHROMIUM)
    return path


def installed_or_any() -> list[str]:
    """Return the browsers of this machine, or one empty name for `chromium_or_skip`."""
    return [command for command in COMMANDS if shutil.which(command)] or [""]


@contextmanager
def chromium_page(command: str) -> Iterator[Page]:
    """Open a page of 1280 by 800 px. Requests to other machines fail."""
    with sync_playwright() as playwright:
        # Chromium's own sandbox needs a user other than root.
        browser = playwright.chromium.launch(
            executable_path=command, args=["--no-sandbox", "--host-resolver-rules=MAP * 127.0.0.1"]
        )
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.set_default_timeout(TIMEOUT_MS)
        yield page
        browser.close()
