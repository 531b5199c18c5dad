"""
Find a product's price in the visible text of a page whose markup has none.

It is the first price after the h1 in an element with a price class. Unless the markup declares a
product, the page must have a shopping cart. Prices in links, or in one of several similar blocks,
belong to other products. A page that sells nothing costs only two searches of its bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache

from selectolax.lexbor import LexborNode

from richpins._price_texts import MAX_PRICE_CHARS, price_text
from richpins.provenance import Candidate
from richpins.structured_data.sources import Sources
from richpins.structured_data.words import CARTS, PRICES
from richpins.values import money

_OTHER_PRICE = re.compile(
    r"(?:(?<![a-z])|(?<=price)|(?<=per))(?:old|was(?![ht])|strik|strok|line-through|crossed|compare|"
    r"former|list-?price|rrp|msrp|uvp|original|before(?!:)|prev|unit|tax|recommended|suggested|"
    r"club|klub|member|loyalty|clubcard)"
)
"""Class names of other prices, but not `font-bold`, `holder` or `whitewash`."""
_OTHER_PRODUCTS = re.compile(
    r"(?<![a-z])(?:ads?|advert(?:s|isements?|ising)?|sponsored|related|recommend(?:ed|ations?)|"
    r"similar(?:ities)?|alternatives?|carousels?|"
    r"up-?sells?|cross-?sells?|also-(?:bought|viewed|like))(?![a-z])"
)
"""Class names of blocks that advertise or suggest other products."""
_REGULAR_PRICE = re.compile(r"(?:(?<![a-z])|(?<=price))regular")
"""A class of the only price, or of the former one."""
_CAMEL_CASE_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")
_RANGE = re.compile(r"\d\s?[^\s\d]{0,3}\s?[-–]\s?[^\s\d]{0,3}\s?\d")
_MAX_EXAMINED = 20
_MAX_CLASS_CHARS = 1_000
_MAX_ANCESTORS = 8
_MAX_ELEMENTS = 400
_MAX_SIBLINGS = 60
_MIN_SIMILAR_BLOCKS = 3
_OTHER_PRICE_TAGS = frozenset({"a", "del", "s", "strike", "aside", "footer", "nav"})


def shown_price(
    sources: Sources, country: str | None, *, is_product: bool
) -> tuple[Decimal, str, Candidate] | None:
    """
    Return the amount, its currency and its position; None if the page shows no price.

    With `is_product`, the markup already declares a product, so no cart is required.
    """
    if not is_product and not sources.words.any(CARTS):
        return None
    labeled: tuple[Decimal, str, Candidate] | None = None
    doubtful: tuple[Decimal, str, Candidate] | None = None
    without_taxes: tuple[Decimal, str, Candidate] | None = None
    for node, text in price_elements(sources):
        currency = money.find_currency(text, country)
        if is_other_amount(text):
            continue
        taxes = _taxes(node)
        if without_taxes is not None and taxes != "with":
            continue
        if taxes == "without":
            without_taxes = _price_in(node, text, currency)
            continue
        if money.are_installments(text) or _is_regular(node):
            doubtful = doubtful or _price_in(node, text, currency)
            continue
        if money.count_amounts(text) > 1 and not _RANGE.search(text):
            # One is a former price. Usually, each is also in its own element.
            current = money.find_current_amount(text, currency) if labeled is None else None
            if currency and current:
                labeled = current, currency, Candidate(text, "html", f"{node.tag} called price")
            continue
        price = _price_in(node, text, currency)
        if price is not None:
            return price
    return without_taxes or labeled or doubtful


def _taxes(node: LexborNode) -> str:
    """Return `with` or `without` if the text beside the amount says so; empty if it does not."""
    for element in (node, node.parent):
        text = "" if element is None else element.text(separator=" ")[: 2 * MAX_PRICE_CHARS]
        if _TAXES.search(text) and money.count_amounts(text) == 1:
            return "without" if _WITHOUT_TAXES.search(text) else "with"
    return ""


_WITHOUT_TAXES = re.compile(
    r"\b(?:(?:bez|без)\s(?:DPH|VAT|PDV|НДС|ПДВ|ДДС)|(?:zzgl|exkl|exclusief|ohne|plus)\b\.?\s(?:MwSt|USt|moms|btw)"
    r"|netto|HT\b|hors\s(?:taxes?|TVA)|ex(?:cl(?:uding|usive|\.|)|\.|)\s(?:of\s)?(?:VAT|tax|GST|btw)"
    r"|IVA\sescl\w*|(?:sin|sem|senza)\sIVA|fără\sTVA|ilman\sALV)|\+\s?(?:IVA|VAT|btw|MwSt)\b|ÁFA\snélkül",
    re.IGNORECASE,
)
_TAXES = re.compile(
    r"\b(?:DPH|VAT|PDV|НДС|ПДВ|ДДС|MwSt|USt|moms|btw|netto|brutto|HT|TTC|tax(?:es)?|GST|IVA|TVA|ALV)\b|ÁFA",
    re.IGNORECASE,
)


def _is_regular(node: LexborNode) -> bool:
    """Return True if the element or its parent is called a regular price."""
    elements = [each for each in (node, node.parent) if each is not None]
    return any(_REGULAR_PRICE.search(_class_and_id(element)) for element in elements)


def is_other_amount(text: str) -> bool:
    """Return True if the words at the only amount name a fee, saving, extra or past price."""
    before, after = money.text_around_amount(text)
    if _LOWEST.search(before) and _RECENT.search(f"{before} {after}"):
        return True
    is_other = _FEE_OR_SAVING.search(before) or _COUPON.search(f"{before} {after}")
    return bool(is_other) and not _INCLUDING.search(before)


_LOWEST = re.compile(
    r"\blowest|niedrigst|bestpreis|tiefst|plus\sbas|más\sbajo|più\sbasso|mais\sbaixo|laagste|lägsta|"
    r"lavest|\balin\b|legalacsonyabb|cel\smai\smic|najniż|najniž|nejniž|най-ниск|χαμηλότερη|"
    r"madalaim|zemāk|žemiausi|самая\sнизкая|найнижч",
    re.IGNORECASE,
)
_RECENT = re.compile(r"\b30\b|\brecent", re.IGNORECASE)
"""The law of the EU asks for the lowest price of the 30 days before a reduction."""
_COUPON = re.compile(
    r"coupon|voucher|gutschein|\bbon\sde\sréduction|cupón|cupom|buono\ssconto|kupon|купон|クーポン|쿠폰|优惠券",
    re.IGNORECASE,
)
_FEE_OR_SAVING = re.compile(
    r"\b(?:shipping|delivery|postage|versand|lieferung|livraison|port|envíos?|envio|entrega|frete|"
    r"spedizione|consegna|verzend\w*|bezorg\w*|levering|frakt\w*|fragt\w*|toimitus\w*|wysyłk\w*|"
    r"dostaw\w*|doprav\w*|szállítás\w*|livrare|достав\w*|kargo|"
    r"saves?|savings?|discount|sparen|ersparnis|rabatt|économi\w*|remise|ahorr\w*|descuento|"
    r"economi[az]\w*|desconto|risparmi\w*|sconto|bespaar|korting|spar|spara|sparar|oszczędz\w*|rabat|"
    r"ušetř\w*|ušetr\w*|sleva|zľava|экономия|скидка|выгода|"
    r"deposit|pfand|consigne|statiegeld|kaution|kaucja|záloha|"
    r"protection|warranty|insurance|versicherung|garantieverlängerung|assurance|seguro|assicurazione|"
    r"club(?:card)?|members?|membership|klubov\w+|členská|mitglied\w*|adhérents?|socios?|medlem\w*|"
    r"ledenprijs|verzekering|försäkring|forsikring|ubezpieczenie|pojištění|gift\swrap\w*|trade-in)\b"
    r"|versandkosten\w*|送料|배송비|运费|運費",
    re.IGNORECASE,
)
_INCLUDING = re.compile(
    r"\b(?:incl(?:uding|usive)?|inkl(?:usive)?|inc|with|mit|compris\w*|incluid\w*|con|avec|met|med|z|s|vč|с|after)\b"
    r"|\b(?:discount(?:ed)?|sale)\sprice|rabattpreis|cena\s(?:po\s(?:rabacie|slevě))",
    re.IGNORECASE,
)


def price_elements(sources: Sources) -> Iterator[tuple[LexborNode, str]]:
    """Yield the elements after the first h1 that show this product's prices, with their texts."""
    if not sources.words.occurs_in_class(*PRICES) and not sources.words.occurs_in_tag("price"):
        return
    words = tuple(word for word in PRICES if word in sources.words)
    nodes = sources.document.tree.css(_selector(words))[:_MAX_ELEMENTS]
    containers = _containers(nodes)
    for node in _nodes_after_heading(nodes):
        text = price_text(node)
        if 0 < len(text) <= MAX_PRICE_CHARS and not _belongs_to_other_product(node, containers):
            yield node, text


