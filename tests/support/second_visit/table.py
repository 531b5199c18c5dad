"""
The table of the second visit: rows are the stored state, columns the next response.

Each cell names an `Expected`. The expectations follow docs/urls.md, fetching.md, store.md,
refresh.md and standing.md.
"""

from __future__ import annotations

from dataclasses import dataclass

SAME = "as before"

ROWS = {
    "page": "a page",
    "kept": "a page that a 304 confirmed",
    "gone": "a page, then 404",
    "redirected": "a permanent redirect to another page",
    "refused": "a page, then robots.txt forbade it",
    "reserved": "a page for the crawl `ai-train`, which its site then withdrew",
    "withheld": "a page, then 403",
    "down": "a page that was taken down",
    "alias": "a page that agrees with the canonical URL it names",
    "target": "a page that another page names as canonical and agrees with",
    "imported": "an imported title, no page",
    "reread": "a page whose fields were extracted again",
}

COLUMNS = {
    "same": "200, the same page",
    "other": "200, another page",
    "noindex": "200, the same page with `noindex`",
    "usage": "200, the same page with `Content-Usage: train-ai=n`",
    "canonical": "200, the same page, which names a stored page as canonical and agrees with it",
    "new304": "304 with a new `X-Robots-Tag: noai`; 200 with it if the request has no condition",
    "known": "301 to a stored page",
    "unknown": "301 to a page that nobody fetched",
    "404": "404",
    "410": "410",
    "451": "451",
    "500": "500 at each attempt",
    "timeout": "no answer at each attempt",
    "closed": "robots.txt forbids the page",
    "withdrawn": "robots.txt says `Content-Usage: train-ai=n`, and 200, the same page",
    "down": "200, another page, which is taken down before it is stored",
    "late": "200, another page, whose fetch was before all others and arrives last",
}

TABLE = """
            same     other    noindex  usage    canonical  new304   known  unknown   404    410    451       500     timeout  closed   withdrawn  down  late
page        seen     changed  limited  limited  joins      limited4 moves  moves-new gone   gone   withheld  fails   fails    refused  limited    down  stays
kept        seen     changed  limited  limited  joins      limited4 moves  moves-new gone   gone   withheld  fails   fails    refused  limited    down  stays
gone        back     changed  back-lim back-lim joins      back-li4 moves  moves-new gone+   gone+  withheld  fails   fails    refused  back-lim   down  stays
redirected  own      own-two  own      own      joins      own      joins  moves-new stays  stays  stays     stays   stays    stays    own        down  stays
refused     seen     changed  limited  limited  joins      limited4 moves  moves-new gone   gone   withheld  fails   fails    refused  limited    down  stays
reserved    returns  ret-two  returns  reserved joins      reserved joins  joins-new gone+  gone+  withheld+ no-page no-page  no-rules no-rules   down  stays
withheld    back     changed  back-lim back-lim joins      back-li4 moves  moves-new gone   gone   withheld2 fails   fails    refused  back-lim   down  stays
down        down     down     down     down     down       down     down   down      down   down   down      down    down     down     down       down  down
alias       joins    own-two  joins    joins    joins      joins    joins  moves-new stays  stays  stays     stays   stays    stays    joins      down  stays
target      seen     changed* limited  limited  joins      limited4 moves  moves-new gone*  gone*  withheld  fails   fails    refused  limited    down  stays
imported    own      own-two  own      own      joins      own      joins  joins-new gone+  gone+  withheld+ no-page no-page  no-rules own        down  late-page
reread      seen     changed  limited  limited  joins      limited4 moves  moves-new gone   gone   withheld  fails   fails    refused  limited    down  stays
"""


@dataclass(frozen=True, slots=True)
class Expected:
    """The state of a cell after the second visit."""

    text: str
    page: str
    """
    The page that record, body, links, inlinks, values, JSON export and archive show: `one` (the
    first page), `two` (another one), `other` and `new` (those of these URLs), `none`, or SAME.
    """
    outcome: str
    """The outcome in the facts, or SAME."""
    feed: tuple[str, ...] = ()
    """The new entries of the change feed and of webhooks, sorted."""
    due: str = "interval"
    """When the page is due; see `Seen.is_due`."""
    at: str = "page"
    """The canonical URL: the URL itself (`page`), `other` or `new`; or SAME."""
    title: str = ""
    """SAME if the title is not that of `page`."""
    aliases_soon: bool = False
    """True if the aliases are due soon."""


DOWN = Expected("taken down: nothing is left, and every write is refused", "down", "", due="never")

