"""Find tags in bytes, nearly as the tokenizer of the HTML Standard (13.2.5) does."""

from __future__ import annotations

import re

FORMATTING = (
    b"b", b"big", b"code", b"em", b"font", b"i", b"s", b"small", b"strike", b"strong", b"tt", b"u",
)  # fmt: skip
"""The tree builder reopens these elements in each block until they are closed."""

RAW = rb"(?:script|style|textarea|title|xmp|iframe|noembed|noframes|noscript)"
QUOTED = rb"=[\t\n\f\r ]*+(?:\"[^\"]*+\"?|'[^']*+'?)"
"""A quote starts a quoted value only after `=`; elsewhere it is an ordinary character."""
_TAG_REST = rb"(?:[^>=]++|" + QUOTED + rb"|=)*+"
TOKEN = re.compile(
    rb"<(?:!--[^-]*+(?:-(?!->)[^-]*+)*+"
    rb"|(?i:" + RAW + rb")[\s>/][^<]*+(?:<(?!/(?i:" + RAW + rb"))[^<]*+)*+"
    rb"|((/?[a-zA-Z][^\s/>]*+)" + _TAG_REST + rb">?))"
)
"""Matches a comment, an element whose content is text, or (group 1) a tag and (2) its name."""
