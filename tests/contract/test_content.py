"""The ContentStore port on every adapter."""

import pytest

from aragog.testing.content_store import ContentStoreContract
from aragog.urlstore.content import FolderContent, MemoryContent


class TestEveryAdapter(ContentStoreContract):
    @pytest.fixture(params=["memory", "folder", pytest.param("s3", marks=pytest.mark.s3)])
    def content(self, request, tmp_path):
        if request.param == "memory":
            return MemoryContent()
        if request.param == "folder":
            return FolderContent(tmp_path / "content")
        return request.getfixturevalue("s3_content")
