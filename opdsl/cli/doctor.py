"""Command ``opdsl doctor``: reports installed and missing parts of an installation, and how to fix problems."""

from __future__ import annotations

from collections.abc import Iterable

import attrs
import click

from opdsl.cli.json_output import json_option, print_json
from opdsl.cli.output import Row, Section, print_sections
from opdsl.cli.probes import Finding, Mark, findings


@click.command(short_help="Inspect this installation.")
@json_option
def doctor(as_json: bool) -> None:
    """Inspect this installation: packages, processor, kernel cache, CUDA, and optional packages.

    The exit code is 1 if something is missing that opdsl needs; optional packages do not count.
    """
    groups = findings()
    if as_json:
        # The title of the first group contains the version, which does not belong in a key.
        keyed = {"opdsl" if title.startswith("opdsl ") else title: group for title, group in groups.items()}
        print_json("doctor", {"groups": {key: list(map(_json_finding, group)) for key, group in keyed.items()}})
    else:
        print_sections([Section(title, tuple(map(_row, group))) for title, group in groups.items()])
    if any(finding.is_needed and finding.mark is Mark.MISSING for finding in _all(groups.values())):
        raise click.exceptions.Exit(1)


def _row(finding: Finding) -> Row:
    text = finding.detail + (f". {finding.remedy}" if finding.remedy else "")
    return finding.mark.value, finding.subject, text


def _json_finding(finding: Finding) -> dict[str, object]:
    return attrs.asdict(finding) | {"mark": finding.mark.value}


def _all(groups: Iterable[Iterable[Finding]]) -> Iterable[Finding]:
    return (finding for group in groups for finding in group)
