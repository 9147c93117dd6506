"""Import of LLVM by llvmlite, with an error that says how to install llvmlite if it is missing."""

from opdsl.errors import MissingDependencyError

try:
    import llvmlite
    import llvmlite.binding as llvm
except ImportError as error:
    raise MissingDependencyError(
        f"Kernels of the CPU are compiled by LLVM, but llvmlite cannot be imported: {error}. "
        "Install it: pip install llvmlite"
    ) from error

__all__ = ["llvm", "llvmlite"]
