"""The permitted use of a page is unknown until everything that could refuse it has been read."""

from aragog.pages import preferences as p
from aragog.pages.preferences import UseStatement

S, T = p.SEARCH, p.AI_TRAIN


def test_use_by_ai_models_is_allowed_only_if_tdmrep_json_was_read():
    yes = p.pack_statements([UseStatement(T, "y", "header"), UseStatement(S, "y", "header")])
    read = p.pack_statements([p.TDM_FILE_READ])

    assert p.refusal((None, yes), S) is None
    for purpose in p.MODEL_PURPOSES:
        assert "the site's /.well-known/tdmrep.json was not read" in p.refusal((None, yes), purpose)
        assert p.refusal((read, yes), purpose) is None
        assert p.refusal((read, f"{purpose}=n (meta)"), purpose) == f"{purpose}=n (meta)"


def test_page_is_refused_for_every_purpose_while_robots_txt_is_unread():
    unread = p.pack_statements([p.ROBOTS_UNREAD])

    assert all(p.refusal((unread, f"{purpose}=y (meta)"), purpose) for purpose in p.PURPOSES)


def test_note_is_kept_among_any_number_of_statements():
    licenses = [UseStatement("license", str(number), "here") for number in range(100)]

    assert p.refusal((p.pack_statements([*licenses, p.TDM_FILE_READ]), None), T) is None
