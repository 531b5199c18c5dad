"""
The key that enables Flower's buttons on one machine. `aragog up` prints a link with the key.

Without a login, Flower allows changes only if `FLOWER_UNAUTHENTICATED_API` is set. That variable
opens Flower's API to every program on the machine, and to every web page in the machine's browsers.
Opening the link sets a cookie that scripts cannot read and other sites cannot send. Requests from
pages of another site or port are also refused. No key is created if a login is configured or the
variable is set.
"""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

FILE = "flower.key"
COOKIE = "aragog_key"
OPEN_URL_PATH = "/aragog/open"
COOKIE_DAYS = 30
KEY_NEEDED = "Actions are off in this browser: open the `buttons` link that `aragog up` prints."
_ACCESS_VARIABLES = ("FLOWER_BASIC_AUTH", "FLOWER_AUTH", "FLOWER_UNAUTHENTICATED_API")


def create_key(run_dir: Path, environ: Mapping[str, str]) -> str:
    """
    Return the key. If there is none, create it in a file that only its owner can read.

    Returns "" if a login is configured or the API needs none.
    """
    if any(environ.get(name) for name in _ACCESS_VARIABLES):
        return ""
    path = run_dir / FILE
    if key := read_key(run_dir):
        return key
    run_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    key = secrets.token_urlsafe(24)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(key)
    return key


def read_key(run_dir: Path) -> str:
    """Return the existing key, or an empty string."""
    try:
        return (run_dir / FILE).read_text().strip()
    except OSError:
        return ""


def link(flower_url: str, key: str, environ: Mapping[str, str]) -> str:
    """Return the link that enables the buttons in a browser."""
    prefix = environ.get("FLOWER_URL_PREFIX", "").strip("/")
    path = f"/{prefix}{OPEN_URL_PATH}" if prefix else OPEN_URL_PATH
    return f"{flower_url}{path}?{urlencode({'key': key})}"


def is_own_request(request: Any) -> bool:
    """Return True if the request comes from one of Flower's pages, or not from a web page."""
    site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    if site:
        return site in ("same-origin", "none")
    return not origin or urlsplit(origin).netloc == request.host


def install_key_check(key: str) -> None:
    """Enable Flower's buttons for requests with the cookie. A second call changes nothing."""
    from flower.views import BaseHandler  # noqa: PLC0415 - only in Flower's process

    original = BaseHandler.unauthenticated_api
    if getattr(original.fget, "accepts_key", False):
        return

    def unauthenticated_api(self: Any) -> bool:
        cookie = self.get_cookie(COOKIE) or ""
        has_key = bool(key) and hmac.compare_digest(cookie.encode(), key.encode())
        return bool(original.fget(self)) or (has_key and is_own_request(self.request))

    unauthenticated_api.accepts_key = True  # type: ignore[attr-defined] # marks it as installed
    BaseHandler.unauthenticated_api = property(unauthenticated_api)
