"""Flower without a login: its buttons are shown but disabled, with the reason."""

import pytest

from pinlater.flower import ACTIONS_OFF
from tests.support.chromium import chromium_or_skip, chromium_page
from tests.support.flower_data import VASE, fill
from tests.support.flower_server import flower_system
from tests.support.page_quality import violations
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.redis, pytest.mark.slow]

PAGES = {
    "/pinlater/queues": ["Pause", "Resume"],
    "/aragog/domains?domain=stopped.example": ["Set rate", "Usual rate", "Resume"],
    f"/aragog/url?url={VASE}": ["Refresh now"],
}


@pytest.fixture(scope="module")
def flower():
    chromium = chromium_or_skip()
    with flower_system(["upkeep"], FLOWER_UNAUTHENTICATED_API="") as system:
        fill(system.settings)
        with chromium_page(chromium) as page:
            yield system, page


@pytest.mark.parametrize("path", PAGES)
def test_buttons_on_our_pages_are_disabled_with_the_reason(flower, path):
    system, page = flower
    page.goto(f"{system.url}{path}")

    for name in PAGES[path]:
        buttons = page.get_by_role("button", name=name, exact=True)
        assert buttons.count() > 0
        assert all(button.is_disabled() for button in buttons.all()), name
    assert page.get_by_role("note").inner_text() == ACTIONS_OFF
    assert violations(page, within=".pinlater-page") == []


def test_buttons_on_flowers_own_pages_are_disabled_with_the_reason(flower):
    system, page = flower

    def workers():
        page.goto(f"{system.url}/workers")
        return page.locator("a[href*='/worker/upkeep']").all()

    (link, *_) = wait_until(workers, every_s=0.5)
    link.click()
    buttons = page.locator(".worker-detail-page button")

    assert page.get_by_role("note").inner_text() == ACTIONS_OFF
    assert buttons.count() > 5
    assert buttons.evaluate_all("all => all.filter(b => !b.disabled || !b.title).length") == 0
