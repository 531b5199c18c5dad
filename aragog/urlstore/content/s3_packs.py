"""Packs in S3: `<prefix>packs/<day>/<time>-<number>.warc.zst`, each next to its index."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from concurrent.futures import wait

from aragog.urlstore.content.s3_bucket import S3Bucket
from aragog.urlstore.pack_files import PackFile, check_name, in_one_piece
from aragog.urlstore.packs.pointers import NAME, index_name

FOLDER = "packs/"


class S3Packs(S3Bucket):
    """
    Implements the `PackFiles` port in a bucket. A read is one range request. Storing a pack takes
    two PUTs at the same time, for the pack and its index.
    """

    def put(self, name: str, data: bytes | Sequence[bytes], index: bytes) -> None:
        pack, listed = self._name(check_name(name)), self._name(index_name(name))
        whole = in_one_piece(data)
        with self._translate_errors():
            self._client()  # after a fork, recreates the threads
            try:
                index_put = self._threads.submit(self._put, listed, index)
            except RuntimeError:  # the process is ending and cannot start threads
                self._put(listed, index)
                self._put(pack, whole)
                return
            try:
                self._put(pack, whole)
            finally:
                wait([index_put])
            index_put.result()

    def read(self, name: str, offset: int, length: int) -> bytes | None:
        with self._translate_errors():
            found = self.read_object(self._name(check_name(name)), (offset, length))
        return None if found is None else found[0]

    def read_all(self, name: str) -> bytes | None:
        return self._read_object(check_name(name))

    def read_index(self, name: str) -> bytes | None:
        return self._read_object(index_name(check_name(name)))

    def delete(self, name: str) -> None:
        check_name(name)
        with self._translate_errors():
            self.delete_whole(self._name(index_name(name)))
            self.delete_whole(self._name(name))

    def packs(self) -> Iterator[PackFile]:
        start = self._settings.s3_prefix + FOLDER
        for item in self.list_objects(start):
            name = item["Key"].removeprefix(start)
            if NAME.fullmatch(name):
                modified_ms = int(item["LastModified"].timestamp() * 1000)
                yield PackFile(name, item["Size"], modified_ms)

    def _read_object(self, name: str) -> bytes | None:
        with self._translate_errors():
            found = self.read_object(self._name(name))
        return None if found is None else found[0]

    def _put(self, name: str, data: bytes) -> None:
        if len(data) < 2 * self._settings.s3_multipart_bytes:
            self._client().put_object(Bucket=self._bucket, Key=name, Body=data)
            return
        self._client().upload_fileobj(io.BytesIO(data), self._bucket, name, Config=self._transfer)

    def _name(self, name: str) -> str:
        return f"{self._settings.s3_prefix}{FOLDER}{name}"
