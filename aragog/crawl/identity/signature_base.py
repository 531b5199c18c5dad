"""
Builds the signature base (the string to sign) of a message (RFC 9421, section 2).

Supports derived components, header fields as sent, members of dictionaries (`;key=`), and
components of a response's request (`;req`), but not the parameters `sf`, `bs` and `tr`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote

from aragog.pages.structured_fields import parse_dictionary, string_text

DEFAULT_PORTS = {"https": ":443", "http": ":80"}


class UnsignableError(ValueError):
    """The message lacks a component, or the component is not supported. The error names it."""


@dataclass(frozen=True, slots=True)
class SignedMessage:
    """The parts of a request or response that a signature can cover."""

    method: str = ""
    scheme: str = "https"
    authority: str = ""
    """The Host header, as sent."""
    path: str = "/"
    query: str = "?"
    """The query with its question mark. A lone question mark is an empty query."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """Header fields by lower-case name. A repeated field's values are joined with commas."""
    status: int | None = None
    """The status; None for a request."""
    request: SignedMessage | None = None
    """The response's request; None for a request."""


@dataclass(frozen=True, slots=True)
class Component:
    """A component's name and parameters."""

    name: str
    parameters: tuple[tuple[str, str | bool], ...] = ()
    identifier: str = field(init=False, default="")
    """The component as written in a signature base."""

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "identifier", string_text(self.name) + _format_parameters(self.parameters)
        )

    def value(self, message: SignedMessage) -> str:
        """
        Return the component's value in `message`.

        Raises:
            UnsignableError: the message lacks the component.
        """
        parameters = dict(self.parameters)
        if parameters.pop("req", False):
            if message.request is None:
                raise UnsignableError(f"{self.identifier} needs the request of a response")
            message = message.request
        if not self.name.startswith("@"):
            return self._field_value(message, parameters)
        if self.name == "@query-param" and (name := parameters.pop("name", "")):
            value = _query_parameter(message.query, str(name))
        elif (derive := _DERIVED_COMPONENTS.get(self.name)) is not None:
            value = derive(message)
        else:
            value = None
        if parameters or value is None:
            raise UnsignableError(f"{self.identifier} is not supported, or not in the message")
        return value

    def _field_value(self, message: SignedMessage, parameters: dict[str, str | bool]) -> str:
        value = message.fields.get(self.name)
        key = parameters.pop("key", None)
        if parameters or value is None:
            raise UnsignableError(f"{self.identifier} is not supported, or not in the message")
        if not (value.isascii() and value.isprintable()):
            raise UnsignableError(f"the value of {self.identifier} is not printable ASCII")
        if key is None:
            return value.strip(" \t")
        member = _member_text(value, str(key))
        if member is None:
            raise UnsignableError(f"{self.identifier} is not in the message")
        return member


def normalize_authority(host_header: str, scheme: str) -> str:
    """Return `@authority` (section 2.2.3): lower case, without the default port of `scheme`."""
    return host_header.lower().removesuffix(DEFAULT_PORTS[scheme])


def signature_base(
    message: SignedMessage, components: tuple[Component, ...], parameters: str
) -> str:
    """
    Return the string to sign (section 2.5).

    Args:
        message: the request or response.
        components: the components to cover, in order.
        parameters: the result of `signature_parameters`.

    Raises:
        UnsignableError: the message lacks one of the components.
    """
    lines = [f"{component.identifier}: {component.value(message)}" for component in components]
    return "\n".join((*lines, f'"@signature-params": {parameters}'))


def signature_parameters(
    components: tuple[Component, ...], parameters: Mapping[str, int | str]
) -> str:
    """Return `@signature-params`, a member of Signature-Input (section 2.3)."""
    identifiers = " ".join(component.identifier for component in components)
    return f"({identifiers})" + _format_parameters(tuple(parameters.items()))


def _format_parameters(parameters: tuple[tuple[str, str | bool | int], ...]) -> str:
    """Format a structured field's parameters. Flags have no value."""
    return "".join(
        f";{name}"
        if value is True
        else f";{name}={string_text(value) if isinstance(value, str) else value}"
        for name, value in parameters
    )


@functools.lru_cache(maxsize=64)
def _member_text(value: str, key: str) -> str | None:
    """Return one member of a dictionary in canonical form (section 2.1.2)."""
    try:
        member = parse_dictionary(value).get(key)
    except ValueError:
        return None
    if member is None:
        return None
    # A flag is sent without a value, but the signature base contains its value.
    is_flag = member.value is True and not member.text.startswith("?1")
    return f"?1{member.text}" if is_flag else member.text


def _query_parameter(query: str, name: str) -> str | None:
    """Return a query parameter's value (section 2.2.8), or None unless it occurs exactly once."""
    values = [
        v for n, v in parse_qsl(query[1:], keep_blank_values=True) if _percent_encode(n) == name
    ]
    return _percent_encode(values[0]) if len(values) == 1 else None


def _percent_encode(text: str) -> str:
    """Percent-encode as in HTML forms, but a space becomes %20."""
    return quote(text, safe="*").replace("~", "%7E")


_DERIVED_COMPONENTS: Mapping[str, Callable[[SignedMessage], str | None]] = {
    "@method": lambda message: message.method or None,
    "@target-uri": lambda message: (
        f"{message.scheme}://{message.authority}{message.path}"
        + (message.query if message.query != "?" else "")
    ),
    "@authority": lambda message: normalize_authority(message.authority, message.scheme) or None,
    "@scheme": lambda message: message.scheme,
    "@request-target": lambda message: (
        message.path + (message.query if message.query != "?" else "")
    ),
    "@path": lambda message: message.path,
    "@query": lambda message: message.query,
    "@status": lambda message: None if message.status is None else str(message.status),
}
