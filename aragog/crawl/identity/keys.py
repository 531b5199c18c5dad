"""
The key file: a JSON Web Key Set of Ed25519 keys (RFC 7517, 8037), each with its period of use.

During a rotation the file contains the signing key, its successor (published before its use), and
older keys (published while verifiers may need them). The file is private (mode 0600). Error
messages never contain a private key.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import logging
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson

from aragog.errors import CONFIG, ConfigError
from aragog.runtime.clock import Clock
from aragog.runtime.extras import require

log = logging.getLogger(__name__)

SETTING = "identity.key"
EXTRA = "identity"
MAX_FILE_BYTES = 65_536
CHECK_INTERVAL_S = 30.0
RFC_TEST_KEY = "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"
"""Thumbprint of the example key in RFC 9421, B.1.4, whose private key is public."""


@dataclass(frozen=True, slots=True)
class SigningKey:
    """An Ed25519 key pair and its period of use."""

    thumbprint: str
    """The key's `keyid` (RFC 7638; RFC 8037, appendix A.3)."""
    x: str
    """The public key in base64url."""
    start_s: int
    """When the key starts to sign, in s since the epoch."""
    end_s: int | None
    """When the key is no longer published; None if it has no successor yet."""
    private_key: Any = field(repr=False, compare=False)
    """`cryptography`'s Ed25519PrivateKey."""

    @classmethod
    def from_private_key(
        cls, private_key: Any, start_s: int, end_s: int | None = None
    ) -> SigningKey:
        x = encode_base64url(private_key.public_key().public_bytes_raw())
        return cls(jwk_thumbprint(x), x, start_s, end_s, private_key)

    def sign(self, text: bytes) -> bytes:
        """Return the signature, 64 bytes. Takes about 0.03 ms."""
        signature: bytes = self.private_key.sign(text)
        return signature

    def public_jwk(self) -> dict[str, Any]:
        times = {"nbf": self.start_s} | ({} if self.end_s is None else {"exp": self.end_s})
        key = {"kty": "OKP", "crv": "Ed25519", "kid": self.thumbprint, "x": self.x, "use": "sig"}
        return key | times


def new_key(start_s: int) -> SigningKey:
    """
    Create a key that starts to sign at `start_s`.

    Raises:
        ConfigError: the extra `identity` is not installed.
    """
    return SigningKey.from_private_key(ed25519().Ed25519PrivateKey.generate(), start_s)


def jwk_thumbprint(x: str) -> str:
    """Return the JWK SHA-256 thumbprint of a public Ed25519 key given in base64url."""
    return encode_base64url(
        hashlib.sha256(f'{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}'.encode()).digest()
    )


