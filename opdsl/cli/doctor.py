"""``opdsl doctor``: what is there, what is not, and the sentence that mends it."""

from __future__ import annotations

from collections.abc import Iterable

import click

from opdsl.cli.output import Row, Section, print_sections
from opdsl.cli.probes import Finding, Mark, findings


@click.command(short_help="Look at this installation.")
def doctor() -> None:
    """Look at this installation: packages, processor, kernel cache, CUDA, and what works with opdsl.

    The exit code is 1 if something is missing that opdsl needs; what is optional does not count.
    """
    groups = findings()
    print_sections([Section(title, tuple(map(_row, group))) for title, group in groups.items()])
    if any(each.is_needed and each.mark is Mark.MISSING for each in _all(groups.values())):
        raise click.exceptions.Exit(1)


def _row(finding: Finding) -> Row:
    text = finding.detail + (f". {finding.remedy}" if finding.remedy else "")
    return finding.mark.value, finding.subject, text


def _all(groups: Iterable[Iterable[Finding]]) -> Iterable[Finding]:
    return (each for group in groups for each in group)
