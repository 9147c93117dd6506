"""Error classes of opdsl, one for each kind of mistake that a user can make.

Each message names the operator, the value that was passed, the expected ones, and how to fix the mistake. The classes
also derive from the built-in exception that PyTorch raises for the same mistake, so that code written for PyTorch
catches them. May import: nothing of opdsl.
"""

from __future__ import annotations

from pickle import PicklingError, UnpicklingError


class OpdslError(Exception):
    """Base class of all errors that opdsl raises for a user's mistake."""


class DeprecatedWarning(DeprecationWarning):
    """Warning about a deprecated name, which a later release removes; the message names it and its replacement."""


# ---------------------------------------------------------------------------------------------- text and declarations


class SchemaError(OpdslError, RuntimeError, ValueError):
    """Raised when a schema text or a schema's parts violate the grammar or an invariant.

    rule: the violated rule, like ``INV-7``.
    start, end: the position of the first fault in the text.
    """

    def __init__(self, message: str, *, rule: str = "", start: int = 0, end: int = 0) -> None:
        super().__init__(message)
        self.rule = rule
        self.start = start
        self.end = end


class NativeYamlError(OpdslError, ValueError):
    """Raised when a native_functions.yaml entry violates a rule; the message begins with ``file:line:column``.

    faults: all violations, each with ``rule``, ``message`` and ``location`` (file, line, column).
    """

    def __init__(self, message: str, *, faults: tuple[object, ...] = ()) -> None:
        super().__init__(message)
        self.faults = faults


class DialectError(OpdslError, ValueError):
    """Raised when there is no dialect of native_functions.yaml with the given name."""


class DeclarationError(OpdslError, TypeError, ValueError):
    """Raised when a declaration is wrong; the message begins with the file and line of the declaration."""


class AnnotationError(DeclarationError):
    """Raised when an annotation of a declaration is not a schema type."""


class KernelSignatureError(DeclarationError):
    """Raised when the parameters of a kernel, meta or derivative function do not match its operator's schema."""


class ScalarFunctionError(DeclarationError):
    """Raised when a scalar function uses Python that scalar graphs do not support."""


class FormulaError(DeclarationError):
    """Raised when a formula contains code that cannot be compiled to a kernel; the message underlines it."""


class RoundedResultError(ScalarFunctionError):
    """Raised when a scalar function computes floating-point numbers from integers where integers are required."""


class DuplicateOperatorError(DeclarationError, RuntimeError):
    """Raised when an operator, overload, variant or kernel is declared twice."""


class UnknownOperatorError(OpdslError, AttributeError, RuntimeError):
    """Raised when no operator with the given name is registered."""


class DispatchKeyError(OpdslError, RuntimeError, ValueError):
    """Raised when there is no dispatch key with the given name, or it cannot be used there."""


# ------------------------------------------------------------------------------------------------------------- calls


class ArgumentError(OpdslError, TypeError):
    """Raised when the arguments of a call match no overload."""


class OptionError(OpdslError, ValueError):
    """Raised when an argument has a value that the operator does not accept."""


class NumberError(OpdslError, RuntimeError, OverflowError, ValueError, TypeError):
    """Raised when a Python number cannot be represented in the dtype that it has to be converted to.

    PyTorch raises RuntimeError for it, or OverflowError, ValueError, or (in lists) TypeError if the number does not fit
    into 64 bits.
    """


class ConversionError(OpdslError, RuntimeError, ValueError, TypeError):
    """Raised when a tensor has no single Python value, or Python data cannot be converted to a tensor.

    PyTorch raises RuntimeError, ValueError or TypeError for it, depending on the code path.
    """


class NoElementsError(ConversionError, NotImplementedError):
    """Raised when a meta tensor is copied to a device with elements; PyTorch raises NotImplementedError for it."""


class ShapeError(OpdslError, RuntimeError):
    """Raised when shapes do not fit each other, or the operator."""


class DimensionError(OpdslError, IndexError):
    """Raised when a dimension is out of range."""


class DimError(OpdslError, ValueError):
    """Raised when a first-class dimension (``opdsl.dims``) has no size, two sizes, or is used where it has no
    meaning.

    is_underlined: whether the message shows the line of the formula.
    """

    is_underlined = False


class DimAttributeError(DimError, AttributeError):
    """Raised on access to an attribute of a value over first-class dimensions that only plain tensors have."""


class PositionError(DimensionError, ShapeError):
    """Raised when an element of an index tensor is out of bounds.

    PyTorch raises IndexError or RuntimeError for it, depending on the operator and its code path.
    """


