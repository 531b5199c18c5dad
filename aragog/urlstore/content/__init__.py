"""
The content stores: page content as one object per canonical URL, in a folder or in S3.

A key is the SHA-256 of the canonical URL in 64 hex digits, so load spreads over folders and S3
prefixes. A body is compressed bytes; its `meta` is a small table of strings. Body and meta are
replaced together: a reader gets both from one put, never a mixture of two. Every read is checked
against the SHA-256 that was stored with the object.

A content store only holds bytes; the node records which URL an object belongs to, and whether it is
the newest.
"""

from __future__ import annotations

from pathlib import Path

from aragog.runtime.extras import require
from aragog.settings import ContentSettings
from aragog.urlstore.content.checksums import StoredContent, check_key
from aragog.urlstore.content.folder import FolderContent
from aragog.urlstore.content.memory import MemoryContent
from aragog.urlstore.content_port import ContentStore

__all__ = ["FolderContent", "MemoryContent", "StoredContent", "check_key", "open_content"]


def open_content(settings: ContentSettings, data_dir: Path) -> ContentStore:
    """
    The content store that `settings` name; a folder's is `data_dir`/content.

    Does not connect before the first call.

    Raises:
        ConfigError: the folder cannot be made, or S3 has no region or credentials' syntax is wrong.
    """
    if settings.engine == "folder":
        return FolderContent(data_dir / "content", fsync=settings.fsync)
    require("s3", 'content.engine = "s3"')
    from aragog.urlstore.content.s3 import S3Content  # noqa: PLC0415 - boto3 takes 0.3 s to import

    return S3Content(settings)
