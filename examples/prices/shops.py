"""
Three small shops on this machine, whose prices change every day: for docs/tutorial.md.

    python examples/prices/shops.py [PORT]

The day is in the file `today` of the current folder. Two shops describe their products as most
shops do (schema.org), and one only shows its price.
"""

from __future__ import annotations

import json
import sys
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PORT = 8900
FIRST_DAY = date(2026, 11, 16)
PRICES = {
    "bright.test": {"desk-lamp": (89.9, 89.9, 84.9, 84.9, 79.0, 79.0, 89.9)},
    "lux.test": {"desk-lamp": (92.0, 88.0, 88.0, 85.5, 85.5, 72.5, 92.0)},
    "corner.test": {"desk-lamp": (86.0, 86.0, 86.0, 86.0, 86.0, 81.0, 81.0)},
}
"""Shop to product to the price of each day of the week."""
SHOWS_ONLY = "corner.test"


def page(shop: str, product: str, day: date) -> str | None:
    """The HTML of a product's page on a day; None: there is none."""
    prices = PRICES.get(shop, {}).get(product)
    if prices is None:
        return None
    price = prices[(day - FIRST_DAY).days % len(prices)]
    name = product.replace("-", " ").capitalize()
    if shop == SHOWS_ONLY:
        text = f"{price:.2f}".replace(".", ",")
        return f"<html><title>{name}</title><h1>{name}</h1><p class='amount'>{text} €</p></html>"
    offer = {"@type": "Offer", "price": f"{price:.2f}", "priceCurrency": "EUR"}
    item = {"@context": "https://schema.org", "@type": "Product", "name": name, "offers": offer}
    data = f"<script type='application/ld+json'>{json.dumps(item)}</script>"
    return f"<html><title>{name}</title>{data}<h1>{name}</h1></html>"


class Shops(BaseHTTPRequestHandler):
    """Answers for the shop that the Host header names."""

    def do_GET(self) -> None:
        """Send a product's page, or 404, also for robots.txt: nothing is forbidden."""
        shop = (self.headers.get("Host") or "").partition(":")[0]
        today = date.fromisoformat(Path("today").read_text().strip())
        found = page(shop, self.path.rpartition("/")[2], today)
        body = (found or "not here").encode()
        self.send_response(404 if found is None else 200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        """Keep the terminal quiet."""


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else PORT
    ThreadingHTTPServer(("127.0.0.1", port), Shops).serve_forever()