class LinearAlgebraError(OpdslError, RuntimeError):
    """Raised when a matrix has no such decomposition, or its algorithm does not converge
    (``torch.linalg.LinAlgError``).
    """


class DTypeError(OpdslError, RuntimeError):
    """Raised when a dtype does not fit the operator, or a result cannot be cast to the dtype of ``out=``."""


class UnsupportedDTypeError(DTypeError, NotImplementedError):
    """Raised when an operation does not exist for a dtype, such as the maximum of complex numbers."""


class UnsupportedModeError(OpdslError, NotImplementedError):
    """Raised when a mode does not exist, or not for tensors of the given shapes."""


class DivisionError(OpdslError, RuntimeError, ZeroDivisionError):
    """Raised when an integer is divided by 0 by an operator whose result is an integer."""


class DeviceError(OpdslError, RuntimeError):
    """Raised when tensors are on different devices, or a device does not exist."""


class OverlapError(OpdslError, RuntimeError):
    """Raised when a written tensor overlaps itself or an input in memory."""


class ReadOnlyError(OpdslError, RuntimeError, ValueError):
    """Raised when a tensor over read-only memory (such as a read-only NumPy array) is written."""


class ShardingError(OpdslError, NotImplementedError):
    """Raised when a call cannot be split into pieces, because of its operator's sharding rule or unknown sizes."""


class VersionError(OpdslError, RuntimeError):
    """Raised when processes that compute one result have different versions of opdsl, or of an operator."""


class MissingKernelError(OpdslError, NotImplementedError):
    """Raised when the dispatch table has no kernel for the key set of a call."""


class MissingMetaError(OpdslError, RuntimeError):
    """Raised when PyTorch traces an operator that has no meta function."""


class MissingDependencyError(OpdslError, ImportError):
    """Raised when an optional package is needed and not installed; the message contains the command that installs
    it.
    """


# ------------------------------------------------------------------------------------------------- kernels and memory


class KernelCompileError(OpdslError, RuntimeError):
    """Raised when an author's kernel does not compile; the compiler's own error is the cause."""


class KernelError(OpdslError, RuntimeError):
    """Raised when a kernel violates its schema or its meta function, or raises an error itself."""


class BoundsError(KernelError, IndexError):
    """Raised when an author's kernel accesses an array out of bounds, if bounds checks are on."""


class DriverError(OpdslError, RuntimeError):
    """Raised when a call of a device's driver fails, possibly because of a kernel that was launched before."""


class OutOfMemoryError(OpdslError, MemoryError, RuntimeError):
    """Raised when a device does not have enough memory."""


class InternalError(Exception):
    """Raised for a bug in opdsl itself; not an ``OpdslError``, so that handlers of user errors do not catch it."""


class LawError(OpdslError, AssertionError):
    """Raised when an operator violates a law that ``opdsl.testing.check_op`` checks."""


class TorchError(OpdslError, RuntimeError):
    """Raised when PyTorch refuses a call of one of its operators made by ``opdsl.interop.torch.wrap``."""


class InterchangeError(OpdslError, RuntimeError, TypeError, ValueError, BufferError):
    """Raised when an array cannot be imported or exported without a copy."""


class DuplicateFileError(OpdslError, FileExistsError):
    """Raised when a file or folder that would be created exists already; it is not changed."""


class FileFormatError(OpdslError, ValueError):
    """Raised when a file does not have the expected format, or is damaged."""


class PickledOperatorError(OpdslError, UnpicklingError):
    """Raised when a pickle refers to an operator that is not loaded; the message says which, and where it was
    declared.
    """


class NotPickledError(OpdslError, PicklingError, TypeError):
    """Raised when an object can be neither pickled nor copied; the message says why, and what to use instead."""


# ----------------------------------------------------------------------------------------------------------- programs


class TraceError(OpdslError, RuntimeError):
    """Raised when a function cannot be traced: it reads elements, or enters a guard; the message says which."""


class ProgramError(OpdslError, RuntimeError):
    """Raised when the arguments of a program do not satisfy its guards, or a program cannot be read."""


# ---------------------------------------------------------------------------------------------------------- gradients


class GradientError(OpdslError, RuntimeError):
    """Raised when a gradient cannot be computed: of a non-scalar, with a wrong shape, or because of a hook."""


class RequiresGradError(GradientError):
    """Raised when a tensor cannot require gradients, or requires them where that is not allowed."""


class GraphFreedError(GradientError):
    """Raised on a second backward pass through a graph whose saved tensors the first pass has freed."""


class SavedTensorChangedError(GradientError):
    """Raised when a tensor that was saved for the backward pass has been written since."""


class MissingDerivativeError(GradientError, NotImplementedError):
    """Raised when an operator has no derivative; the message names it."""
