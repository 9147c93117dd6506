"""Every mistake a user can make, one class each.

Each message names the operator, what was given, what is there, and how to mend it. The classes also derive from the
built-in exception that PyTorch raises for the same mistake, so that code written for PyTorch catches the same ones.
May import: nothing of opdsl.
"""

from __future__ import annotations

from pickle import PicklingError, UnpicklingError


class OpdslError(Exception):
    """Base of every error that opdsl raises for a user's mistake."""


class DeprecatedWarning(DeprecationWarning):
    """A name is used that a later release does not have; the message says which one, and what to write instead."""


# ---------------------------------------------------------------------------------------------- text and declarations


class SchemaError(OpdslError, RuntimeError, ValueError):
    """A schema text or a schema's parts break the grammar or an invariant.

    rule: the broken rule, like ``INV-7``.
    start, end: where in the text the first fault stands.
    """

    def __init__(self, message: str, *, rule: str = "", start: int = 0, end: int = 0) -> None:
        super().__init__(message)
        self.rule = rule
        self.start = start
        self.end = end


class NativeYamlError(OpdslError, ValueError):
    """A native_functions.yaml entry breaks a rule; the message leads with ``file:line:column``.

    faults: all broken rules, each with ``rule``, ``message`` and ``location`` (file, line, column).
    """

    def __init__(self, message: str, *, faults: tuple[object, ...] = ()) -> None:
        super().__init__(message)
        self.faults = faults


class DialectError(OpdslError, ValueError):
    """There is no dialect of native_functions.yaml of that name."""


class DeclarationError(OpdslError, TypeError, ValueError):
    """A declaration is wrong; the message leads with the file and line of the declaration."""


class AnnotationError(DeclarationError):
    """An annotation of a declaration is no schema type."""


class KernelSignatureError(DeclarationError):
    """A kernel, meta or derivative function does not have the parameters that its operator's schema asks for."""


class ScalarFunctionError(DeclarationError):
    """A scalar function uses Python that the scalar graph cannot hold."""


class FormulaError(DeclarationError):
    """A formula holds what no kernel can be made of; the text is underlined."""


class RoundedResultError(ScalarFunctionError):
    """A scalar function gives floating-point numbers of integers where integers are wanted."""


class DuplicateOperatorError(DeclarationError, RuntimeError):
    """An operator, overload, variant or kernel is declared twice."""


class UnknownOperatorError(OpdslError, AttributeError, RuntimeError):
    """No operator of that name is registered."""


class DispatchKeyError(OpdslError, RuntimeError, ValueError):
    """No dispatch key of that name, or one that cannot be used there."""


# ------------------------------------------------------------------------------------------------------------- calls


class ArgumentError(OpdslError, TypeError):
    """A call's arguments fit no overload."""


class OptionError(OpdslError, ValueError):
    """An argument has a value that the operator does not take."""


class NumberError(OpdslError, RuntimeError, OverflowError, ValueError, TypeError):
    """A Python number does not fit the dtype that it has to become.

    PyTorch raises RuntimeError for it, or where the number fits no 64 bits OverflowError, ValueError, or TypeError in
    lists.
    """


class ConversionError(OpdslError, RuntimeError, ValueError, TypeError):
    """A tensor has no single Python value, or Python data makes no tensor.

    PyTorch raises RuntimeError, ValueError or TypeError for it, depending on the road that is taken.
    """


class NoElementsError(ConversionError, NotImplementedError):
    """A meta tensor is copied to where there are elements; PyTorch raises NotImplementedError for it."""


class ShapeError(OpdslError, RuntimeError):
    """Shapes do not fit each other, or the operator."""


class DimensionError(OpdslError, IndexError):
    """A dimension is out of range."""


class DimError(OpdslError, ValueError):
    """A first-class dimension (``opdsl.dims``) has no size, two sizes, or is used where it has no meaning."""


class DimAttributeError(DimError, AttributeError):
    """A value over first-class dimensions is asked for what only a plain tensor has."""


class PositionError(DimensionError, ShapeError):
    """An element of an index tensor leads out of the dimension.

    PyTorch raises IndexError or RuntimeError for it, depending on the operator and its road.
    """


class LinearAlgebraError(OpdslError, RuntimeError):
    """A matrix has no such decomposition, or its algorithm does not converge (``torch.linalg.LinAlgError``)."""


