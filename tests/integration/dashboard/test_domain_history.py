"""If Flower has logins, only users change domains, and the history names them."""

import re
import urllib.error
import urllib.parse
import urllib.request
from base64 import b64encode
from http.cookiejar import CookieJar

import pytest

from aragog.crawl.politeness.live_overrides import LiveOverrides
from aragog.runtime.secret import reveal
from tests.support.flower_server import flower_system

pytestmark = [pytest.mark.redis, pytest.mark.slow]
STOP = {"domain": "shop.example", "action": "stop", "reason": "asked to"}


def test_domain_change_needs_login_and_token_and_records_the_user():
    with flower_system(FLOWER_BASIC_AUTH="ann:secret", FLOWER_UNAUTHENTICATED_API="") as system:
        opener = urllib.request.build_opener(
            urllib.request.HTTPCookieProcessor(CookieJar()), urllib.request.ProxyHandler({})
        )

        def ask(user=None, form=None):
            request = urllib.request.Request(
                f"{system.url}/aragog/domains?domain=shop.example",
                urllib.parse.urlencode(form).encode() if form else None,
            )
            if user:
                request.add_header("Authorization", f"Basic {b64encode(user.encode()).decode()}")
            try:
                with opener.open(request, timeout=120) as answer:
                    return answer.status, answer.read().decode()
            except urllib.error.HTTPError as error:
                return error.code, ""

        shared = system.settings.redis
        history = LiveOverrides(reveal(shared.url), shared.prefix).history
        _, page = ask("ann:secret")
        token = re.search(r'name="_xsrf" value="([^"]+)"', page)[1]
        refused = [
            ask(form={**STOP, "_xsrf": token})[0],
            ask("ann:wrong", {**STOP, "_xsrf": token})[0],
            ask("ann:secret", STOP)[0],
            ask("ann:secret", {**STOP, "_xsrf": token, "action": "burn"})[0],
            ask("ann:secret", {**STOP, "_xsrf": token, "action": "rate", "rate": "fast"})[0],
        ]
        assert refused == [401, 401, 403, 400, 400]
        assert history() == []

        status, page = ask("ann:secret", {**STOP, "_xsrf": token})

        (change,) = history()
        assert status == 200
        assert "stopped by an operator" in page
        assert (change.who, change.domain, change.what) == ("ann", "shop.example", "stopped")
        assert change.reason == "asked to"
