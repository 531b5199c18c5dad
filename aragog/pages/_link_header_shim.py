import re
from dataclasses import dataclass


@dataclass
class _L:
    url: str
    rel: tuple


def parse(values, *, base=None):
    from urllib.parse import urljoin

    import can_ada

    for v in values:
        for m in re.finditer(r"<([^>]*)>([^<]*)", v):
            r = re.search(r'rel="?([^";,]+)', m[2])
            if r:
                yield _L(str(can_ada.parse(urljoin(base, m[1]))), tuple(r[1].lower().split()))
