"""What `aragog explain` and `aragog due` show about change signals."""

from aragog.settings import RefreshSettings
from aragog.urlstore.refresh_policy import RefreshState
from aragog.urlstore.signal_marks import PageMark
from aragog.urlstore.signal_reasons import signal_lines
from aragog.urlstore.signal_trust import Evidence, HostTrust, add_evidence
from aragog.urlstore.usual_intervals import DAY_S, HOUR_S

NOW_MS = 1_700_000_000_000
PAGE = RefreshState(a=1, b_s=20 * DAY_S, usual_s=7 * DAY_S, compared_at_ms=NOW_MS - 9_000_000)
FAST = PAGE._replace(b_s=HOUR_S)
MARK = PageMark(NOW_MS - 5_000_000, NOW_MS - 1_000_000, 0.9)
PROVEN = add_evidence(HostTrust(), [Evidence(1.0, True, True, 0.1)] * 30, NOW_MS)
FALSE = add_evidence(HostTrust(), [Evidence(0.0, True, True, 0.1)] * 30, NOW_MS)


def lines(state=PAGE, mark=MARK, trust=PROVEN, settings=RefreshSettings()):  # noqa: B008
    return dict(signal_lines(state, mark, trust, settings, NOW_MS))


def test_signal_is_shown_with_its_date_and_effect():
    assert "believed 90%, so the page is due" in lines()["signal"]
    assert "too often" in lines(FAST)["signal"]
    assert lines(mark=MARK._replace(read_at_ms=0))["signal"].startswith("none")


def test_trust_of_the_host_is_shown_with_its_evidence():
    assert "30 of 30 reported changes were found" in lines()["dates of its host"]
    assert lines(trust=FALSE)["dates of its host"].startswith("not trusted: 0 of 30")
    assert lines(trust=HostTrust())["dates of its host"].startswith("not proven yet")


def test_longer_interval_is_shown_only_if_silence_is_trusted():
    assert "times as long" in lines()["without a signal"]
    assert "without a signal" not in lines(trust=FALSE)


def test_sitemap_shows_its_signals():
    source = RefreshState(interval_s=DAY_S, checks=4, changes=7, page_type="sitemap")

    assert lines(source)["read as"] == "sitemap, every 1 d: 7 signals in 4 readings"


def test_disabled_signals_are_shown_as_off():
    assert lines(settings=RefreshSettings(signals=False)) == {
        "signals of change": "off (refresh.signals)"
    }


def test_unknown_page_has_no_lines():
    assert lines(None, None, HostTrust()) == {}
