"""Wheels: archives of a package's files with the metadata that installers read."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path

__all__ = ["write_wheel"]

# The oldest C library whose loader knows all that the shared libraries use; they name no version of it.
_PLATFORM = "manylinux_2_17"

# ZIP archives begin in 1980; equal wheels of equal files need one time for all.
_TIME = (1980, 1, 1, 0, 0, 0)
_MODE = 0o100644 << 16


def write_wheel(folder: Path, name: str, version: str, architecture: str, files: Mapping[str, bytes]) -> Path:
    """Write a wheel for any version of Python, and return its path.

    Args:
        folder: where it is written.
        name, version: of the distribution.
        architecture: of the shared libraries, by Python's name for it.
        files: of the package, by their paths.
    """
    distribution = name.replace("-", "_").replace(".", "_")
    tag = f"py3-none-{_PLATFORM}_{architecture}"
    about = f"{distribution}-{version}.dist-info"
    contents = {
        **files,
        f"{about}/METADATA": _metadata(name, version).encode(),
        f"{about}/WHEEL": f"Wheel-Version: 1.0\nGenerator: opdsl\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(),
    }
    records = [f"{path},sha256={_digest(content)},{len(content)}" for path, content in contents.items()]
    contents[f"{about}/RECORD"] = "\n".join([*records, f"{about}/RECORD,,", ""]).encode()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{distribution}-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, content in contents.items():
            entry = zipfile.ZipInfo(file, _TIME)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, _MODE
            archive.writestr(entry, content)
    return path


def _metadata(name: str, version: str) -> str:
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {name}",
        f"Version: {version}",
        "Summary: Tensor operators, compiled ahead by opdsl.",
        "Requires-Python: >=3.11",
        "Requires-Dist: numpy>=1.26",
        "Provides-Extra: torch",
        "Requires-Dist: torch>=2.11; extra == 'torch'",
    ]
    return "\n".join([*lines, ""])


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
