"""Runner of the code in documentation pages: Python blocks are run, sessions compared, ``opdsl`` commands looked up.

``python -m tests.docs.pages PAGE ...`` prints each piece of code that fails or whose output differs from the page. Each
page runs in its own process, forked from one that has imported everything.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import linecache
import os
import re
import shlex
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

# Blocks after this comment need a missing device: they are compiled, but not run.
NOT_RUN = "<!-- not run here: "
_FENCE = re.compile(r"^( *)```(\S*)")


class Block(NamedTuple):
    """Code block of a page, with the number of its first line."""

    language: str
    text: str
    line: int
    is_run: bool


def blocks(text: str) -> Iterator[Block]:
    """Yield the code blocks of a page."""
    lines = text.splitlines()
    at, is_run = 0, True
    while at < len(lines):
        fence = _FENCE.match(lines[at])
        if fence:
            indent, language = len(fence[1]), fence[2]
            end = next(index for index in range(at + 1, len(lines)) if lines[index].strip() == "```")
            body = "\n".join(line[indent:] for line in lines[at + 1 : end]) + "\n"
            yield Block(language, body, at + 2, is_run)
            at, is_run = end, True
        elif lines[at].strip():
            is_run = not lines[at].startswith(NOT_RUN)
        at += 1


def faults_of(page: Path) -> Iterator[str]:
    """Yield a message for each code block of a page that fails or prints something else than the page says."""
    names: dict[str, Any] = {"__name__": "page"}
    for block in blocks(page.read_text(encoding="utf-8")):
        place = f"{page}:{block.line}"
        if block.language == "python":
            yield from _run(block, place, names)
        elif block.language == "pycon" and block.is_run:
            yield from _compare(block, place, names)
        elif block.language == "sh":
            yield from _commands(block, place)


def _run(block: Block, place: str, names: dict[str, Any]) -> Iterator[str]:
    try:
        # Line numbers in errors are those of the page; the cache lets inspect find the sources of lambdas.
        page, text = place.rpartition(":")[0], "\n" * (block.line - 1) + block.text
        linecache.cache[page] = len(text), None, text.splitlines(keepends=True), page
        code = compile(text, page, "exec")
        if block.is_run:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(code, names)
    except Exception:
        yield f"{place}: {traceback.format_exc(limit=-3)}"


def _compare(block: Block, place: str, names: dict[str, Any]) -> Iterator[str]:
    example = doctest.DocTestParser().get_doctest(block.text, {}, place, place, 0)
    example.globs = names
    flags = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL if "Traceback" in block.text else doctest.ELLIPSIS
    report: list[str] = []
    doctest.DocTestRunner(verbose=False, optionflags=flags).run(example, out=report.append, clear_globs=False)
    if report:
        yield f"{place}: {''.join(report)}"


def _commands(block: Block, place: str) -> Iterator[str]:
    """Yield a message for each ``opdsl`` command that does not exist or lacks an option that the page uses."""
    import click

    from opdsl.cli import main

    for line in block.text.splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] != ["opdsl"] or len(words) < 2:
            continue
        command = main.commands.get(words[1])
        if command is None:
            yield f"{place}: there is no {line}"
            continue
        known = {option for param in command.params if isinstance(param, click.Option) for option in param.opts}
        inputs = {word.partition("=")[0] for word in words[2:] if word.startswith("-")}
        if inputs - known - {"--help", "-h"}:
            yield f"{place}: opdsl {words[1]} has no {', '.join(sorted(inputs - known))}"


def main(pages: list[str]) -> int:
    """Run the code of pages, each in a forked process, and return the number of pages with faults."""
    import torch  # noqa: F401

    import opdsl

    dir(opdsl.ops.aten)  # loads all of its operators
    failed = 0
    for page in pages:
        child = os.fork()
        if child == 0:
            count = 0
            for fault in faults_of(Path(page)):
                count += 1
                print(fault, flush=True)
            sys.stdout.flush()
            os._exit(bool(count))
        failed += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
