"""
The folder of a unix socket under the shared temporary directory: ours alone, or refused.

Its name can be guessed, so somebody else on the machine could make it first and put a server of
their own into it. The check looks at the folder itself, not at what a link leads to; once it
belongs to us, the temporary directory's sticky bit keeps others from replacing it.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from aragog.errors import ConfigError

_REMEDY = "set ARAGOG_DATA_DIR to a shorter path (the socket is then in it), or TMPDIR"


def claim(folder: Path) -> None:
    """
    Make `folder` with mode 0700, or check that it is a folder of ours that nobody else may enter.

    Raises:
        ConfigError: it is somebody else's, open to others, a link, or cannot be made.
    """
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        pass
    except OSError as error:
        raise ConfigError(
            f"data_dir: {folder} cannot be made ({error.strerror}); {_REMEDY}"
        ) from error
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        why = "is no folder"
    elif found.st_uid != os.getuid():
        why = f"belongs to user {found.st_uid}, not to {os.getuid()}"
    elif found.st_mode & 0o077:
        why = f"has mode {stat.S_IMODE(found.st_mode):04o}, and must have 0700"
    else:
        return
    raise ConfigError(
        f"data_dir: {folder}, where the private redis-server listens, {why}; "
        f"remove it, or {_REMEDY}"
    )
