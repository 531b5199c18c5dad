"""Trapped hosts whose lists have filters, tags, orders and recommendations."""

from __future__ import annotations

import re
from random import Random
from typing import ClassVar

from bench.traps.blind_pages import (
    BlindSite,
    Catalog,
    Page,
    digest,
    listed,
    modern,
    paged,
    product,
    shop,
    story,
)
from bench.traps.site import Answer


class PathFilters(BlindSite):
    """A shop whose filters are segments of the path, in the order in which they were clicked."""

    FILTERS: ClassVar = {
        "color": ("black", "red", "blue", "green", "silver"), "size": ("s", "m", "l", "xl"),
        "brand": ("velta", "corvo", "ninepeak", "tarn"), "price": ("0-50", "50-200", "200-500", "500-up"),
    }  # fmt: skip
    KINDS = ("bikes", "helmets", "lights", "tires", "bags")

    def __init__(self) -> None:
        self.catalog = Catalog(
            "www.velo-lager.test", 135, product, lambda n, s: f"/{self.KINDS[n % 5]}/{s}.html",
            lambda g, p: paged(f"/{g}/", p, "p"), self.KINDS, size=12,
        )  # fmt: skip
        super().__init__(
            self.catalog.host, self.catalog.written(), frame=shop, menu=self.catalog.menu()
        )

    def beside(self, target: str) -> str:
        path = target.partition("?")[0]
        base = path if path.endswith("/") and path != "/" else ""
        return "".join(
            f"<h4>{name}</h4>" + listed((f"{base}{name}-{value}/", value) for value in values)
            for name, values in self.FILTERS.items()
            if base and f"/{name}-" not in base
        )

    def beyond(self, target: str, path: str, asked: dict[str, str]) -> Answer | None:
        kind, *chosen = path.strip("/").split("/")
        if kind not in self.KINDS or not chosen or not path.endswith("/"):
            return None
        numbers = self.catalog.of_group(kind)
        for value in chosen:
            numbers = [n for n in numbers if Random(f"{n} {value}").random() < 0.4]
        page = int(asked.get("p", 1))
        shown = self.catalog.teasers(numbers[(page - 1) * 12 : page * 12])
        more = listed([(f"{path}?p={page + 1}", "Next")]) if numbers[page * 12 :] else ""
        none = "<p>We can't find products matching the selection.</p>"
        return self.in_trap(
            f"{kind.capitalize()} {', '.join(chosen)}", (shown or none) + more, target
        )


class TagSets(BlindSite):
    """Templates; a click on a tag adds it to those that are selected. Lists of one tag are real."""

    TAGS = ("ai", "backup", "chat", "csv", "docker", "email", "git", "http", "json", "kafka", "logs", "mail", "mqtt", "pdf", "sql", "xml")  # fmt: skip

    def __init__(self) -> None:
        self.catalog = Catalog(
            "flows.inverly.test", 130, story, lambda _, s: f"/templates/{s}",
            lambda g, p: paged("/" + g, p), ("templates",), size=24,
        )  # fmt: skip
        singles = {f"/templates?tags={tag}": Page(f"Templates: {tag}", self._shown((tag,))) for tag in self.TAGS}  # fmt: skip
        written = self.catalog.written()
        for number, url in self.catalog.urls.items():
            tags = listed((f"/templates?tags={tag}", tag) for tag in self._tags(number))
            written[url] = Page(written[url].title, written[url].main + tags)
        super().__init__(self.catalog.host, written | singles, frame=modern, menu=self.catalog.menu())  # fmt: skip

    def _tags(self, number: int) -> list[str]:
        return Random(f"tags {number}").sample(self.TAGS, 4)

    def _shown(self, tags: tuple[str, ...]) -> str:
        numbers = [n for n in self.catalog.items if set(tags) <= set(self._tags(n))]
        return f"<p>{len(numbers)} templates</p>" + self.catalog.teasers(numbers)

    def beside(self, target: str) -> str:
        if not target.startswith("/templates?tags=") and target != "/templates":
            return ""
        chosen = target.partition("=")[2].split(",") if "=" in target else []
        chips = []
        for tag in self.TAGS:
            tags = [t for t in chosen if t != tag] if tag in chosen else [*chosen, tag]
            chips.append((f"/templates?tags={','.join(tags)}" if tags else "/templates", tag))
        return listed(chips)

    def beyond(self, target: str, path: str, asked: dict[str, str]) -> Answer | None:
        if path != "/templates" or "," not in asked.get("tags", ""):
            return None
        tags = tuple(asked["tags"].split(","))
        return self.in_trap(f"Templates: {', '.join(tags)}", self._shown(tags), target)


