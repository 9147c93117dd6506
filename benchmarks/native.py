"""Benchmark of reading PyTorch's native_functions.yaml: loading, checking and grouping all entries, as torchgen
does.
"""

from __future__ import annotations

from pathlib import Path

import torchgen.gen as torchgen
from harness import Case, Report, compare, main

import opdsl.native as native
from opdsl.schema import parser

CORPUS = Path(torchgen.__file__).parent / "packaged/ATen/native/native_functions.yaml"

CASES = (
    Case("load, check and group", "ours()", "theirs()", 0.5),
    Case("load", "load()", "theirs()"),
    Case("load, check, group and generate", "all_of_ours()", "all_of_theirs()"),
)


def load() -> tuple[native.NativeFunction, ...]:
    """Load all entries with an empty parser cache."""
    parser.forget()
    return native.load(CORPUS)


def ours() -> tuple[native.NativeFunction, ...]:
    """Load and check all entries, and group them by variants and by views."""
    entries = load()
    assert not native.check(entries)
    native.variant_groups(entries)
    native.view_groups(entries)
    return entries


def all_of_ours() -> None:
    """Load, check and group all entries, and generate the operators of ``autogen``."""
    entries = ours()
    native.variant_groups(entries + native.generated(entries))


def theirs() -> torchgen.ParsedYaml:
    """Parse and check all entries by torchgen, which does both in one step, with empty caches."""
    torchgen._GLOBAL_PARSE_NATIVE_YAML_CACHE.clear()
    torchgen._GLOBAL_PARSE_TAGS_YAML_CACHE.clear()
    torchgen.parse_tags_yaml.cache_clear()
    return torchgen.parse_native_yaml(str(CORPUS), str(CORPUS.with_name("tags.yaml")))


def all_of_theirs() -> None:
    """Parse all entries by torchgen, and group them by variants and by views."""
    functions = theirs().native_functions
    torchgen.get_grouped_native_functions(functions)
    torchgen.get_grouped_by_view_native_functions(functions)


def run() -> Report:
    """Measure all cases."""
    report = Report("native_functions.yaml", threads=1)
    report.comparison(
        f"{len(load()):,} entries",
        compare(CASES, globals(), rounds=9),
        theirs="torchgen",
        note="torchgen: parse_native_yaml, which checks and generates too; in the last line grouping as well.",
    )
    return report


if __name__ == "__main__":
    main("native", run)
