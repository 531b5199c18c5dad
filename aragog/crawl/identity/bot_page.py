"""Generates the page about the crawler: what it does, how to contact its operator or block it."""

from __future__ import annotations

import re
from html import escape

from aragog.settings import PolitenessSettings, Settings

PURPOSE_DESCRIPTIONS = {
    "search": "an index that leads people to your pages",
    "ai-input": "answers of a model with your pages as its source",
    "ai-train": "the training of models",
}
_STYLE = "body{max-width:45rem;margin:2rem auto;padding:0 1rem;font:1rem/1.5 sans-serif}"


def product_token(user_agent: str) -> str:
    """Return the name in robots.txt: the User-Agent up to the first `/`, space or parenthesis."""
    return re.split(r"[/\s(;]", user_agent, maxsplit=1)[0] or "aragog"


def bot_page(settings: Settings, addresses: str | None) -> str:
    """
    Return the page as HTML.

    Args:
        settings: the crawler's settings.
        addresses: relative URL of the address list, or None.
    """
    name = escape(product_token(settings.fetch.user_agent))
    agent = escape(settings.fetch.user_agent or "aragog")
    link = f'<link rel="client-ranges" href="{escape(addresses)}">' if addresses else ""
    sections = [
        f"<h1>{name}</h1>",
        _paragraph(settings.identity.description or f"{name} is a web crawler."),
        _purpose_section(settings.preferences.purposes),
        "<h2>How to recognize it</h2>",
        f"<p>The User-Agent of its requests: <code>{agent}</code></p>",
        _signature_section(settings.identity.agent),
    ]
    if addresses:
        sections.append(
            f'<p>They come from <a href="{escape(addresses)}">these addresses</a> (JSON).</p>'
        )
    sections += [
        "<h2>How to slow it down, or keep it out</h2>",
        _rate_section(settings.politeness),
        f"<pre>User-agent: {name}\nCrawl-delay: 5\nDisallow: /private/</pre>",
        f"<p>This keeps it out:</p><pre>User-agent: {name}\nDisallow: /</pre>",
        _contact_section(settings.identity.contact),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{name}</title>\n{link}<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(section for section in sections if section)
        + "\n</body>\n</html>\n"
    )


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def _purpose_section(purposes: tuple[str, ...]) -> str:
    if not purposes:
        return ""
    items = "".join(
        f"<li><code>{purpose}</code>: {PURPOSE_DESCRIPTIONS[purpose]}</li>" for purpose in purposes
    )
    return (
        "<p>Pages that it fetches are used for:</p>"
        f"<ul>{items}</ul><p>Pages that your site does not allow for these uses (by Content-Usage, "
        "Content-Signal, TDMRep, X-Robots-Tag or meta robots) are not kept.</p>"
    )


def _rate_section(politeness: PolitenessSettings) -> str:
    return (
        f"<p>It obeys robots.txt (RFC 9309) and sends at most {politeness.qps:g} requests per "
        "second to one domain, evenly spaced. It obeys <code>Crawl-delay</code> up to "
        f"{politeness.crawl_delay_cap_s:g} s. A 429 or 503 with Retry-After pauses it.</p>"
    )


def _signature_section(agent: str) -> str:
    if not agent:
        return ""
    return (
        "<p>Every request is signed (RFC 9421, Web Bot Auth). The public keys are at "
        f'<a href="{escape(agent)}">{escape(agent)}</a>; requests with any other signature are '
        "not from this crawler.</p>"
    )


def _contact_section(contact: str) -> str:
    if not contact:
        return ""
    href = contact if "://" in contact else f"mailto:{contact}"
    return (
        f'<h2>How to contact us</h2><p><a href="{escape(href)}">{escape(contact)}</a>. You can '
        "also ask us to delete pages that we have stored.</p>"
    )