class SortOrders(BlindSite):
    """A shop whose lists have orders and sizes, and hand them on to the links to products."""

    ORDERS: ClassVar = [
        (s, o) for s in ("pd.name", "p.price", "rating", "p.model") for o in ("ASC", "DESC")
    ]
    KEPT = ("limit", "order", "sort")

    def __init__(self) -> None:
        groups = ("20", "24", "33", "57", "59", "62")
        self.catalog = Catalog(
            "www.tool-depot.test", 135, product,
            lambda n, _: f"/index.php?path={groups[n % 6]}&product_id={n + 40}&route=product/product",
            lambda g, p: paged(f"/index.php?path={g}&route=product/category", p), groups, size=15, related=2,
        )  # fmt: skip
        super().__init__(self.catalog.host, self.catalog.written(), frame=shop, menu=self.catalog.menu())  # fmt: skip

    def beside(self, target: str) -> str:
        if "product/category" not in target:
            return ""
        base = re.sub(r"(?<=[?&])(?:limit|order|page|sort)=[^&]*&?", "", target).rstrip("&")
        sorts = [(f"{base}&sort={s}&order={o}", f"{s} {o}") for s, o in self.ORDERS]
        kept = "".join(f"&{p}" for p in re.findall(r"[?&]((?:order|sort)=[^&]*)", target))
        return listed([*sorts, *((f"{base}{kept}&limit={n}", str(n)) for n in (25, 50, 75, 100))])

    def beyond(self, target: str, path: str, asked: dict[str, str]) -> Answer | None:
        kept = {name: asked.pop(name) for name in self.KEPT if name in asked}
        if not kept:
            return None
        name = f"{path}?" + "&".join(f"{k}={v}" for k, v in sorted(asked.items()))
        if asked.get("route") == "product/product":
            return self.real(name, target)
        if asked.get("route") != "product/category" or asked.get("path") not in self.catalog.groups:
            return None
        group, size, page = asked["path"], int(kept.get("limit", 15)), int(asked.get("page", 1))
        numbers = self.catalog.of_group(group)
        order = f"{kept.get('sort')}{kept.get('order')}" if "sort" in kept else ""
        if order:
            numbers = Random(order).sample(numbers, len(numbers))
        more = "".join(f"&{k}={v}" for k, v in kept.items())
        shown = self.catalog.teasers(
            numbers[(page - 1) * size : page * size], lambda url: url + more
        )
        pager = [(f"{self.catalog.list_url(group, p)}{more}", str(p)) for p in range(1, -(-len(numbers) // size) + 1)]  # fmt: skip
        return self.in_trap(group, shown + listed(pager), target)


class Recommendations(BlindSite):
    """A shop whose recommended products carry where they were shown, with a new identifier each time."""

    def __init__(self) -> None:
        self.catalog = Catalog(
            "www.moss-and-clay.test", 140, product, lambda _, s: f"/products/{s}",
            lambda g, p: paged(f"/collections/{g}", p), ("cups", "plates", "vases", "bowls", "gifts"),
            size=16, related=0,
        )  # fmt: skip
        super().__init__(self.catalog.host, self.catalog.written(), frame=shop, menu=self.catalog.menu())  # fmt: skip
        self.numbers = {url: number for number, url in self.catalog.urls.items()}

    def beside(self, target: str) -> str:
        number = self.numbers.get(target.partition("?")[0])
        if number is None:
            return ""
        links = []
        for place in range(4):
            other, shown = (number * 5 + place * 19 + 3) % 140 + 1, digest(f"{target} {place}")[:9]
            query = f"pr_prod_strat=e5_desc&pr_rec_id={shown}&pr_rec_pid={other + 67400}&pr_ref_pid={number + 67400}&pr_seq=uniform"
            links.append((f"{self.catalog.urls[other]}?{query}", self.catalog.items[other].title))
        return "<h4>You may also like</h4>" + listed(links)

    def beyond(self, target: str, path: str, asked: dict[str, str]) -> Answer | None:
        page = self.written.get(path)
        if page is None or "pr_rec_id" not in asked:
            return None
        head = f'<link rel="canonical" href="http://{self.host}{path}">'
        return Answer(self.framed(Page(page.title, page.main, head), target), page=path)
