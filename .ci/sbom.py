"""Writes a software bill of materials, in CycloneDX's JSON, from a lock file with hashes.

``python .ci/sbom.py requirements.lock > sbom.json``; it needs nothing but Python.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

_PIN = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;\\]+)(?:\s*;\s*([^\\]+?))?\s*\\?$")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def components(lock: str) -> list[dict[str, Any]]:
    """Return the packages that a lock file pins, each with the hashes of its files and the marker that asks for it.

    Raises:
        ValueError: a line is neither a pin, nor a hash, nor a comment, or a pin has no hash.
    """
    pinned: list[dict[str, Any]] = []
    for line in filter(None, map(str.strip, lock.splitlines())):
        pin, digest = _PIN.match(line), _HASH.search(line)
        if pin is not None:
            pinned.append(_component(*pin.groups()))
        elif digest is not None and pinned:
            pinned[-1]["hashes"].append({"alg": "SHA-256", "content": digest[1]})
        elif not line.startswith("#"):
            raise ValueError(f"no line of a lock file with hashes: {line!r}")
    bare = [component["name"] for component in pinned if not component["hashes"]]
    if bare:
        raise ValueError(f"pinned without hashes: {', '.join(bare)}")
    return pinned


def _component(name: str, version: str, marker: str | None) -> dict[str, Any]:
    purl = f"pkg:pypi/{re.sub(r'[-_.]+', '-', name).lower()}@{version}"
    component: dict[str, Any] = {"type": "library", "name": name, "version": version, "purl": purl, "bom-ref": purl}
    if marker:
        component["properties"] = [{"name": "python:marker", "value": marker}]
    return {**component, "hashes": []}


def document(lock: str, project: dict[str, Any]) -> dict[str, Any]:
    """Return the bill of materials of a project.

    Args:
        lock: the text of its lock file.
        project: the table ``project`` of its pyproject.toml.
    """
    packages = components(lock)
    own = f"pkg:pypi/{project['name']}@{project['version']}"
    subject = {
        "type": "library",
        "name": project["name"],
        "version": project["version"],
        "purl": own,
        "bom-ref": own,
        "licenses": [{"license": {"id": project["license"]}}],
    }
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": subject},
        "components": packages,
        "dependencies": [{"ref": own, "dependsOn": [package["purl"] for package in packages]}],
    }


def main() -> None:
    """Write the document of the lock file that the command line names."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        project = tomllib.load(file)["project"]
    lock = Path(sys.argv[1]).read_text(encoding="utf-8")
    json.dump(document(lock, project), sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
