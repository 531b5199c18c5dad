"""
Write a page's main text as Markdown (CommonMark with GitHub's tables) or as plain text.

Characters that Markdown would read as markup are escaped. Links and images are http(s) only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from richpins.article.preparation import ArticleTree

_SPACE = re.compile(r"[^\S\u00a0]+")
_MARKUP = re.compile(r"[\\`*\[\]<~]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w{1,32};)")
_BLOCK_START = re.compile(r"(?:(\d{1,9})(?=[.)](?:\s|\Z))|(?=[#>+=|-]))")
_MATH = re.compile(r"(?<!\S)\\\[(.{1,300}?)\\\]|\\\((.{1,300}?)\\\)", re.DOTALL)
_NOT_MATH = re.compile(r"[<>`$]|&#?\w+;|\n")
_ENTITY = re.compile(r"&(?=#?\w{1,32};)")
_RUNS = re.compile("`+")

_HEADING_LEVEL = re.compile(r"h([1-6])")
_MARKERS = {"#b": "**", "#i": "*"}
_HTML_TAGS = {"#sup": "sup", "#sub": "sub"}
_BLOCKS = frozenset({"p", "head", "list", "item", "table", "quote", "div", "body", "main", "row"})
_MAX_DEPTH = 60
"""Elements nested deeper are written as plain text."""


@dataclass(frozen=True, slots=True)
class _Context:
    depth: int = 0
    link: bool = False
    cell: bool = False
    markers: frozenset[str] = frozenset()

    def inside(self, **changes: Any) -> _Context:
        return replace(self, depth=self.depth + 1, **changes)


def to_markdown(body: Any, article: ArticleTree) -> str:
    """Return a body (`richpins.article.composition`) as Markdown."""
    return "\n\n".join(_Writer(article, markdown=True).body(body))


def to_text(body: Any, article: ArticleTree) -> str:
    """Return a body as plain text, one block per line."""
    return "\n".join(_Writer(article, markdown=False).body(body))


class _Writer:
    def __init__(self, article: ArticleTree, *, markdown: bool) -> None:
        self._article = article
        self._markdown = markdown

    def body(self, body: Any) -> list[str]:
        return self.blocks(body, _Context())

    def _image(self, element: Any) -> str:
        alt = _MARKUP.sub(r"\\\g<0>", element.get("alt")).replace("|", r"\|")
        return f"![{alt}]({_link_target(element.get('src'))})"

    def _image_block(self, element: Any, _: _Context) -> list[str]:
        return [self._image(element)]

    def blocks(self, element: Any, context: _Context) -> list[str]:
        """Return the blocks of an element's content; text between blocks is also a block."""
        if context.depth > _MAX_DEPTH:
            return self._paragraph(self._text(" ".join(element.itertext())))
        blocks: list[str] = []
        run: list[str] = [self._text(element.text)]
        for child in element:
            write = self._block(child)
            if write is None:
                self._add_inline(run, child, context)
            else:
                blocks += self._paragraph("".join(run))
                blocks += write(child, context)
                run = []
            self._add_tail(run, child)
        return blocks + self._paragraph("".join(run))

    def _block(self, element: Any) -> Callable[[Any, _Context], list[str]] | None:
        tag = str(element.tag)
        if tag == "code":
            return self._code_block if _is_block_code(element) else None
        if tag == "graphic":
            return self._image_block if element.get("alone") else None
        writers = {"head": self._heading, "list": self._list, "table": self._table}
        writers["quote"] = self._quote
        return writers.get(tag) or (self._container if tag in _BLOCKS else None)

    def _container(self, element: Any, context: _Context) -> list[str]:
        return self.blocks(element, context.inside())

    def _paragraph(self, run: str) -> list[str]:
        text = _collapse_space(run)
        if not text:
            return []
        return [self._as_lines(text) if self._markdown else text]

    def _as_lines(self, text: str) -> str:
        """Escape what would start a block at the beginning of a line."""
        return "  \n".join(map(_escape_start, text.split("\n")))

    def _heading(self, element: Any, context: _Context) -> list[str]:
        text = _collapse_space(self._inline(element, context)).replace("\n", " ")
        if not text or not self._markdown:
            return [text] if text else []
        level = _HEADING_LEVEL.match(element.get("rend") or "")
        if text.endswith("#"):
            text = f"{text[:-1]}\\#"
        return [f"{'#' * int(level[1] if level else 2)} {text}"]

    def _quote(self, element: Any, context: _Context) -> list[str]:
        blocks = self.blocks(element, context.inside())
        if not self._markdown or not blocks:
            return blocks
        return [_prefix_lines("\n\n".join(blocks), "> ", "> ")]

    def _code_block(self, element: Any, _: _Context) -> list[str]:
        text = self._plain("".join(element.itertext())).strip("\n")
        if not text.strip() or not self._markdown:
            return [text] if text.strip() else []
        fence = "`" * max(3, 1 + _longest_run(text))
        return [f"{fence}\n{text}\n{fence}"]

    def _list(self, element: Any, context: _Context) -> list[str]:
        is_ordered = element.get("rend") == "ol"
        items: list[str] = []
        for number, (item, blocks) in enumerate(self._items(element, context), start=1):
            is_numbered = is_ordered and self._markdown and item is not None
            marker = f"{number}. " if is_numbered else "- "
            is_nested = len(blocks) > 1 and all(_is_list_text(block) for block in blocks[1:])
            joined = ("\n" if is_nested or not self._markdown else "\n\n").join(blocks)
            items.append(_prefix_lines(joined, marker, " " * len(marker)))
        if not items:
            return []
        return ["\n".join(items)]

    def _items(self, element: Any, context: _Context) -> Iterator[tuple[Any, list[str]]]:
        loose = self._paragraph(self._text(element.text))
        if loose:
            yield None, loose
        for child in element:
            inner = context.inside()
            blocks = (
                self.blocks(child, inner) if child.tag == "item" else self._loose_item(child, inner)
            )
            blocks += self._paragraph(self._text(child.tail))
            if blocks:
                yield child, blocks

    def _loose_item(self, element: Any, context: _Context) -> list[str]:
        write = self._block(element)
        if write is not None:
            return write(element, context)
        run: list[str] = []
        self._add_inline(run, element, context)
        return self._paragraph("".join(run))

    def _table(self, element: Any, context: _Context) -> list[str]:
        rows = [list(row.iter("cell")) for row in element.iter("row")]
        rows = [row for row in rows if row]
        inner = context.inside(cell=True)
        lines = [[self._cell(cell, inner) for cell in row] for row in rows]
        kept = [index for index, line in enumerate(lines) if any(line)]
        if not kept:
            return []
        width = max(len(lines[index]) for index in kept)
        padded = [lines[index] + [""] * (width - len(lines[index])) for index in kept]
        if self._markdown:
            has_head = any(cell.get("role") == "head" for cell in rows[kept[0]])
            padded.insert(1 if has_head else 0, ["---"] * width)
            if not has_head:
                padded.insert(0, [""] * width)
        return ["\n".join(f"| {' | '.join(line)} |" for line in padded)]

    def _cell(self, element: Any, context: _Context) -> str:
        """Return a cell's content on one line. Markdown cells cannot contain blocks."""
        text = " ".join(_collapse_space(self._inline(element, context)).split())
        # A pipe ends a cell even in a code span, because tables are split first.
        return re.sub(r"(?<!\\)\|", r"\\|", text) if self._markdown else text

    def _inline(self, element: Any, context: _Context) -> str:
        """Return an element's content as inline text, with spaces between blocks."""
        if context.depth > _MAX_DEPTH:
            return self._text(" ".join(element.itertext()))
        run = [self._text(element.text)]
        for child in element:
            self._add_inline(run, child, context)
            self._add_tail(run, child)
        return "".join(run)

    def _add_tail(self, run: list[str], child: Any) -> None:
        text = self._text(child.tail)
        if text:
            run.append(text)

    def _add_inline(self, run: list[str], child: Any, context: _Context) -> None:
        text = self._inline_element(child, context)
        if child.tag in _BLOCKS:
            text = f" {text} "
        elif text.startswith("`") and run and run[-1].endswith("`"):
            text = f" {text}"  # otherwise adjacent code spans would merge
        if text.startswith("[") and run and run[-1].endswith("!"):
            run[-1] = f"{run[-1][:-1]}\\!"
        run.append(text)

    def _inline_element(self, child: Any, context: _Context) -> str:
        if child.tag == "lb":
            return " " if context.cell else "\n"
        if child.tag == "graphic":
            return self._image(child)
        if child.tag == "code" or (child.tag == "hi" and child.get("rend") == "#t"):
            return self._code_span(child)
        if child.tag == "ref":
            return self._link(child, context)
        if child.tag == "del":
            return self._emphasized(child, context, "~~")
        if child.tag == "hi":
            rend = child.get("rend") or ""
            if rend in _HTML_TAGS and self._markdown:
                return _wrap(self._inline(child, context.inside()), f"<{_HTML_TAGS[rend]}>")
            return self._emphasized(child, context, _MARKERS.get(rend, ""))
        return self._inline(child, context.inside())

    def _emphasized(self, element: Any, context: _Context, marker: str) -> str:
        inner = self._inline(
            element,
            context.inside(markers=context.markers | {marker} if marker else context.markers),
        )
        if not (self._markdown and marker) or marker in context.markers or "\n" in inner.strip():
            return inner
        return _wrap(inner, marker) if _can_be_emphasized(element, inner) else inner

    def _code_span(self, element: Any) -> str:
        text = self._plain("".join(element.itertext()))
        stripped = " ".join(text.split())
        if not self._markdown or not stripped:
            return text
        fence = "`" * (1 + _longest_run(stripped))
        if stripped[0] == "`" or stripped[-1] == "`":
            stripped = f" {stripped} "
        return _with_outer_spaces(text, f"{fence}{stripped}{fence}")

    def _link(self, element: Any, context: _Context) -> str:
        inner = self._inline(element, context.inside(link=True))
        target = element.get("target")
        text = " ".join(inner.split())
        if not self._markdown or context.link or not text or not _is_safe(target):
            return inner
        return _with_outer_spaces(inner, f"[{text}]({_link_target(target)})")

    def _plain(self, text: str | None) -> str:
        return (text or "").translate(self._article.characters)

    def _text(self, text: str | None) -> str:
        collapsed = _SPACE.sub(" ", self._plain(text))
        if not self._markdown or not collapsed.strip():
            return collapsed
        if "\\" not in collapsed:
            return _MARKUP.sub(r"\\\g<0>", collapsed)
        return _with_math(collapsed)


