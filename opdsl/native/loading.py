"""Functions ``load`` and ``loads``, which read entries from a file or text, in today's form or an older one."""

from __future__ import annotations

from collections.abc import Container
from os import PathLike, fspath

from opdsl.native.dialects import load_older
from opdsl.native.entry import NativeFunction
from opdsl.native.known import TAGS
from opdsl.native.load import read_file, read_today


def load(
    path: str | PathLike[str], *, tags: Container[str] = TAGS, dialect: str = "today"
) -> tuple[NativeFunction, ...]:
    """Read a file like native_functions.yaml.

    path: the file, in UTF-8.
    tags: the tags that entries may carry.
    dialect: the release of PyTorch whose form the file has, from ``0.4`` on, or ``detect``. Entries of an older form
        are converted as by ``dialects.upgrade``; rules that only today's form has are left to ``check``.

    Raises NativeYamlError with all faults of all entries, each with its location; DialectError if there is no such
    release; OSError if the file cannot be read.

    Returns:
        The entries, in the order of the file.

    >>> import tempfile
    >>> from opdsl.native import load
    >>> with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
    ...     _ = file.write("- func: relu(Tensor self) -> Tensor")
    ...     file.flush()
    ...     [str(entry.name) for entry in load(file.name)]
    ['relu']
    """
    return loads(read_file(path), file=fspath(path), tags=tags, dialect=dialect)


def loads(
    text: str, *, file: str = "<string>", tags: Container[str] = TAGS, dialect: str = "today"
) -> tuple[NativeFunction, ...]:
    """Read the text of a file like native_functions.yaml.

    Raises NativeYamlError with all faults of all entries, each with its location; DialectError if there is no such
    release.

    Args:
        text: of the file.
        file: the name used in locations.
        tags, dialect: see ``load``.

    Returns:
        The entries, in the order of the text.

    >>> [entry] = loads("- func: relu(Tensor self) -> Tensor")
    >>> str(entry.schema), str(entry.location())
    ('relu(Tensor self) -> Tensor', '<string>:1:3')
    >>> [entry] = loads("- func: fill_(Tensor self, double value) -> Tensor", dialect="0.4.1")
    >>> str(entry.schema)
    'fill_(Tensor(a!) self, float value) -> Tensor(a!)'
    """
    if dialect != "today":
        return load_older(text, file=file, dialect=dialect, tags=tags)
    return read_today(text, file=file, tags=tags)
