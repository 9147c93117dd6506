"""Script that runs some tests on an emulated 64-bit ARM processor: ``make aarch64``, or other tests by
``ARGS=tests/tiny``.

Debian's Python for arm64 and the wheels that opdsl needs are unpacked into ``build/aarch64``, nothing into the system,
and run under ``qemu-aarch64-static``. Kernels are compiled there by LLVM for ARM. An emulator is slow, so the tests are
short ones that cover much. Needs Debian or Ubuntu.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "aarch64"
SYSTEM, SITE, PYTHON = FOLDER / "root", FOLDER / "site", FOLDER / "python"
QEMU = "qemu-aarch64-static"

# Time limit of all tests in seconds.
LIMIT = 420

TESTS = (
    "tests/tiny",
    "tests/unit/backends/test_engine.py",
    "tests/unit/backends/test_halves.py",
    "tests/emulated.py",
)

WITH = ("pytest>=8.3", "pytest-xdist>=3.6", "hypothesis>=6.112", "mpmath>=1.3", "ml_dtypes>=0.5")

WRAPPER = """#!/bin/sh
export PYTHONHOME="{system}/usr"
exec {qemu} -L "{system}" -0 "$0" "{system}/usr/bin/python3" "$@"
"""


def main() -> None:
    if shutil.which(QEMU) is None:
        sys.exit(f"{QEMU} is not there. Install it: apt-get install qemu-user-static")
    started = time.monotonic()
    if not PYTHON.exists():
        lay_system()
        lay_packages()
        PYTHON.write_text(WRAPPER.format(system=SYSTEM, qemu=QEMU))
        PYTHON.chmod(0o755)
    tell = "import platform; print('Python', platform.python_version(), 'on', platform.machine())"
    subprocess.run([PYTHON, "-c", tell], check=True)
    print(f"laid out in {time.monotonic() - started:.0f} s", flush=True)
    environment = {
        **os.environ,
        "PYTHONPATH": f"{SITE}:{ROOT}",
        "OPDSL_QUICK_COMPILE": "1",
        "OPDSL_CACHE_DIR": str(FOLDER / "cache"),
    }
    command = [
        PYTHON,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "--durations=10",
        *(sys.argv[1:] or ("-n", "2", *TESTS)),
    ]
    try:
        sys.exit(subprocess.run(command, cwd=ROOT, env=environment, timeout=LIMIT).returncode)
    except subprocess.TimeoutExpired:
        sys.exit(f"the tests took more than {LIMIT} s")


def lay_system() -> None:
    """Unpack Python for arm64 and the libraries that it needs; apt keeps its state in a separate folder."""
    state = FOLDER / "apt"
    for folder in (state / "lists" / "partial", state / "archives" / "partial", SYSTEM):
        folder.mkdir(parents=True, exist_ok=True)
    (state / "status").touch()
    options = {
        "APT::Architecture": "arm64",
        "APT::Architectures::": "arm64",
        "Dir::State::Lists": state / "lists",
        "Dir::State::status": state / "status",
        "Dir::Cache": state,
        "Dir::Cache::Archives": state / "archives",
    }
    apt = ["apt-get", "-qq", *(word for name, value in options.items() for word in ("-o", f"{name}={value}"))]
    subprocess.run([*apt, "update"], check=False)  # sources of other packages may have none for arm64
    wanted = ("python3", "libstdc++6", "libgomp1", "zlib1g")
    subprocess.run([*apt, "install", "--yes", "--download-only", "--no-install-recommends", *wanted], check=True)
    for package in (state / "archives").glob("*.deb"):
        subprocess.run(["dpkg-deb", "--extract", package, SYSTEM], check=True)


def lay_packages() -> None:
    """Install the arm64 wheels that opdsl and its tests need."""
    version = re.sub("python", "", os.readlink(SYSTEM / "usr" / "bin" / "python3"))
    with open(ROOT / "pyproject.toml", "rb") as file:
        needed = tomllib.load(file)["project"]["dependencies"]
    platforms = [f"--platform=manylinux_2_{minor}_aarch64" for minor in (17, 27, 28)]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", SITE, "--only-binary=:all:"]
    command += ["--implementation=cp", f"--python-version={version}", *platforms, "--platform=manylinux2014_aarch64"]
    subprocess.run([*command, *needed, *WITH], check=True)


if __name__ == "__main__":
    assert platform.system() == "Linux", "the emulator runs programs of Linux"
    main()