def _is_block_code(element: Any) -> bool:
    return "\n" in "".join(element.itertext())


def _is_safe(target: str | None) -> bool:
    return target is not None and target.startswith(("http://", "https://"))


def _with_math(text: str) -> str:
    """
    Escape the text around formulas, and write formulas as `$…$`.

    A formula that contains markup is written as text.
    """
    parts, position = [], 0
    for match in _MATH.finditer(text):
        formula = (match[1] or match[2]).strip()
        if not formula or _NOT_MATH.search(formula):
            continue
        parts += [_MARKUP.sub(r"\\\g<0>", text[position : match.start()]), f"${formula}$"]
        position = match.end()
    return "".join([*parts, _MARKUP.sub(r"\\\g<0>", text[position:])])


def _collapse_space(run: str) -> str:
    """Collapse spaces, and remove those around line breaks."""
    lines = [_SPACE.sub(" ", line).strip() for line in run.split("\n")]
    return "\n".join(line for line in lines if line)


def _escape_start(line: str) -> str:
    match = _BLOCK_START.match(line)
    if match is None:
        return line
    return f"{match[1]}\\{line[match.end() :]}" if match[1] else f"\\{line}"


def _prefix_lines(text: str, first: str, others: str) -> str:
    first_line, *rest = text.split("\n")
    lines = [f"{others}{line}" if line else others.rstrip() for line in rest]
    return "\n".join([f"{first}{first_line}", *lines])


