"""
Creation and check of a private folder for a unix socket in the shared temporary directory.

The name of the folder can be guessed, so another user could create it first and run a server there.
The check does not follow links. Once the folder belongs to this user, the sticky bit of the
temporary directory prevents others from replacing it.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from aragog.errors import ConfigError

_REMEDY = "set ARAGOG_DATA_DIR to a shorter path (which then contains the socket), or TMPDIR"


def claim(folder: Path) -> None:
    """
    Create `folder` with mode 0700, or check that it belongs to this user and has that mode.

    Raises:
        ConfigError: it belongs to another user, is accessible to others, is a link, or cannot be
            created.
    """
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        pass
    except OSError as error:
        raise ConfigError(
            f"data_dir: {folder} cannot be created ({error.strerror}); {_REMEDY}"
        ) from error
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode):
        reason = "is not a folder"
    elif status.st_uid != os.getuid():
        reason = f"belongs to user {status.st_uid}, not to {os.getuid()}"
    elif status.st_mode & 0o077:
        reason = f"has mode {stat.S_IMODE(status.st_mode):04o}, but needs 0700"
    else:
        return
    raise ConfigError(
        f"data_dir: {folder}, where the private redis-server listens, {reason}; "
        f"remove it, or {_REMEDY}"
    )
