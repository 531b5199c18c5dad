"""
Commands with files, pipes and folders as users have them.

Input: `files`, bytes by name; `run`, argument lists (with `{folder}`), of which the last one
counts; `head`, the number of lines after which the reader of the output closes it. The answer:
`code`, `out`, `err`, `traceback`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.reports.doors._bytes import data


def answer(given):
    with tempfile.TemporaryDirectory(prefix="ar") as name:
        folder = Path(name)
        for file, spec in given.get("files", {}).items():
            path = folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data(spec))
        env = {
            **os.environ,
            "ARAGOG_DATA_DIR": str(folder / "data"),
            "ARAGOG_SETTINGS": "",
            "PYTHONPATH": str(Path(__file__).resolve().parents[3]),
            **{k: v.replace("{folder}", name) for k, v in given.get("env", {}).items()},
        }
        results = []
        for number, arguments in enumerate(given["run"]):
            command = [
                str(Path(sys.executable).parent / "aragog"),
                *(a.replace("{folder}", name) for a in arguments),
            ]
            last = number == len(given["run"]) - 1
            process = subprocess.Popen(
                command,
                env=env,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                stdin=subprocess.DEVNULL,
                cwd=name,
            )
            if last and "head" in given:
                lines = [process.stdout.readline() for _ in range(given["head"])]
                process.stdout.close()
                err = process.stderr.read()
                process.wait(60)
                out = b"".join(lines)
            else:
                out, err = process.communicate(timeout=120)
            results.append(
                (process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))
            )
        code, out, err = results[-1]
        return {
            "code": code,
            "codes": [r[0] for r in results],
            "out": out,
            "err": err,
            "all": "".join(o + e for _, o, e in results),
            "traceback": any("Traceback" in o + e for _, o, e in results),
        }