def _is_list_text(block: str) -> bool:
    return block.startswith(("- ", "1. "))


def _longest_run(text: str) -> int:
    return max((len(run) for run in _RUNS.findall(text)), default=0)


def _with_outer_spaces(text: str, replacement: str) -> str:
    before, after = text[:1].isspace(), text[-1:].isspace()
    return f"{' ' if before else ''}{replacement}{' ' if after else ''}"


def _wrap(inner: str, marker: str) -> str:
    text = inner.strip()
    if not text:
        return inner
    closing = marker.replace("<", "</")
    return _with_outer_spaces(inner, f"{marker}{text}{closing}")


def _can_be_emphasized(element: Any, inner: str) -> bool:
    """
    Return True if CommonMark reads the markers as emphasis.

    It does not do so between punctuation and a letter.
    """
    text = inner.strip()
    if not text:
        return False
    after = (element.tail or "")[:1]
    previous = element.getprevious()
    if previous is not None:
        before = (previous.tail or "".join(previous.itertext()) or " ")[-1:]
    else:
        before = (element.getparent().text or " ")[-1:] if element.getparent() is not None else " "
    opens = text[0].isalnum() or not before.isalnum() or inner[0].isspace()
    closes = text[-1].isalnum() or not after.isalnum() or inner[-1].isspace()
    return opens and closes


def _link_target(url: str) -> str:
    safe = _ENTITY.sub(r"\\&", url.replace("\\", "%5C").replace("<", "%3C").replace(">", "%3E"))
    return f"<{safe}>" if re.search(r"[\s()]", safe) else safe