def encode_base64url(data: bytes) -> str:
    """Encode in base64url without padding (RFC 7515, section 2)."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode_base64url(text: str) -> bytes:
    """
    Decode base64url without padding.

    Raises:
        ValueError: `text` is not base64url.
    """
    if not text.isascii():
        raise ValueError("not base64url")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError("not base64url") from error


def signing_key(keys: Sequence[SigningKey], now_s: float) -> SigningKey:
    """
    Return the signing key at `now_s`: the key in use that started most recently.

    Raises:
        ConfigError: no key is in use at that time.
    """
    usable = [key for key in keys if key.start_s <= now_s < _end_or_never_s(key)]
    if not usable:
        raise ConfigError(f"{SETTING}: no key is valid now; run `aragog identity rotate --now`")
    return max(usable, key=lambda key: key.start_s)


def published_keys(keys: Sequence[SigningKey], now_s: float) -> list[SigningKey]:
    """Return the unexpired keys, which verifiers need."""
    return [key for key in keys if now_s < _end_or_never_s(key)]


def rotate_keys(
    keys: Sequence[SigningKey], successor: SigningKey, now_s: int, overlap_s: int
) -> list[SigningKey]:
    """
    Return the unexpired keys and a new successor.

    Older keys stay published until `overlap_s` after the successor starts to sign.
    """
    end_s = successor.start_s + overlap_s
    older = [
        replace(key, end_s=min(int(_end_or_never_s(key)), end_s))
        for key in keys
        if now_s < _end_or_never_s(key)
    ]
    return [*(key for key in older if now_s < _end_or_never_s(key)), successor]


def _end_or_never_s(key: SigningKey) -> float:
    return 2**53 if key.end_s is None else key.end_s


def read_keys(path: Path) -> list[SigningKey]:
    """
    Read a key file.

    Raises:
        ConfigError: the file cannot be read, is readable by others, or is not a key file. The
            message says how to fix it.
    """
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            data = file.read(MAX_FILE_BYTES)
    except OSError as error:
        raise ConfigError(f"{SETTING}: {path} cannot be read: {error.strerror}") from error
    if mode & 0o077:
        raise ConfigError(
            f"{SETTING}: {path} has mode {mode:04o}, so others can read it; run chmod 600 {path}"
        )
    try:
        keys = [_parse_key(entry) for entry in orjson.loads(data)["keys"]]
    except (AttributeError, LookupError, TypeError, ValueError):
        # Use `from None`: the cause's message could contain part of the file.
        raise ConfigError(
            f"{SETTING}: {path} is not a key file; create one with `aragog identity new`"
        ) from None
    if not keys:
        raise ConfigError(f"{SETTING}: {path} has no key; run `aragog identity rotate --now`")
    if any(key.thumbprint == RFC_TEST_KEY for key in keys):
        raise ConfigError(
            f"{SETTING}: {path} contains the test key of RFC 9421, which is public; "
            "create a key with `aragog identity new`"
        )
    return keys


def check_key_file(path: Path, now_s: float) -> SigningKey:
    """
    Return the signing key at `now_s`.

    Raises:
        ConfigError: see `read_keys` and `signing_key`.
    """
    return signing_key(read_keys(path), now_s)


def _parse_key(entry: dict[str, Any]) -> SigningKey:
    if (entry["kty"], entry["crv"]) != ("OKP", "Ed25519"):
        raise ValueError("not an Ed25519 key")
    private_key = ed25519().Ed25519PrivateKey.from_private_bytes(decode_base64url(entry["d"]))
    start_s, end_s = entry.get("nbf", 0), entry.get("exp")
    if not isinstance(start_s, int) or not isinstance(end_s, int | None):
        raise TypeError("nbf and exp must be seconds")
    key = SigningKey.from_private_key(private_key, start_s, end_s)
    if key.x != entry["x"]:
        raise ValueError("x is not the public key of d")
    return key


class KeyFile:
    """
    A key file's keys. Reads the file again after a rotation. Thread-safe.

    Args:
        clock: used to check the file for changes every 30 s.
    """

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._keys: list[SigningKey] = []
        self._file_stamp: tuple[int, int] | None = None
        self._check_at_s = -1.0

    def keys(self) -> list[SigningKey]:
        """
        Return the keys. A change to the file takes effect within 30 s.

        Raises:
            ConfigError: see `read_keys`. Not raised once the file has been read successfully.
        """
        now_s = self._clock.monotonic_s()
        if now_s >= self._check_at_s:
            self._reload_if_changed()
            self._check_at_s = now_s + CHECK_INTERVAL_S
        return self._keys

    def _reload_if_changed(self) -> None:
        stamp = self._read_file_stamp()
        if self._keys and stamp == self._file_stamp:
            return
        try:
            self._keys, self._file_stamp = read_keys(self._path), stamp
        except CONFIG as error:
            if not self._keys:
                raise
            log.warning("still using the keys read earlier: %s", error)

    def _read_file_stamp(self) -> tuple[int, int] | None:
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns


def write_keys(path: Path, keys: Sequence[SigningKey], *, overwrite: bool) -> None:
    """
    Write a key file with mode 0600, atomically.

    Args:
        path: the file's path.
        keys: all keys.
        overwrite: if False, an existing file is an error.

    Raises:
        ConfigError: the file exists or is not writable.
    """
    entries = [
        key.public_jwk() | {"d": encode_base64url(key.private_key.private_bytes_raw())}
        for key in keys
    ]
    data = orjson.dumps({"keys": entries}, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            if overwrite:
                temporary.replace(path)
            else:
                path.hardlink_to(temporary)
        finally:
            with contextlib.suppress(FileNotFoundError):
                temporary.unlink()
    except FileExistsError as error:
        raise ConfigError(
            f"{path} already exists; `aragog identity rotate` adds a key to it"
        ) from error
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from error


def ed25519() -> Any:
    """
    Return `cryptography`'s module `ed25519`, which is imported only when needed.

    Raises:
        ConfigError: the extra `identity` is not installed.
    """
    require(EXTRA, SETTING)
    from cryptography.hazmat.primitives.asymmetric import ed25519 as module  # noqa: PLC0415

    return module
