"""Check stored data: the store, page content, the disk, the overrides file."""

from __future__ import annotations

import dataclasses
import os
import random
import secrets
import shutil
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from aragog.bootstrap.store_claims import store_conflict
from aragog.bootstrap.stores import current_files, replaced_files, tables
from aragog.cli.doctor.finding import CheckedSystem, Finding
from aragog.crawl.pipeline.crawl_log_files import log_files
from aragog.crawl.politeness.overrides import Overrides
from aragog.errors import TRANSIENT, CorruptContent, StoreUnavailable
from aragog.settings import Settings
from aragog.urlstore.content import open_content
from aragog.urlstore.content_port import ContentStore

READ_FILES_TIMEOUT_S = 5.0
"""
Time limit for reading SQLite files. The finding says how many files could not be read completely in
this time.
"""
_PROGRESS_STEPS = 10_000
"""SQLite instructions between two checks of the time limit."""
_REPAIR_REMEDY = "run `aragog store repair` to copy its readable rows to a new file"
MIN_FREE_BYTES = 1_000_000_000
PROBE_BYTES = 1024
MIN_OPEN_BYTES = 1_000_000
"""Free space needed to open a SQLite file, because even a reader writes the WAL index (32 KB)."""
S3_TIMEOUT_S = 5.0


def check_store(system: CheckedSystem) -> Iterator[Finding]:
    """Check the tables in HBase or PostgreSQL, or SQLite's files."""
    settings = system.settings
    if settings.store.engine == "hbase":
        for gateway in settings.store.hbase_gateways:
            problems = gateway_problems(settings, gateway)
            for problem in problems:
                yield Finding(f"hbase {gateway}", ok=False, text=problem)
            if not problems:
                text = "all tables are correct"
                yield Finding(f"hbase {gateway}", ok=True, text=text)
    elif settings.store.engine == "sqlite":
        yield from _check_sqlite(settings)
    elif settings.store.engine == "postgres":
        yield from _check_postgres(system)
    else:
        text = "store.engine is memory, so each process has its own data and loses it when it exits"
        yield Finding("store", ok=False, text=text)


def gateway_problems(settings: Settings, gateway: str) -> list[str]:
    """Return problems with an HBase gateway and its tables."""
    single_gateway = dataclasses.replace(settings.store, hbase_gateways=(gateway,))
    try:
        with closing(tables(dataclasses.replace(settings, store=single_gateway))) as engine:
            return engine.check()
    except StoreUnavailable as error:
        return [str(error)]


def _check_postgres(system: CheckedSystem) -> Iterator[Finding]:
    """
    Check that PostgreSQL responds and has the tables.

    A private server only runs while aragog does.
    """
    settings = system.settings
    if settings.private_postgres and system.is_down:
        text = "not running; `aragog up` starts the private PostgreSQL"
        yield Finding("postgres", ok=True, text=text)
        return
    name = f"postgres {settings.store_dsn}"
    with closing(tables(settings)) as engine:
        problems = engine.check()
    for problem in problems:
        yield Finding(name, ok=False, text=problem)
    if not problems:
        yield Finding(name, ok=True, text="all tables are correct")


def _check_sqlite(settings: Settings) -> Iterator[Finding]:
    folder = settings.data_dir.absolute() / "store"
    files = [file for file in current_files(settings) if file.exists()]
    unreadable = {file: problem for file in files if (problem := _find_open_problem(file))}
    set_aside_problems: list[str] = []
    if files and not unreadable:
        with closing(tables(settings)) as engine:
            set_aside_problems = engine.check()
    known_problems = (*unreadable.values(), *set_aside_problems)
    # Also check the others if one file is damaged.
    others = [
        file for file in files if not any(text.startswith(str(file)) for text in known_problems)
    ]
    damage, unfinished = _find_damage(others)
    for problem in (*known_problems, *damage):
        yield Finding("store", ok=False, text=problem)
    if not known_problems and not damage:
        text = f"{len(files)} SQLite files in {folder}" if files else f"nothing in {folder} yet"
        if backups := replaced_files(settings):
            text += f"; {len(backups)} damaged files were kept by a repair"
        if unfinished:
            text += (
                f"; {len(unfinished)} could not be read completely within "
                f"{READ_FILES_TIMEOUT_S:g} s; `aragog store repair` reads everything"
            )
        yield Finding("store", ok=True, text=text)


def _find_damage(files: Sequence[Path]) -> tuple[list[str], list[str]]:
    """
    Read the files completely. Returns the damage, and the names of files not read in time.

    The order is random, so repeated calls cover large stores.
    """
    until_s = time.monotonic() + READ_FILES_TIMEOUT_S
    damage, unfinished = [], []
    for file in random.sample(files, len(files)):
        try:
            with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=5)) as db:
                db.set_progress_handler(lambda: time.monotonic() > until_s, _PROGRESS_STEPS)
                ((result,),) = db.execute("PRAGMA quick_check(1)").fetchall()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
                unfinished.append(file.name)
            else:
                damage.append(_describe_open_error(file, error))
        except sqlite3.DatabaseError as error:
            damage.append(f"{file} is damaged ({error}); {_REPAIR_REMEDY}")
        else:
            if result != "ok":
                damage.append(
                    f"{file} is damaged ({' '.join(result.split()):.200}); {_REPAIR_REMEDY}"
                )
    return damage, unfinished


