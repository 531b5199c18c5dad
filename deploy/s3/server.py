"""
A private S3 server (versitygw, Apache 2.0), for the tests and for trying it out.

    python -m deploy.s3 --folder var/s3 --port 9000 --bucket aragog

runs one in the foreground until Ctrl-C or SIGTERM and serves the folder's sub-folders as buckets.
It needs Go once, to build the binary into the cache folder (about a minute, 80 MB).
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Self

import boto3
from botocore.config import Config

from deploy.processes import CannotStart, end, run_until_interrupted

VERSION = "v1.8.0"
HERE = Path(__file__).resolve().parent
CACHE = Path(os.environ.get("ARAGOG_CACHE", HERE.parents[1] / ".cache"))

# For a server that listens on 127.0.0.1 and stores nothing of value.
ACCESS_KEY = "aragog"
SECRET_KEY = "aragog-secret"  # noqa: S105 - printed for its operator


def binary(cache: Path = CACHE) -> Path:
    """Return the installed versitygw, or the one that Go builds at the first call."""
    system = shutil.which("versitygw")
    if system:
        return Path(system)
    built = cache / "versitygw" / VERSION / "versitygw"
    if not built.exists():
        go = shutil.which("go")
        if not go:
            raise CannotStart("neither versitygw nor go is installed: apt install golang")
        module = f"github.com/versity/versitygw/cmd/versitygw@{VERSION}"
        built.parent.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            [go, "install", module], env={**os.environ, "GOBIN": str(built.parent)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise CannotStart(f"go could not build versitygw:\n{done.stderr[-2000:]}")
    return built


class S3Server:
    """
    One server for `folder`. Its port is chosen once and kept over restarts.

    Args:
        folder: the folder for its data.
        port: the port to listen on; 0 for a free one.
        versions: True if buckets may keep versions of objects.
    """

    def __init__(self, folder: Path, *, port: int = 0, versions: bool = False) -> None:
        self._has_versions = versions
        self.folder = folder.absolute()
        self.port = port or _free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def endpoint(self) -> str:
        """Return the value for `content.s3_endpoint`."""
        return f"http://127.0.0.1:{self.port}"

    def start(self, *, timeout_s: float = 120.0) -> Self:
        """Start it and wait until it answers. Raises CannotStart if it does not."""
        data, log = self.folder / "data", self.folder / "s3.log"
        data.mkdir(parents=True, exist_ok=True)
        # By default it closes the connection after each request, unlike all other servers.
        command = [binary(), "--port", f"127.0.0.1:{self.port}", "--health", "/healthz",
                   "--keep-alive",
                   "posix", *self._sidecar(data), *self._versions(), data]  # fmt: skip
        keys = {"ROOT_ACCESS_KEY": ACCESS_KEY, "ROOT_SECRET_KEY": SECRET_KEY}
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                command, env={**os.environ, **keys}, stdin=subprocess.DEVNULL, stdout=out,
                stderr=out, start_new_session=True,
            )  # fmt: skip
        deadline_s = time.monotonic() + timeout_s
        while time.monotonic() < deadline_s and self._process.poll() is None:
            try:
                with urllib.request.urlopen(f"{self.endpoint}/healthz", timeout=1):  # noqa: S310 - our own
                    return self
            except (urllib.error.URLError, OSError):
                time.sleep(0.02)
        self.stop()
        raise CannotStart(f"versitygw did not start:\n{log.read_text(errors='replace')[-2000:]}")

    def stop(self) -> None:
        """Stop it with SIGTERM. Data stays in the folder."""
        process, self._process = self._process, None
        if process is None:
            return
        end(process, within_s=10)

    def client(self) -> Any:
        """Return a boto3 client for it."""
        return boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            region_name="us-east-1",
            aws_access_key_id=ACCESS_KEY,
            aws_secret_access_key=SECRET_KEY,
            config=Config(s3={"addressing_style": "path"}),
        )

    def keep_versions(self, bucket: str) -> None:
        """Make a bucket keep all versions of its objects."""
        self.client().put_bucket_versioning(
            Bucket=bucket, VersioningConfiguration={"Status": "Enabled"}
        )

    def create_bucket(self, name: str) -> None:
        """Create a bucket unless it exists."""
        client = self.client()
        if name not in [bucket["Name"] for bucket in client.list_buckets()["Buckets"]]:
            client.create_bucket(Bucket=name)

    def __enter__(self) -> Self:
        return self if self._process else self.start()

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def _versions(self) -> list[str]:
        """Return the options for older versions of objects."""
        if not self._has_versions:
            return []
        folder = self.folder / "versions"
        folder.mkdir(exist_ok=True)
        return ["--versioning-dir", str(folder)]

    def _sidecar(self, data: Path) -> list[str]:
        """Return the options for metadata on a file system without extended attributes."""
        try:
            os.setxattr(data, "user.aragog", b"1")
        except OSError:
            sidecar = self.folder / "sidecar"
            sidecar.mkdir(exist_ok=True)
            return ["--sidecar", str(sidecar)]
        return []


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def main() -> None:
    """Run one in the foreground."""
    parser = argparse.ArgumentParser(description="Run a private S3 server.")
    parser.add_argument("--folder", type=Path, default=Path("var/s3"), help="data and log")
    parser.add_argument("--port", type=int, default=9000)
    parser.add_argument("--bucket", default="aragog", help="created if missing")
    options = parser.parse_args()

    def ready(server: S3Server) -> None:
        server.create_bucket(options.bucket)
        print(f"S3 is ready; data and log: {server.folder}")
        print(f"  AWS_ACCESS_KEY_ID={ACCESS_KEY} AWS_SECRET_ACCESS_KEY={SECRET_KEY} "
              f"ARAGOG_CONTENT__ENGINE=s3 ARAGOG_CONTENT__S3_BUCKET={options.bucket} "
              f"ARAGOG_CONTENT__S3_ENDPOINT={server.endpoint}")  # fmt: skip

    run_until_interrupted("s3", S3Server(options.folder, port=options.port), ready)
