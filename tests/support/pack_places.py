"""Stores of packs, one of each kind."""

from __future__ import annotations

import pytest

from aragog.urlstore.content import FolderPacks, MemoryPacks
from aragog.urlstore.pack_files import PackFiles


@pytest.fixture(params=["memory", "folder", pytest.param("s3", marks=pytest.mark.s3)])
def files(request: pytest.FixtureRequest) -> PackFiles:
    """Empty stores of pack files: in memory, in a folder, in a bucket."""
    if request.param == "memory":
        return MemoryPacks()
    if request.param == "folder":
        return FolderPacks(request.getfixturevalue("tmp_path") / "content")
    from aragog.urlstore.content.s3_packs import S3Packs

    return S3Packs(request.getfixturevalue("s3_settings"))