class DTypeError(OpdslError, RuntimeError):
    """A dtype does not fit the operator, or a result cannot be cast to the dtype of ``out=``."""


class UnsupportedDTypeError(DTypeError, NotImplementedError):
    """An operator computes something that does not exist for a dtype: the larger of two complex numbers, say."""


class UnsupportedModeError(OpdslError, NotImplementedError):
    """A mode that there is not, or not for tensors of such shapes."""


class DivisionError(OpdslError, RuntimeError, ZeroDivisionError):
    """An integer is divided by 0 by an operator that has no integer to answer with."""


class DeviceError(OpdslError, RuntimeError):
    """Tensors live on different devices, or a device is not there."""


class OverlapError(OpdslError, RuntimeError):
    """A written tensor overlaps itself or an input in memory."""


class ReadOnlyError(OpdslError, RuntimeError, ValueError):
    """A tensor whose memory must not be written (a read-only NumPy array) is written."""


class ShardingError(OpdslError, NotImplementedError):
    """A call cannot be cut into pieces like that: the rule of its operator, or unknown sizes, are in the way."""


class VersionError(OpdslError, RuntimeError):
    """Processes that compute one result have different versions of opdsl, or of an operator."""


class MissingKernelError(OpdslError, NotImplementedError):
    """The dispatch table has no kernel for the key set of a call."""


class MissingMetaError(OpdslError, RuntimeError):
    """PyTorch traces an operator that does not tell the shapes of its results."""


class MissingDependencyError(OpdslError, ImportError):
    """An optional package is needed and not installed; the message holds the command that installs it."""


# ------------------------------------------------------------------------------------------------- kernels and memory


class KernelCompileError(OpdslError, RuntimeError):
    """An author's kernel does not compile; the compiler's own error is the cause."""


class KernelError(OpdslError, RuntimeError):
    """A kernel did what its schema or its meta function does not allow, or raised."""


class BoundsError(KernelError, IndexError):
    """An author's kernel reads or writes outside of an array; found where bounds are checked."""


class DriverError(OpdslError, RuntimeError):
    """A call of a device's driver failed; a kernel that was started before it may be the cause."""


class OutOfMemoryError(OpdslError, MemoryError, RuntimeError):
    """A device has not as much memory as was asked for."""


class InternalError(Exception):
    """A fault of opdsl itself, which no caller that expects refused calls takes for one."""


class LawError(OpdslError, AssertionError):
    """An operator breaks a law that ``opdsl.testing.check_op`` holds it against."""


class TorchError(OpdslError, RuntimeError):
    """PyTorch refuses a call of an operator of its own that ``opdsl.interop.torch.wrap`` has taken over."""


class InterchangeError(OpdslError, RuntimeError, TypeError, ValueError, BufferError):
    """An array cannot be taken over or handed out without a copy."""


class DuplicateFileError(OpdslError, FileExistsError):
    """A file or folder that was to be made is there already; it is left as it is."""


class FileFormatError(OpdslError, ValueError):
    """A file is none of the format that it should be, or is damaged."""


class PickledOperatorError(OpdslError, UnpicklingError):
    """A pickle holds an operator that is not here; the message says which, and where it was declared."""


class NotPickledError(OpdslError, PicklingError, TypeError):
    """An object is neither pickled nor copied; the message says why, and what is in its place."""


# ----------------------------------------------------------------------------------------------------------- programs


class TraceError(OpdslError, RuntimeError):
    """A function does what no program can hold: it looks at elements, or enters a guard; the message says which."""


class ProgramError(OpdslError, RuntimeError):
    """A program does not serve the arguments that it is given, or cannot be read; the message says what differs."""


# ---------------------------------------------------------------------------------------------------------- gradients


class GradientError(OpdslError, RuntimeError):
    """A gradient cannot be computed as asked: of what is no scalar, with a shape that does not fit, by a hook."""


class RequiresGradError(GradientError):
    """A tensor cannot require gradients, or is used where one that does is not allowed."""


class GraphFreedError(GradientError):
    """A second backward pass through a graph whose saved tensors the first has freed."""


class SavedTensorChangedError(GradientError):
    """A tensor that a backward formula needs has been written since it was saved."""


class MissingDerivativeError(GradientError, NotImplementedError):
    """An operator has no derivative; the message names it."""
