"""
Screenshots of the pages for the documentation: `python -m tests.screenshots FOLDER`.

They show a small system with made-up data. Colors are reduced to a palette to keep each file below
100 KB.
"""

from __future__ import annotations

import sys
from contextlib import closing
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page

from aragog.api.server.http.services import Services
from aragog.bootstrap.api import explainer
from aragog.bootstrap.stores import url_store
from tests.support.api_server import running
from tests.support.chromium import WIDTH, chromium_page, find_chromium
from tests.support.flower_data import VASE, fill
from tests.support.flower_server import flower_system

FLOWER = {
    "domains": "/aragog/domains",
    "domain": "/aragog/domains?domain=stopped.example",
    "url": f"/aragog/url?url={VASE}",
    "queues": "/pinlater/queues",
}
API = {"lookup": f"/?url={VASE}", "reference": "/docs#get"}
HEIGHT = 620
COLORS = 64


def main(folder: Path) -> None:
    """Write the PNG files."""
    chromium = find_chromium()
    if chromium is None:
        sys.exit("screenshots: no Chromium here; on Debian: apt install chromium-headless-shell")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        sys.exit(f"screenshots: IMAGES: {folder} cannot be created: {error.strerror}")
    with flower_system() as system, chromium_page(chromium) as page:
        fill(system.settings)
        for name, path in FLOWER.items():
            _shoot(page, f"{system.url}{path}", folder / f"{name}.png")
        with closing(url_store(system.settings)) as store:
            services = Services(explain=explainer(system.settings, store))
            with running(store, services) as api:
                for name, path in API.items():
                    _shoot(page, f"http://127.0.0.1:{api.port}{path}", folder / f"{name}.png")


def _shoot(page: Page, url: str, path: Path) -> None:
    """Write the top of a page as PNG."""
    page.goto(url)
    shot = page.screenshot(clip={"x": 0, "y": 0, "width": WIDTH, "height": HEIGHT})
    Image.open(BytesIO(shot)).convert("RGB").quantize(COLORS).save(path, optimize=True)
    print(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