@lru_cache(64)
def _selector(words: tuple[str, ...]) -> str:
    """Return a selector for headings, and for elements with one of `words` in their class or id."""
    named = (f'[{name}*="{word}" i]' for word in words for name in ("class", "id"))
    return ",".join(["h1", '[itemprop~="price"]', *named])


def _price_in(
    node: LexborNode, text: str, currency: str | None
) -> tuple[Decimal, str, Candidate] | None:
    amount = money.find_amount(text, currency) if currency else None
    if currency is None or amount is None or amount <= 0:
        return None
    return amount, currency, Candidate(text, "html", f"{node.tag} called price")


def _containers(nodes: list[LexborNode]) -> set[int]:
    """Return the `mem_id` of each element that contains a price."""
    containers: set[int] = set()
    for node in nodes:
        ancestor = node.parent if node.tag != "h1" else None
        for _ in range(_MAX_ANCESTORS):
            if ancestor is None or ancestor.mem_id in containers:
                break
            containers.add(ancestor.mem_id)
            ancestor = ancestor.parent
    return containers


def _nodes_after_heading(nodes: list[LexborNode]) -> list[LexborNode]:
    heading_indexes = [index for index, node in enumerate(nodes) if node.tag == "h1"]
    if not heading_indexes:
        return []
    following = nodes[heading_indexes[0] + 1 : heading_indexes[0] + 1 + _MAX_EXAMINED]
    return [
        node for node in following if node.tag not in {"h1", "input", "script", "style", "label"}
    ]


