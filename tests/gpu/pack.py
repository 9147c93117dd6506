"""Script that packs files a machine with a card needs but cannot fetch: python tests/gpu/pack.py [--seconds N] [--laws]
[sm_90 ...]

The pack holds CUBINs of the kernels that the first steps of ``first.py`` launch: their scripts run on a device that
computes nothing, so that their kernels are compiled; checks of results fail there, and do not matter. With ``--laws``
it also holds those of the laws, which take hours to compile. It also holds wheels that the Python there may lack, and
the release of NVRTC that compiled the CUBINs, under which the kernel cache finds them. The pack is written at the end
or when the time is over, with the files that exist by then.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Sequence
from pathlib import Path

__all__ = ["CACHE", "NVRTC", "PACK", "SCRIPTS", "WHEELS", "compile_for", "compile_laws", "is_cubin", "pack"]

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "gpu-pack"
PACK = ROOT / "build" / "gpu-pack.tar.xz"
CACHE, WHEELS, NVRTC = "cache", "wheels", "nvrtc.txt"
SCRIPTS = ("tests/gpu/card.py", "tests/gpu/kernels.py")
REQUIREMENTS = ("typeguard==4.6.0",)

sys.path.insert(0, str(ROOT))  # for when the script was started by its path

# A file of the kernel cache is a header of this size, then an ELF file; its machine number says whether it is for CUDA.
_HEAD = 84
_CUDA_MACHINE = 190

_RUN = """
import runpy, sys
from opdsl.testing.ahead import dry_run_on
dry_run_on([sys.argv[1]])
sys.argv = sys.argv[2:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def compile_for(architecture: str, script: str, folder: Path, seconds: float) -> int:
    """Run a script on a device that computes nothing, to fill a cache in a folder; return the status, -1 after a
    timeout.
    """
    return _run((sys.executable, "-c", _RUN, architecture, script), folder, seconds)


def compile_laws(architecture: str, folder: Path, seconds: float) -> int:
    """Compile the kernels of all operators into a cache in a folder; return the status, -1 after a timeout."""
    command = "from opdsl.cli import main; main()"
    return _run((sys.executable, "-c", command, "compile", "--device", "cuda", "--arch", architecture), folder, seconds)


def _run(command: Sequence[str], folder: Path, seconds: float) -> int:
    """Run a command with the cache of a folder, and end it with its processes when the time is over."""
    places = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"OPDSL_CACHE_DIR": str(folder / CACHE), "PYTHONPATH": places}
    with subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True) as process:
        try:
            return process.wait(max(1.0, seconds))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return -1


def is_cubin(path: Path) -> bool:
    """Return whether a file of the kernel cache holds a CUDA kernel; other files are for this machine's processor."""
    content = path.read_bytes()[_HEAD:]
    return content[:4] == b"\x7fELF" and int.from_bytes(content[18:20], "little") == _CUDA_MACHINE


def pack(folder: Path, target: Path) -> int:
    """Write CUBINs, wheels and the release of NVRTC into an archive, and return the number of CUBINs."""
    from opdsl.backends.cuda.nvrtc import version

    (folder / NVRTC).write_text(version())
    cubins = [path for path in sorted((folder / CACHE).glob("*")) if path.is_file() and is_cubin(path)]
    with tarfile.open(target, "w:xz") as archive:
        for path in (*cubins, *sorted((folder / WHEELS).glob("*.whl")), folder / NVRTC):
            archive.add(path, path.relative_to(folder))
    return len(cubins)


def main() -> int:
    """Compile kernels for all given architectures and write the pack."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("architectures", nargs="*", default=["sm_90"])
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--laws", action="store_true", help="compile the kernels of all operators, too")
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    (FOLDER / WHEELS).mkdir(parents=True, exist_ok=True)
    download = (sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(FOLDER / WHEELS), *REQUIREMENTS)
    failures = subprocess.run(download, check=False).returncode != 0
    for architecture in options.architectures:
        for script in SCRIPTS:
            status = compile_for(architecture, script, FOLDER, end - time.monotonic())
            print(f"{architecture} {script}: {'late' if status < 0 else f'status {status}'}", flush=True)
        if options.laws:
            print(
                f"{architecture} laws: status {compile_laws(architecture, FOLDER, end - time.monotonic())}", flush=True
            )
    count = pack(FOLDER, PACK)
    print(f"{PACK}: {count} CUBINs, {PACK.stat().st_size / (1 << 20):.2f} MiB")
    return int(failures)


if __name__ == "__main__":
    sys.exit(main())
