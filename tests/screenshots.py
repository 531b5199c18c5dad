"""
Screenshots of Flower's pages for the documentation: `python -m tests.screenshots FOLDER`.

They show a small system with made-up data. Colors are reduced to a palette, so that each file stays
below 100 KB.
"""

from __future__ import annotations

import sys
from io import BytesIO
from pathlib import Path

from PIL import Image

from tests.support.chromium import chromium_page, find_chromium
from tests.support.flower_data import VASE, fill
from tests.support.flower_server import flower_system

SHOTS = {
    "domains": "/aragog/domains",
    "domain": "/aragog/domains?domain=stopped.example",
    "url": f"/aragog/url?url={VASE}",
    "queues": "/pinlater/queues",
}
HEIGHT = 620
COLORS = 64


def main(folder: Path) -> None:
    """Write the PNG files."""
    chromium = find_chromium()
    if chromium is None:
        sys.exit("screenshots: no Chromium here; on Debian: apt install chromium-headless-shell")
    folder.mkdir(parents=True, exist_ok=True)
    with flower_system() as system, chromium_page(chromium) as page:
        fill(system.settings)
        for name, path in SHOTS.items():
            page.goto(f"{system.url}{path}")
            shot = page.screenshot(clip={"x": 0, "y": 0, "width": 1280, "height": HEIGHT})
            image = Image.open(BytesIO(shot)).convert("RGB").quantize(COLORS)
            image.save(folder / f"{name}.png", optimize=True)
            print(f"{folder / name}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
