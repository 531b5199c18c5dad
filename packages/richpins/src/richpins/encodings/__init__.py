"""
Determine the character encoding of a page, and decode it. No I/O.

The modules are private. Encodings have their names from the Encoding Standard, in lower case.
"""

from richpins.encodings.detection import is_surely_utf8
from richpins.encodings.labels import codec_of, decode
from richpins.encodings.prescan import PRESCAN_BYTES, from_header, from_xml_declaration

__all__ = [
    "PRESCAN_BYTES",
    "codec_of",
    "decode",
    "from_header",
    "from_xml_declaration",
    "is_surely_utf8",
]
