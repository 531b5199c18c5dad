"""Validate rule tables, and compile them into item kinds."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from richpins.errors import InvalidKind
from richpins.field_types import FieldType
from richpins.items._definitions import table_from_class
from richpins.items._values import TYPES, Clean, parse_step
from richpins.selectors import Selector, parse

FIELD_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
"""Valid names of kinds and their fields."""
MAX_FIELDS = 100
MAX_PATTERNS = 50
MAX_PATTERN_CHARS = 500
RESERVED = ("kind", "page_url", "fetched_at_ms")
"""Names that every item has."""

_TABLE = ("pages", "each", "fields", "required", "key", "follow", "link", "files")
_FIELD = ("select", "type", "clean", "of", "default", "from_parent")
_EACH = re.compile(r"(css|xpath):(.+)", re.DOTALL)

Function = Callable[[Any], Iterable[Any]]
"""Returns a page's items as dicts or dataclasses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemField:
    name: str
    selector: Selector | None
    """None if the value comes from the parent item or a function."""
    type: str = "text"
    steps: tuple[Clean, ...] = ()
    of_page: bool = False
    """True if the rule searches the whole page, not only the item's element."""
    default: Any = None
    parent: tuple[str, str] | None = None
    """The kind and field of the parent item from which the value is copied, if any."""

    @property
    def field_type(self) -> FieldType:
        value_type = TYPES[self.type]
        return (
            FieldType("list", value_type) if self.selector and self.selector.every else value_type
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemKind:
    name: str
    pages: tuple[str, ...] = ("*",)
    """Patterns for the whole URL of a page."""
    each: tuple[str, str] | None = None
    """`css` or `xpath`, and the elements' selector; None if the page is one item."""
    fields: tuple[ItemField, ...] = ()
    required: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    """Fields that identify an item; may be empty."""
    link: str | None = None
    """The field with the URL of the item's own page."""
    follow: tuple[Selector, ...] = ()
    files: tuple[str, ...] = ()
    """Fields with URLs of the item's files, such as its images."""
    function: Function | None = None
    """A function that returns the items, used instead of rules."""

    def is_on(self, url: str) -> bool:
        return any(_matches(pattern, url) for pattern in self.pages)

    @property
    def types(self) -> dict[str, FieldType]:
        """The type of each field; empty for a function, because its types are unknown."""
        return {field.name: field.field_type for field in self.fields}

    @property
    def parents(self) -> dict[str, tuple[str, str]]:
        """Map each field copied from the parent item to the parent's kind and field."""
        return {field.name: field.parent for field in self.fields if field.parent}


def kind_of(name: str, table: Mapping[str, Any], source: Any = None) -> ItemKind:
    """
    Return the kind that a table describes.

    Args:
        name: the name of the kind.
        table: its keys are those of `ItemKind`, with strings, lists and tables as values.
        source: a class decorated with `item` (the table overrides its rules); a function that takes
            a page and returns its items; or None if the table contains all rules.

    Raises:
        InvalidKind: the table is invalid; one line per mistake.
    """
    return _TableReader(name, table, source).kind()


class _TableReader:
    """Reads a table and collects its mistakes."""

    def __init__(self, name: str, table: Mapping[str, Any], source: Any) -> None:
        self.problems: list[str] = []
        self._name, self._function = name, None
        self._table = dict(table)
        if isinstance(source, type):
            self._table = {**self._class_table(source), **table}
        elif source is not None and not callable(source):
            self.problems.append(f"{source!r} is neither a class nor a function")
        else:
            self._function = source

    def _class_table(self, source: type) -> dict[str, Any]:
        try:
            return table_from_class(source)
        except (TypeError, ValueError, NameError) as error:
            self.problems.append(str(error))
            return {}

    def kind(self) -> ItemKind:
        """Return the kind. Raises InvalidKind."""
        if not FIELD_NAME.fullmatch(self._name):
            self.problems.append(
                "its name may contain only lowercase letters, digits and underscores"
            )
        self._check_keys("", self._table, _TABLE)
        each, fields = self._each(), self._fields()
        self._check_scopes(each, fields)
        names = self._page_fields(fields)
        kind = ItemKind(
            name=self._name,
            pages=self._pages(),
            each=each,
            fields=fields,
            required=self._field_names("required", names),
            key=self._field_names("key", names),
            link=self._link(fields),
            follow=self._follow(),
            files=self._files(fields, names),
            function=self._function,
        )
        if self.problems:
            raise InvalidKind(self.problems)
        return kind

    def _check_keys(self, path: str, table: Mapping[str, Any], known: Sequence[str]) -> None:
        for key in table:
            if key not in known:
                close = difflib.get_close_matches(key, known, n=1)
                hint = f"; did you mean {close[0]}?" if close else f"; it can be {', '.join(known)}"
                self.problems.append(f"{path}{key}: is not known{hint}")

    def _strings(self, key: str, value: Any) -> tuple[str, ...]:
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, list | tuple) or not all(isinstance(t, str) and t for t in texts):
            self.problems.append(f"{key}: must be a string or a list of strings, got {value!r}")
            return ()
        return tuple(texts)

    def _pages(self) -> tuple[str, ...]:
        patterns = self._strings("pages", self._table.get("pages", "*"))
        if len(patterns) > MAX_PATTERNS or any(len(p) > MAX_PATTERN_CHARS for p in patterns):
            self.problems.append(
                f"pages: at most {MAX_PATTERNS} patterns of up to {MAX_PATTERN_CHARS} characters"
            )
        return patterns

    def _each(self) -> tuple[str, str] | None:
        text = self._table.get("each")
        if text is None:
            return None
        match = _EACH.fullmatch(text.strip()) if isinstance(text, str) else None
        if match is None or (match[1] == "css" and "::" in match[2]):
            self.problems.append(
                f"each: must be css: or xpath: and a selector of elements, got {text!r}"
            )
            return None
        self._parse_rule("each", text)
        return match[1], match[2].strip()

    def _parse_rule(self, key: str, rule: Any) -> Selector | None:
        if not isinstance(rule, str):
            self.problems.append(f"{key}: must be a rule such as css:.price, got {rule!r}")
            return None
        try:
            return parse(rule)
        except ValueError as error:
            self.problems.append(f"{key}: {error}")
            return None

    def _fields(self) -> tuple[ItemField, ...]:
        tables = self._table.get("fields", {})
        if not isinstance(tables, Mapping) or not (tables or self._function):
            self.problems.append("fields: must be a table of rules with at least one field")
            return ()
        if len(tables) > MAX_FIELDS:
            self.problems.append(f"fields: at most {MAX_FIELDS}")
        return tuple(field for name, table in tables.items() if (field := self._field(name, table)))

    def _field(self, name: str, value: Any) -> ItemField | None:
        path, problem_count = f"fields.{name}", len(self.problems)
        if not FIELD_NAME.fullmatch(name) or name in RESERVED:
            self.problems.append(
                f"{path}: may contain only lowercase letters, digits and underscores, "
                f"and not be one of {', '.join(RESERVED)}"
            )
        table = {"select": value} if isinstance(value, str) else value
        if not isinstance(table, Mapping):
            self.problems.append(f"{path}: must be a rule or a table with select, got {value!r}")
            return None
        self._check_keys(f"{path}.", table, _FIELD)
        parent = self._parent(path, table)
        selector = (
            self._parse_rule(f"{path}.select", table.get("select")) if parent is None else None
        )
        kind, scope = table.get("type", "text"), table.get("of", "item")
        if kind not in TYPES:
            self.problems.append(f"{path}.type: must be one of {', '.join(TYPES)}, got {kind!r}")
        if scope not in ("item", "page"):
            self.problems.append(f"{path}.of: must be item or page, got {scope!r}")
        steps = self._steps(f"{path}.clean", table.get("clean", ()))
        if len(self.problems) > problem_count:
            return None
        return ItemField(
            name=name,
            selector=selector,
            type=str(kind),
            steps=steps,
            of_page=scope == "page",
            default=table.get("default"),
            parent=parent,
        )

    def _parent(self, path: str, table: Mapping[str, Any]) -> tuple[str, str] | None:
        text = table.get("from_parent")
        if text is None:
            return None
        parts = text.split(".") if isinstance(text, str) else []
        if len(parts) != 2 or not all(FIELD_NAME.fullmatch(part) for part in parts):
            self.problems.append(
                f"{path}.from_parent: must be KIND.FIELD, such as cards.category, got {text!r}"
            )
        if "select" in table:
            self.problems.append(f"{path}: must have either select or from_parent")
        return (parts[0], parts[1]) if len(parts) == 2 else ("", "")

    def _steps(self, path: str, value: Any) -> tuple[Clean, ...]:
        steps = []
        for step in self._strings(path, list(value) if isinstance(value, tuple) else value):
            try:
                steps.append(parse_step(step))
            except ValueError as error:
                self.problems.append(f"{path}: {error}")
        return tuple(steps)

    def _check_scopes(self, each: tuple[str, str] | None, fields: Sequence[ItemField]) -> None:
        for field in fields:
            if each and field.selector and not field.of_page:
                language = field.selector.text.strip().partition(":")[0].removesuffix("-all")
                if language != each[0]:
                    self.problems.append(
                        f"fields.{field.name}.select: must be {each[0]}, like each, "
                        'or the field needs of = "page"'
                    )

    def _page_fields(self, fields: Sequence[ItemField]) -> set[str] | None:
        if self._function is not None:
            return None
        value = self._table.get("fields")
        declared_names = set(value) if isinstance(value, Mapping) else set()
        return declared_names - {field.name for field in fields if field.parent}

    def _field_names(self, key: str, names: set[str] | None) -> tuple[str, ...]:
        field_names = self._strings(key, self._table.get(key, ()))
        for name in field_names:
            if names is not None and name not in names:
                reason = "of the page itself" if name in self._table.get("fields", {}) else ""
                self.problems.append(f"{key}: {name!r} is not a field {reason}".rstrip())
        return field_names

    def _link(self, fields: Sequence[ItemField]) -> str | None:
        name = self._table.get("link")
        if name is None:
            url_fields = [f for f in fields if f.name == "url" and f.type == "url" and not f.parent]
            return "url" if url_fields else None
        urls = [field.name for field in fields if field.type == "url"]
        if self._function is None and name not in urls:
            self.problems.append(f"link: must be a field of type url, got {name!r}")
        return str(name)

    def _files(self, fields: Sequence[ItemField], names: set[str] | None) -> tuple[str, ...]:
        files = self._field_names("files", names)
        urls = {field.name for field in fields if field.type == "url"}
        for name in files:
            if names is not None and name in names and name not in urls:
                self.problems.append(f"files: must be a field of type url, got {name!r}")
        return files

    def _follow(self) -> tuple[Selector, ...]:
        rules = self._strings("follow", self._table.get("follow", ()))
        return tuple(
            selector
            for rule in rules
            if (selector := self._parse_rule("follow", _as_link(rule))) is not None
        )


def _as_link(rule: str) -> str:
    """Add `::link` to a CSS rule without a `::` suffix."""
    return f"{rule}::link" if rule.lstrip().startswith("css") and "::" not in rule else rule


def _matches(pattern: str, url: str) -> bool:
    """Return True if a pattern (`*` matches any characters) matches the whole URL."""
    first, *others = pattern.split("*")
    if not others:
        return pattern == url
    *middle, last = others
    if len(first) + len(last) > len(url) or not (url.startswith(first) and url.endswith(last)):
        return False
    path, end = len(first), len(url) - len(last)
    for part in middle:
        start = url.find(part, path, end)
        if start < 0:
            return False
        path = start + len(part)
    return True