def check_store_claim(system: CheckedSystem) -> Iterator[Finding]:
    """Check that Redis belongs to this store, and not to another machine's store."""
    settings = system.settings
    if settings.store.engine == "sqlite" and not (settings.data_dir / "store").exists():
        return
    try:
        problem = store_conflict(settings, claim=False)
    except TRANSIENT:
        return  # the Redis and store checks report this
    if problem:
        yield Finding("store", ok=False, text=problem)


def _find_open_problem(file: Path) -> str | None:
    """Return why a SQLite file cannot be opened, or None. Reads only its schema."""
    if not os.access(file, os.R_OK | os.W_OK):
        return f"{file} cannot be read and written by this user; check owner and mode"
    try:
        db = sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=5)
        try:
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        finally:
            db.close()
    except sqlite3.OperationalError as error:
        return _describe_open_error(file, error)
    except sqlite3.DatabaseError as error:
        return f"{file} is damaged ({error}); {_REPAIR_REMEDY}"
    return None


def _describe_open_error(file: Path, error: sqlite3.Error) -> str:
    """Describe an error other than damage, such as a full disk."""
    free = shutil.disk_usage(file.parent).free
    if free < MIN_OPEN_BYTES:
        return (
            f"{file} cannot be opened ({error}): the disk is full ({free:,} bytes free); free some "
            "space, or move data_dir"
        )
    return f"{file} cannot be opened: {error}"


def check_content(system: CheckedSystem) -> Iterator[Finding]:
    """Check that S3 stores, reads, lists and deletes objects, or that the folder is writable."""
    settings = system.settings
    if settings.content.engine == "folder":
        folder = settings.data_dir.absolute() / "content"
        existing_folder = existing_parent(folder)
        writable = os.access(existing_folder, os.W_OK)
        text = f"in {folder}" if writable else f"{existing_folder} cannot be written by this user"
        yield Finding("content", ok=writable, text=text)
        return
    endpoint = settings.content.s3_endpoint or "AWS"
    text = f"S3 bucket {settings.content.s3_bucket} at {endpoint}"
    try:
        _try_content_store(open_content(_with_short_timeouts(settings).content, settings.data_dir))
    except CorruptContent:
        text += (
            " returns different bytes from those it was sent; set content.s3_checksums to false; "
            "some servers store the checksum framing as part of the object"
        )
        yield Finding("content", ok=False, text=text)
    else:
        yield Finding("content", ok=True, text=f"{text} stores, lists and deletes objects")


def _try_content_store(content: ContentStore) -> None:
    """
    Store, read, list and delete an object, because each of these needs a separate permission.

    The object's key is random. If the doctor is killed, `aragog store repair` removes the object.

    Raises:
        ContentUnavailable: a request is refused.
        CorruptContent: the object that was read differs from the one that was stored.
    """
    key, body = secrets.token_hex(32), secrets.token_bytes(PROBE_BYTES)
    content.put(key, body, {})
    try:
        if (stored := content.get(key)) is None or stored[0] != body:
            raise CorruptContent(key, "the object read differs from the object put")
        next(iter(content.keys(key)), None)
    finally:
        content.delete(key)


def check_crawl_log(system: CheckedSystem) -> Iterator[Finding]:
    """Check that the crawl log's folder or bucket is writable."""
    settings = system.settings
    if settings.crawl_log.engine == "off":
        return
    content = _with_short_timeouts(settings).content
    log_files(settings.crawl_log, content, settings.data_dir.absolute()).check()
    place = (
        f"S3 bucket {settings.crawl_log.s3_bucket}"
        if settings.crawl_log.engine == "s3"
        else settings.crawl_log.folder or settings.data_dir.absolute() / "crawl-log"
    )
    yield Finding("crawl_log", ok=True, text=f"{place} is writable")


def _with_short_timeouts(settings: Settings) -> Settings:
    """Return settings that detect a dead server within seconds: short timeouts, no retries."""
    content = dataclasses.replace(
        settings.content,
        s3_attempts=1,
        s3_connect_timeout_s=min(settings.content.s3_connect_timeout_s, S3_TIMEOUT_S),
        s3_read_timeout_s=min(settings.content.s3_read_timeout_s, S3_TIMEOUT_S),
    )
    return dataclasses.replace(settings, content=content)


def check_disk(system: CheckedSystem) -> Iterator[Finding]:
    """Check that `data_dir` is writable and has free space."""
    data_dir = system.settings.data_dir.absolute()
    folder = existing_parent(data_dir)
    free = shutil.disk_usage(folder).free
    text = f"{free / 1e9:.1f} GB free for {data_dir}"
    if not os.access(folder, os.W_OK):
        yield Finding("data_dir", ok=False, text=f"{folder} cannot be written by this user")
    elif free < MIN_FREE_BYTES:
        text += f"; at least {MIN_FREE_BYTES / 1e9:g} GB are needed; free some, or move data_dir"
        yield Finding("data_dir", ok=False, text=text)
    else:
        yield Finding("data_dir", ok=True, text=text)


def existing_parent(folder: Path) -> Path:
    """Return the folder, or its nearest parent that exists."""
    while not folder.exists():
        folder = folder.parent
    return folder


def check_overrides(system: CheckedSystem) -> Iterator[Finding]:
    """Check that the overrides file can be read."""
    path = system.settings.politeness.overrides_file
    if path is not None:
        names = len(Overrides(path).table())
        yield Finding("politeness.overrides_file", ok=True, text=f"{names} names in {path}")
