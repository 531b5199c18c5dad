"""
Recognize placeholders: unfilled templates, and default names that programs write (`Untitled
document`, `admin`).
"""

from __future__ import annotations

import re

_TEMPLATE_EXPRESSION = re.compile(
    r"\{\{[^{}]{0,200}\}\}|[$#@]\{[^{}]{0,200}\}|\{%[^{}]{0,200}%\}|<[%?][^<>]{0,200}[%?]>"
    r"|%%[^%\s]{1,80}%%|%[A-Za-z]\w{1,80}%|\[\[[^\[\]]{1,200}\]\]|\[(?:author|title|name|site_?name)\]"
    r"|\{[A-Za-z_][\w.]{0,80}\}",
    re.IGNORECASE,
)
_MISSING_VALUES = frozenset({"undefined", "null", "(null)", "nan", "[object object]"})
_DEFAULT_TITLE = re.compile(
    r"untitled(?:[\s_-]*(?:document|page|post|site|article|\d{1,4}))?|new\s+(?:page|document)(?:\s*\d{1,4})?"
    r"|no\s+title|(?:page|post|document|insert|enter)\s+title(?:\s+here)?|title\s+(?:goes\s+)?here"
    r"|unbenannt(?:es\s+dokument|e\s+seite)?|neue\s+seite(?:\s*\d{1,4})?|ohne\s+titel|kein\s+titel"
    r"|(?:document\s+)?sans\s+(?:titre|nom)|(?:documento\s+)?sin\s+t[ií]tulo|(?:documento\s+)?sem\s+t[ií]tulo"
    r"|(?:documento\s+)?senza\s+titolo|naamloos(?:\s+document)?|dokument\s+bez\s+tytułu|bez\s+tytułu"
    r"|(?:документ\s+)?без\s+(?:имени|названия)|無題(?:ドキュメント)?|无标题(?:文档)?|無標題(?:文件)?|제목\s*없음",
    re.IGNORECASE,
)
_DEFAULT_USER = re.compile(
    r"(?:wp[-_ ]?|site[-_ ]?|web[-_ ]?)?admin(?:istrat(?:or|eur|ore|ör)|istrador)?\d{0,4}"
    r"|webmaster|root|super-?user|(?:user|guest|test)\d{0,8}|default(?:\s+(?:user|author))?|editor\d{0,4}"
    r"|staff(?:\s+(?:writer|reporter|author|report))?|админ(?:истратор)?|管理员|管理員|管理者",
    re.IGNORECASE,
)
_MAX_CHARS = 300


def is_placeholder(text: str) -> bool:
    """Return True if a string is nothing but unfilled templates, or stands for a missing value."""
    if len(text) > _MAX_CHARS:
        return False
    if text.strip().lower() in _MISSING_VALUES:
        return True
    return _TEMPLATE_EXPRESSION.search(text) is not None and not any(
        map(str.isalnum, _TEMPLATE_EXPRESSION.sub(" ", text))
    )


def is_untitled(text: str) -> bool:
    """Return True for a default title that programs give to untitled pages."""
    return is_placeholder(text) or _DEFAULT_TITLE.fullmatch(text.strip()) is not None


def is_user_name(text: str) -> bool:
    """Return True for a default account name of a publishing program, such as `admin`."""
    return is_placeholder(text) or _DEFAULT_USER.fullmatch(text.strip()) is not None