def _belongs_to_other_product(node: LexborNode, containers: set[int]) -> bool:
    if _OTHER_PRICE.search(_class_and_id(node)):
        return True
    ancestor: LexborNode | None = node
    for _ in range(_MAX_ANCESTORS):
        if ancestor is None or ancestor.tag in {"body", "html"}:
            return False
        if ancestor.tag in _OTHER_PRICE_TAGS or _is_repeated_block(ancestor, containers):
            return True
        if _OTHER_PRODUCTS.search(_class_and_id(ancestor)):
            return ancestor.css_first("h1") is None
        ancestor = ancestor.parent
    return False


def _class_and_id(node: LexborNode) -> str:
    attributes = node.attributes
    names = f"{attributes.get('class') or ''} {attributes.get('id') or ''}"[:_MAX_CLASS_CHARS]
    return _CAMEL_CASE_WORD.sub("-", names).lower()


def _is_repeated_block(node: LexborNode, containers: set[int]) -> bool:
    class_name = node.attributes.get("class")
    if node.parent is None or not class_name:
        return False
    similar_count = 0
    for index, sibling in enumerate(node.parent.iter()):
        if index > _MAX_SIBLINGS:
            break
        is_similar = sibling.tag == node.tag and sibling.attributes.get("class") == class_name
        similar_count += is_similar and sibling.mem_id in containers
    return similar_count >= _MIN_SIMILAR_BLOCKS
