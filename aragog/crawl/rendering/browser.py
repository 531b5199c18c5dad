"""
Finds Chromium, starts it without network access, and limits its memory.

The browser cannot resolve names, and its proxy does not exist, so neither pages nor Chromium itself
can send a request. The module `page` supplies all responses.
"""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp

from playwright.async_api import Browser as Chromium
from playwright.async_api import Error, Playwright, async_playwright

from aragog.errors import BrowserUnavailable
from aragog.runtime.socket_paths import short_folder
from aragog.settings import RenderingSettings

BROWSER_COMMANDS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 5.0
# The only environment variables passed to Chromium. Others may contain passwords.
ENVIRONMENT_VARIABLES = ("HOME", "LANG", "PATH")
FOLDER_PREFIX = "aragog-"
# Chromium creates this socket in a folder whose name is the prefix above and 8 characters.
SOCKET_IN_FOLDER = "/org.chromium.Chromium.XXXXXX/SingletonSocket"
NO_NETWORK_FLAGS = (
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--proxy-server=http://proxy.invalid:9",
    "--proxy-bypass-list=<-loopback>",
    "--disable-quic",
    "--dns-prefetch-disable",
    "--no-pings",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
)
NO_OUTPUT_FLAGS = (
    "--blink-settings=imagesEnabled=false",  # images then cause neither requests nor error events
    "--disable-gpu",
    "--disable-remote-fonts",
    "--mute-audio",
    "--block-new-web-contents",  # window.open
)


def find_browser(settings: RenderingSettings) -> str:
    """
    Return the browser's path.

    Raises:
        BrowserUnavailable: no browser is installed, or the sandbox is on and the user is root.
    """
    names = (settings.browser,) if settings.browser else BROWSER_COMMANDS
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        raise BrowserUnavailable(
            "rendering.browser", f"cannot run any of {', '.join(names)}; install Chromium"
        )
    if settings.sandbox and os.geteuid() == 0:
        raise BrowserUnavailable(
            "rendering.sandbox",
            "Chromium's sandbox does not work as root: start the worker as another user, "
            "or set rendering.sandbox to false if the worker itself runs in a sandbox",
        )
    return path


class Browser:
    """A running Chromium. Call `start` and `stop` in the same event loop."""

    def __init__(self, driver: Playwright, chromium: Chromium, pid: int, folder: str) -> None:
        self._driver = driver
        self._folder = folder
        self.chromium = chromium
        self.pid = pid
        self.page_count = 0
        """Number of rendered pages."""

    @classmethod
    async def start(cls, settings: RenderingSettings) -> Browser:
        """
        Start a browser. Takes half a second of CPU time.

        Raises:
            BrowserUnavailable: the browser cannot be started.
        """
        path = find_browser(settings)
        folder = _create_folder()
        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                return await cls._start(path, settings, folder)
        except BaseException as error:
            shutil.rmtree(folder, ignore_errors=True)
            if not isinstance(error, Error | TimeoutError):
                raise
            reason = first_line(error) or f"did not start within {START_TIMEOUT_S:g} s"
            raise BrowserUnavailable("rendering.browser", f"{path}: {reason}") from error

    @classmethod
    async def _start(cls, path: str, settings: RenderingSettings, folder: str) -> Browser:
        driver = await async_playwright().start()
        try:
            chromium = await driver.chromium.launch(
                executable_path=path,
                args=[*NO_NETWORK_FLAGS, *NO_OUTPUT_FLAGS],
                chromium_sandbox=settings.sandbox,
                timeout=0,
                env=_environment(folder),
                # The worker finishes its page after a signal, so the browser must ignore the
                # signal.
                handle_sigint=False, handle_sigterm=False, handle_sighup=False,
            )  # fmt: skip
            session = await chromium.new_browser_cdp_session()
            processes = (await session.send("SystemInfo.getProcessInfo"))["processInfo"]
            await session.detach()
        except BaseException:
            with suppress(Error, TimeoutError):
                async with asyncio.timeout(STOP_TIMEOUT_S):
                    await driver.stop()
            raise
        pid = next(int(process["id"]) for process in processes if process["type"] == "browser")
        _limit_memory(pid, settings.max_memory_bytes)
        return cls(driver, chromium, pid, folder)

    async def stop(self) -> None:
        """Stop the browser and its driver; kill them if they do not exit."""
        processes = [*_descendants(self.pid), *_processes_between(self.pid, os.getpid())]
        try:
            async with asyncio.timeout(STOP_TIMEOUT_S):
                with suppress(Error):
                    await self.chromium.close()
                await self._driver.stop()
        except TimeoutError:
            for pid in processes:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self._folder, ignore_errors=True)


def _environment(folder: str) -> dict[str, str | float | bool]:
    variables: dict[str, str | float | bool] = {"TMPDIR": folder}
    for name in ENVIRONMENT_VARIABLES:
        if name in os.environ:
            variables[name] = os.environ[name]
    return variables


def _create_folder() -> str:
    """
    Create a folder for one browser's temporary files.

    Its path must be short: Chromium does not start if the path of its socket in the folder is too
    long.
    """
    name = f"{FOLDER_PREFIX}XXXXXXXX"
    return mkdtemp(prefix=FOLDER_PREFIX, dir=short_folder(len(name + SOCKET_IN_FOLDER)))


def first_line(error: Exception) -> str:
    """Return the first line of an error message, without Playwright's call log."""
    return next(iter(str(error).splitlines()), "")[:300]


def _limit_memory(pid: int, max_bytes: int) -> None:
    """
    Limit the memory of the browser's processes; child processes inherit the limit.

    The driver stores pages' console messages, and may grow by the same amount.
    """
    for process in _descendants(pid):
        with suppress(OSError):
            resource.prlimit(process, resource.RLIMIT_DATA, (max_bytes, max_bytes))
    with suppress(OSError):
        for process in _processes_between(pid, os.getpid()):
            # The limit is added to the current size: V8 reserves over half a gigabyte but uses
            # little of it.
            limit = _data_bytes(process) + max_bytes
            resource.prlimit(process, resource.RLIMIT_DATA, (limit, limit))


def _data_bytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData:"))


def _descendants(pid: int) -> Iterator[int]:
    yield pid
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            for child in children.read_text().split():
                yield from _descendants(int(child))


def _processes_between(pid: int, ancestor: int) -> Iterator[int]:
    """Yield the parents of `pid` up to `ancestor`: the driver, and possibly a shell."""
    with suppress(OSError, ValueError):
        while (pid := _parent_pid(pid)) not in (ancestor, 1):
            yield pid


def _parent_pid(pid: int) -> int:
    # "pid (name) state ppid …"; a name may contain anything.
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def version(settings: RenderingSettings) -> str:
    """
    Start a browser to get its version.

    Raises:
        BrowserUnavailable: the browser cannot be started.
    """

    async def read_version() -> str:
        browser = await Browser.start(settings)
        try:
            return browser.chromium.version
        finally:
            await browser.stop()

    return asyncio.run(read_version())
