"""
Where page content lives: one object a canonical URL, in a folder or in S3.

A key is the SHA-256 of the canonical URL in 64 hex digits, so no folder and no S3 prefix runs hot.
A body is bytes that somebody compressed; the `meta` beside it is a small table of strings. Body and
meta are replaced together: a reader gets both of one put, never halves of two. Every read is
checked against the SHA-256 that was stored with it.

This holds bytes; which URL an object belongs to, and whether it is the newest, the node says.
"""

from __future__ import annotations

from pathlib import Path

from aragog.settings import ContentSettings
from aragog.urlstore.content.folder import FolderContent
from aragog.urlstore.content.framing import StoredContent, check_key
from aragog.urlstore.content.memory import MemoryContent
from aragog.urlstore.content.ports import ContentStore

__all__ = ["FolderContent", "MemoryContent", "StoredContent", "check_key", "open_content"]


def open_content(settings: ContentSettings, data_dir: Path) -> ContentStore:
    """
    The content store that `settings` name; a folder's is `data_dir`/content.

    Nothing is connected to before the first call.

    Raises:
        ConfigError: the folder cannot be made, or S3 has no region or credentials' syntax is wrong.
    """
    if settings.engine == "folder":
        return FolderContent(data_dir / "content", fsync=settings.fsync)
    from aragog.urlstore.content.s3 import S3Content  # noqa: PLC0415 - boto3 takes 0.3 s to import

    return S3Content(settings)