EXPECTED = {
    "seen": Expected("stays; the fetch is noted", "one", "Fetched"),
    "changed": Expected("another page", "two", "Fetched", ("changed",)),
    "changed*": Expected(
        "another page, and its aliases are due soon", "two", "Fetched", ("changed",),
        aliases_soon=True,
    ),
    "back": Expected("the page is there again", "one", "Fetched", ("back",)),
    "limited": Expected("stays, with a use less", "one", "Fetched", ("reserved",)),
    "limited4": Expected("stays, with a use less, by a 304", "one", "NotModified", ("reserved",)),
    "back-lim": Expected(
        "the page is there again, with a use less", "one", "Fetched", ("back", "reserved")
    ),
    "back-li4": Expected(
        "the page is there again, with a use less, by a 304", "one", "NotModified",
        ("back", "reserved"),
    ),
    "joins": Expected("reads as the other page", "other", "Fetched", at="other"),
    "joins-new": Expected("reads as the new page", "new", "Fetched", at="new"),
    "moves": Expected("the page has moved", "other", "Fetched", ("redirected",), at="other"),
    "moves-new": Expected(
        "the page has moved to a new one", "new", "Fetched", ("redirected",), at="new"
    ),
    "own": Expected("has a page of its own", "one", "Fetched"),
    "own-two": Expected("has another page of its own", "two", "Fetched"),
    "returns": Expected("the page is stored again", "one", "Fetched", ("new",)),
    "ret-two": Expected("another page is stored", "two", "Fetched", ("new",)),
    "gone": Expected("gone; what is stored stays", SAME, "Gone", ("gone",), "1 d"),
    "gone*": Expected(
        "gone; what is stored stays, and its aliases are due soon", SAME, "Gone", ("gone",), "1 d",
        aliases_soon=True,
    ),
    "gone+": Expected("gone, without an entry", SAME, "Gone", (), "1 d"),
    "withheld": Expected(
        "withheld; what is stored stays", SAME, "UnavailableLegally", ("withheld",), "30 d"
    ),
    "withheld2": Expected(
        "withheld again; what is stored stays", SAME, "UnavailableLegally", (), "60 d"
    ),
    "withheld+": Expected("withheld, without an entry", SAME, "UnavailableLegally", (), "30 d"),
    "fails": Expected("a passing failure; stays", SAME, "Unreachable"),
    "no-page": Expected("a passing failure; there is no page", SAME, "Unreachable", (), "days"),
    "refused": Expected("not asked; stays", SAME, "Refused"),
    "no-rules": Expected("not asked; there is no page", SAME, "Refused", (), "days"),
    "reserved": Expected("is not kept, as before", SAME, "Reserved", (), "days"),
    "stays": Expected("nothing changes", SAME, SAME, (), SAME, at=SAME),
    "late-page": Expected(
        "the title stays, because it is newer; the rest is that of the page", "two", "Fetched",
        title=SAME,
    ),
    "down": DOWN,
}  # fmt: skip

COUNTED = {
    "same": {"fetched": 11, "stored": 11},
    "other": {"fetched": 11, "stored": 11},
    "noindex": {"fetched": 11, "stored": 11},
    "usage": {"fetched": 11, "stored": 10},
    "canonical": {"fetched": 11, "stored": 11},
    "new304": {"fetched": 4, "not_modified": 7, "stored": 10},
    "known": {"fetched": 11, "stored": 11},
    "unknown": {"fetched": 11, "stored": 11},
    "404": {"failed": 11, "failed_Gone": 11},
    "410": {"failed": 11, "failed_Gone": 11},
    "451": {"failed": 11, "failed_UnavailableLegally": 11},
    "500": {"retried": 11, "failed": 11, "failed_Unreachable": 11},
    "timeout": {"retried": 11, "failed": 11, "failed_Unreachable": 11},
    "closed": {"refused": 11},
    "withdrawn": {"fetched": 10, "refused": 1, "stored": 10},
    "down": {"fetched": 11},
    "late": {"older": 9, "stored": 1},
}
"""
The pipeline's counters for each column. `stored` counts pages. The row `down` is never requested,
and `reserved` and `imported` have no page that could be newer.
"""

BEFORE = {
    "redirected": ("other", "Fetched", "other"),
    "alias": ("other", "Fetched", "other"),
    "kept": ("one", "NotModified", "page"),
    "gone": ("one", "Gone", "page"),
    "refused": ("one", "Refused", "page"),
    "withheld": ("one", "Forbidden", "page"),
    "reserved": ("none", "Reserved", "page"),
    "imported": ("imported", "", "page"),
    "down": ("down", "", "page"),
}
"""Page, outcome and canonical URL of a row before the second visit; ONE for other rows."""
ONE = ("one", "Fetched", "page")


def cells() -> dict[tuple[str, str], str]:
    """Return the name of the expectation by row and column."""
    head, *lines = TABLE.strip().splitlines()
    columns = head.split()
    found = {}
    for line in lines:
        row, *names = line.split()
        found |= {(row, column): name for column, name in zip(columns, names, strict=True)}
    return found


CELLS = cells()
