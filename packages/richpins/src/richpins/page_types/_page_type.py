"""`PageType` describes a page type. Each type's module provides one as `PAGE_TYPE`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from richpins.structured_data.graph import Node
    from richpins.structured_data.sources import Sources


def _no_evidence(_sources: Sources, _og_type: str) -> int:
    return 0


def _no_adjustment(_sources: Sources, _node: Node, _og_type: str) -> int:
    return 0


def _is_never_complete(_node: Node) -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class PageType:
    """One page type, and how `_subject` recognizes it."""

    name: str
    """The name of the module."""
    record: type
    """The frozen dataclass that `read` returns. Its fields become the page's fields."""
    schema_types: frozenset[str]
    """The schema.org types of such items, in lower case."""
    weight: int
    """How likely an item of this type is the subject of its page."""
    read: Callable[[Sources, list[Node]], Any]
    """Reads the record from items of `schema_types`, most trusted first, and from meta elements."""
    name_properties: tuple[str, ...] = ("name", "headline", "alternatename")
    """The properties that may contain the name of such an item, best first."""
    og_types: tuple[str, ...] = ()
    """Values of `og:type` for such pages."""
    og_weight: int = 30
    """Added to the weight if the page declares one of `og_types`."""
    declaration_weight: Callable[[Sources, str], int] = _no_evidence
    """
    How clearly the meta elements declare the type on a page without such items; 0 if they do not.
    The second argument is the value of `og:type`.
    """
    adjustment: Callable[[Sources, Node, str], int] = _no_adjustment
    """Returns the weight that an item adds. The last argument is the value of `og:type`."""
    is_complete: Callable[[Node], bool] = _is_never_complete
    """Returns True for an item that must be the subject of its page."""
    yields_to_others: bool = False
    """True if items without a page type take precedence, as a trip does over its places."""
    from_text: Callable[[Sources, PageType | None], tuple[list[Node], Any] | None] | None = None
    """
    Returns the nodes and the record if the visible text shows such a subject, else None. The second
    argument is the type chosen so far, if any.
    """
    credits_authors: bool = True
    """False if names in the visible text are those of reviewers, not authors."""
    shared_image_first: bool = False
    """True if the image for sharing shows the subject better than images in the markup."""
