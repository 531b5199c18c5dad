"""
Put a software bill of materials into a wheel, and make the wheel reproducible: `make dist`.

    SOURCE_DATE_EPOCH=1764000000 python scripts/sbom.py dist/aragog_crawler-0.1.0-py3-none-any.whl

The bill is CycloneDX 1.6 in `*.dist-info/sboms/aragog.cdx.json` (PEP 770; setuptools has no option
for it). It lists the dependencies and extras in requirements.lock, with versions and who requires
whom: `required` is in every installation, `optional` is added by an extra or a platform. The time
of each file becomes SOURCE_DATE_EPOCH and its mode 0644, so that two builds of a commit have the
same bytes in any checkout. The libraries of packages/ are in no lock, so the bill takes them from
their own metadata.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import sys
import time
import uuid
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from scripts.packages import distributions  # noqa: E402

OWN = "aragog-crawler"
NOT_SHIPPED = {"dev", "all"}
EARLIEST_S = 315532800  # 1980-01-01, the first day of a zip file


Libraries = Sequence[dict[str, Any]]
"""The libraries' metadata: the table `project` of each pyproject.toml."""


class Locked(NamedTuple):
    """A package of requirements.lock."""

    name: str
    version: str
    conditional: bool
    """True if it is installed only on some platforms or versions of Python."""
    required_by: frozenset[str]


def normalized_name(requirement: str) -> str:
    """Return the name of a requirement's distribution, normalized as on PyPI."""
    return re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", requirement)[0]).lower()  # type: ignore[index]


def locked_packages(text: str) -> Iterator[Locked]:
    """Yield the packages of a lock, with those that require them."""
    for block in re.split(r"^(?=\w)", text, flags=re.MULTILINE):
        if match := re.match(r"([\w.-]+)==([^\s;]+)([^\n\\]*)", block):
            requirers = re.findall(r"^    #(?: via)? +([\w.-]+)", block, re.MULTILINE)
            names = frozenset(normalized_name(name) for name in requirers if name != "via")
            yield Locked(normalized_name(match[1]), match[2], ";" in match[3], names)


def reachable_packages(
    roots: set[str], packages: dict[str, Locked], *, everywhere: bool
) -> set[str]:
    """
    Return the roots and all packages they require; with `everywhere` only those without
    markers.
    """
    usable = {n for n, package in packages.items() if not (everywhere and package.conditional)}
    reachable, waiting = set[str](), roots & usable
    while waiting:
        reachable |= waiting
        waiting = {n for n in usable - reachable if packages[n].required_by & waiting}
    return reachable


def direct_requirements(project: dict[str, Any]) -> set[str]:
    """Return the requirements of a project without extras."""
    return {normalized_name(requirement) for requirement in project.get("dependencies", [])}


def extra_requirements(project: dict[str, Any]) -> set[str]:
    """Return the requirements of a project's shipped extras."""
    extras = project.get("optional-dependencies", {}).items()
    return {normalized_name(r) for name, rs in extras if name not in NOT_SHIPPED for r in rs}


def with_libraries(
    packages: dict[str, Locked], libraries: Libraries, *, extras: bool
) -> dict[str, Locked]:
    """
    Return the packages of a lock plus the libraries, which are in no lock.

    The lock is resolved with all extras of the libraries; here they count only with `extras`.
    """
    library_names = {normalized_name(library["name"]) for library in libraries}
    result = {n: p._replace(required_by=p.required_by - library_names) for n, p in packages.items()}
    for library in libraries:
        name = normalized_name(library["name"])
        result[name] = Locked(name, library["version"], conditional=False, required_by=frozenset())
    for library in libraries:
        for requirement in direct_requirements(library) | (
            extra_requirements(library) if extras else set()
        ):
            if requirement in result:
                required_by = result[requirement].required_by | {normalized_name(library["name"])}
                result[requirement] = result[requirement]._replace(required_by=required_by)
    return result


def bill(project: dict[str, Any], lock: str, libraries: Libraries = ()) -> dict[str, Any]:
    """Return the CycloneDX document for a project's metadata, its lock and its libraries."""
    in_lock = {package.name: package for package in locked_packages(lock)}
    packages = with_libraries(in_lock, libraries, extras=True)
    direct, optional = direct_requirements(project), extra_requirements(project)
    required = reachable_packages(
        direct, with_libraries(in_lock, libraries, extras=False), everywhere=True
    )
    included = reachable_packages(direct | optional, packages, everywhere=False)
    refs = {name: f"pkg:pypi/{name}@{packages[name].version}" for name in included}
    own_ref = f"pkg:pypi/{normalized_name(project.get('name', OWN))}@{project['version']}"
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": own_ref,
                "name": project.get("name", OWN),
                "version": project["version"],
                "description": project["description"],
                "licenses": [{"license": {"id": project["license"]}}],
                "purl": own_ref,
            }
        },
        "components": [
            {
                "type": "library",
                "bom-ref": refs[name],
                "name": name,
                "version": packages[name].version,
                "scope": "required" if name in required else "optional",
                "purl": refs[name],
            }
            for name in sorted(included)
        ],
        "dependencies": [
            {"ref": own_ref, "dependsOn": sorted(refs[n] for n in (direct | optional) & included)},
            *(
                {
                    "ref": refs[name],
                    "dependsOn": sorted(
                        refs[n] for n in included if name in packages[n].required_by and n != name
                    ),
                }
                for name in sorted(included)
            ),
        ],
    }
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(document, sort_keys=True))
    return {**document, "serialNumber": serial.urn}


def record_line(name: str, data: bytes) -> str:
    """Return a line of RECORD."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def embed(wheel: Path, document: dict[str, Any], at_s: int) -> None:
    """Rewrite the wheel with the document, with the same bytes for the same files."""
    data = (json.dumps(document, indent=1, sort_keys=True) + "\n").encode()
    with zipfile.ZipFile(wheel) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    (record,) = [name for name in files if name.endswith(".dist-info/RECORD")]
    name = f"{record.rpartition('/')[0]}/sboms/aragog.cdx.json"
    lines = [line for line in files.pop(record).decode().splitlines() if not line.startswith(name)]
    files[name] = data
    text = "".join([*sorted(f"{line}\n" for line in lines), record_line(name, data)])
    date = time.gmtime(max(at_s, EARLIEST_S))[:6]
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        # RECORD is last, as in every wheel.
        for file_name, content in (*sorted(files.items()), (record, text.encode())):
            info = zipfile.ZipInfo(file_name, date)
            info.external_attr = 0o100644 << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, content)


def wheel_name(distribution: str) -> str:
    """Return the prefix of the file names of a distribution's wheels."""
    return f"{re.sub(r'[-_.]+', '_', distribution)}-"


def main(wheels: list[str]) -> int:
    """Complete the wheels. Returns the exit status."""
    lock = (PROJECT / "requirements.lock").read_text()
    metadata = [distribution.metadata for distribution in distributions()]
    for wheel in wheels:
        project = next(m for m in metadata if Path(wheel).name.startswith(wheel_name(m["name"])))
        document = bill(project, lock, metadata[1:])
        embed(Path(wheel), document, int(os.environ.get("SOURCE_DATE_EPOCH", "0")))
        digest = hashlib.sha256(Path(wheel).read_bytes()).hexdigest()
        print(f"{wheel}: {len(document['components'])} components, sha256 {digest}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
