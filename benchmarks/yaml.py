"""Reading PyTorch's native_functions.yaml: loading, checking and grouping all entries, against torchgen."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

# This file has the name of PyYAML, and Python looks in its folder first.
FOLDER = Path(__file__).resolve().parent
sys.path[:] = [each for each in sys.path if Path(each).resolve() != FOLDER]
if __name__ == "yaml":
    del sys.modules["yaml"]
    importlib.import_module("yaml")  # the package, which takes this module's place
else:
    import torchgen.gen as torchgen

    import opdsl.native as native
    from opdsl.schema import parser

    sys.path.append(str(FOLDER))
    from harness import Case, Report, compare, main

    CORPUS = Path(torchgen.__file__).parent / "packaged/ATen/native/native_functions.yaml"

    CASES = (
        Case("load, check and group", "ours()", "theirs()", 0.5),
        Case("load", "load()", "theirs()"),
        Case("load, check, group and generate", "all_of_ours()", "all_of_theirs()"),
    )

    def load() -> tuple[native.NativeFunction, ...]:
        """All entries; nothing is remembered of earlier turns."""
        parser.forget()
        return native.load(CORPUS)

    def ours() -> tuple[native.NativeFunction, ...]:
        """Load, check, group by variants and by views."""
        entries = load()
        assert not native.check(entries)
        native.variant_groups(entries)
        native.view_groups(entries)
        return entries

    def all_of_ours() -> None:
        """The operators that autogen stands for, too."""
        entries = ours()
        native.variant_groups(entries + native.generated(entries))

    def theirs() -> torchgen.ParsedYaml:
        """Parse and check, as torchgen does in one step; nothing is remembered of earlier turns."""
        torchgen._GLOBAL_PARSE_NATIVE_YAML_CACHE.clear()
        torchgen._GLOBAL_PARSE_TAGS_YAML_CACHE.clear()
        torchgen.parse_tags_yaml.cache_clear()
        return torchgen.parse_native_yaml(str(CORPUS), str(CORPUS.with_name("tags.yaml")))

    def all_of_theirs() -> None:
        """Group by variants and by views."""
        functions = theirs().native_functions
        torchgen.get_grouped_native_functions(functions)
        torchgen.get_grouped_by_view_native_functions(functions)

    def run() -> Report:
        """Measure everything."""
        report = Report("native_functions.yaml", threads=1)
        report.comparison(
            f"{len(load()):,} entries",
            compare(CASES, globals(), rounds=9),
            theirs="torchgen",
            note="torchgen: parse_native_yaml, which checks and generates too; in the last line grouping as well.",
        )
        return report

    if __name__ == "__main__":
        main("yaml", run)
