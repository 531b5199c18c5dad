"""
The content stores: they keep page content in a folder or in S3, as objects or in packs.

An object has the content of one canonical URL. Packs (`aragog.urlstore.packs`) are files, each with
the content of many pages.

An object's key is the SHA-256 of the canonical URL in 64 hex digits, so that the load is spread
over folders and S3 prefixes. A body consists of compressed bytes; its `meta` is a small table of
strings. Both are replaced together. Every read is verified: an object against its SHA-256, a record
against its pointer.

The page's node in the tables determines which URL an object belongs to, and whether the object is
the newest.
"""

from __future__ import annotations

from pathlib import Path

from aragog.runtime.extras import require
from aragog.settings import ContentSettings
from aragog.urlstore.content.file_folder import FileFolder
from aragog.urlstore.content.folder import FolderContent
from aragog.urlstore.content.folder_packs import FolderPacks
from aragog.urlstore.content.memory import MemoryContent
from aragog.urlstore.content.object_format import StoredContent, check_key
from aragog.urlstore.content_port import ContentStore
from aragog.urlstore.pack_files import MemoryPacks, PackFiles

__all__ = [
    "FileFolder",
    "FolderContent",
    "FolderPacks",
    "MemoryContent",
    "MemoryPacks",
    "StoredContent",
    "check_key",
    "open_content",
    "open_packs",
]


def open_content(settings: ContentSettings, data_dir: Path) -> ContentStore:
    """
    Open the configured content store; a folder is `data_dir`/content.

    Does not connect until it is first used.

    Raises:
        ConfigError: the folder cannot be created, or S3 has no region or invalid credentials.
    """
    if settings.engine == "folder":
        return FolderContent(data_dir / "content", fsync=settings.fsync)
    require("s3", 'content.engine = "s3"')
    from aragog.urlstore.content.s3 import S3Content  # noqa: PLC0415 - boto3 takes 0.3 s to import

    return S3Content(settings)


def open_packs(settings: ContentSettings, data_dir: Path) -> PackFiles:
    """
    Open the pack files next to the objects of `open_content`; raises the same errors.

    In a folder they are in `data_dir`/content/packs, in a bucket under `packs/`.
    """
    if settings.engine == "folder":
        return FolderPacks(data_dir / "content", fsync=settings.fsync)
    require("s3", 'content.engine = "s3"')
    from aragog.urlstore.content.s3_packs import S3Packs  # noqa: PLC0415 - see above

    return S3Packs(settings)
