"""The data a browser would submit with a form."""

import pytest

from aragog.crawl.sign_in.forms import find_form

URL = "https://shop.test/account/login?next=/a"
NAMES = frozenset({"user", "password"})
PAGE = b"""<!doctype html><form action=/search><input name=q></form>
<form method=post action="../session">
<input type=hidden name=csrf value="t&amp;1"><input name=user value=old><input name=password type=password>
<input type=checkbox name=keep value=1 checked><input type=checkbox name=news value=1>
<input type=radio name=as value=a><input type=radio name=as value=b checked>
<select name=lang><option>en<option value=de selected>Deutsch</select><select name=zone><option>one</select>
<textarea name=note>hi there</textarea><input name=off disabled value=1><input value=nameless>
<input type=file name=f><button type=button name=x>x</button><button name=go value=yes>Go</button>
<button name=later>Later</button></form>"""


def test_first_form_with_all_named_fields_is_filled_in_like_a_browser():
    form = find_form(PAGE, URL, NAMES)

    assert (form.action, form.method) == ("https://shop.test/session", "POST")
    body = form.encode_with({"user": "me & you", "password": "p\u00e4ss=1"})
    assert body == (
        b"csrf=t%261&user=me+%26+you&password=p%C3%A4ss%3D1&keep=1&as=b&lang=de&zone=one"
        b"&note=hi+there&go=yes"
    )


@pytest.mark.parametrize("page", [b"", b"<p>user password", b"<form><input name=user></form>"])
def test_page_without_a_matching_form_gives_none(page):
    assert find_form(page, URL, NAMES) is None


def test_form_defaults_to_its_own_page_and_get():
    form = find_form(b"<form><input name=user><input name=password></form>", URL, NAMES)

    assert (form.action, form.method) == (URL, "GET")
