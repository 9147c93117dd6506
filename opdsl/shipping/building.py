"""Build of a project: its operators are compiled for the forms that it names, and written as wheels."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import attrs

from opdsl.backends.cpu.processor import Target, target_named
from opdsl.dispatch import Operator
from opdsl.errors import OptionError
from opdsl.schema import SchemaKind
from opdsl.shipping.forms import Form
from opdsl.shipping.linking import find_linker, shared_library
from opdsl.shipping.package import files_of
from opdsl.shipping.plans import ShippedOperator, ship
from opdsl.shipping.project import Project, forms_of, is_named, unknown_names
from opdsl.shipping.tracing import Kernels, NotShippedError
from opdsl.shipping.variants import ship_variant, variants_of
from opdsl.shipping.wheel import write_wheel

__all__ = ["Built", "build"]

_DEFAULT_TARGETS = {"x86_64": ("x86-64-v2", "x86-64-v3", "x86-64-v4"), "aarch64": ("aarch64",)}


@attrs.frozen
class Built:
    """Result of a build.

    wheels: the files that were written.
    operators: those that they have.
    refused: those that they lack, with reasons.
    kernels: how many kernels each target has.
    """

    wheels: tuple[Path, ...]
    operators: tuple[ShippedOperator, ...]
    refused: Mapping[str, str]
    kernels: int


def build(
    project: Project,
    operators: Sequence[Operator],
    output: Path,
    *,
    recorded: Mapping[str, Sequence[Form]] | None = None,
    report: Callable[[str], None] = lambda text: None,
) -> Built:
    """Compile a project's operators, and write a wheel for each architecture.

    Args:
        project: its settings.
        operators: that it declares.
        output: the folder of the wheels.
        recorded: further forms, by the names of operators.
        report: is called with each step.

    Raises:
        OptionError: the project names an operator or a form that there is not, or nothing can be shipped.
        MissingDependencyError: there is no linker for a target.
    """
    targets = targets_of(project.targets)
    for target in targets:
        find_linker(target)  # before minutes of work
    kernels = Kernels()
    shipped, refused = _compiled(project, operators, recorded or {}, kernels, report)
    if not shipped:
        names = ", ".join(f"{operator_name} ({reason})" for operator_name, reason in refused.items())
        raise OptionError(f"{project.module} has no operator that can be shipped: {names}.")
    wheels = _wheels(project, shipped, kernels, targets, output, report)
    return Built(tuple(wheels), tuple(shipped), refused, len(kernels.sources))


def _compiled(
    project: Project,
    operators: Sequence[Operator],
    recorded: Mapping[str, Sequence[Form]],
    kernels: Kernels,
    report: Callable[[str], None],
) -> tuple[list[ShippedOperator], dict[str, str]]:
    """Compile operators and their variants, and return them, and for the others the reasons why they are left out."""
    shipped: list[ShippedOperator] = []
    refused: dict[str, str] = {}
    for operator in _functional(project, operators):
        report(f"{operator.name}: plans")
        variants = variants_of(operator, operators)
        forms = _recorded_forms(operator, variants, recorded)
        wanted = bool(forms) or is_named(operator, project)
        if is_named(operator, project) or not recorded:
            forms += forms_of(operator, project)
        try:
            shipped.append(ship(operator, forms, kernels, is_named=wanted))
        except NotShippedError as error:
            if is_named(operator, project):
                raise OptionError(f"{operator.name} cannot be shipped: {error}.") from error
            refused[operator.name] = str(error)
        else:
            shipped += _ship_variants(variants, shipped[-1], forms, kernels, refused)
    known = {one.operator.name for one in shipped} | refused.keys()
    others = [operator.name for operator in operators if operator.name not in known]
    return shipped, refused | dict.fromkeys(others, "it writes arguments, and nothing shipped computes the same")


def _functional(project: Project, operators: Sequence[Operator]) -> list[Operator]:
    """Return the functional operators of a project.

    Raises:
        OptionError: the project names forms of another operator.
    """
    functional = [operator for operator in operators if operator.schema.kind is SchemaKind.functional]
    for name in unknown_names(functional, project):
        if name in unknown_names(operators, project):
            raise OptionError(f"forms.{name}: {project.module} declares no operator of this name.")
        raise OptionError(
            f"forms.{name}: this operator writes its arguments. Name the forms of the functional operator, for which "
            "its variants are compiled, too."
        )
    return functional


def _recorded_forms(
    operator: Operator, variants: Sequence[Operator], recorded: Mapping[str, Sequence[Form]]
) -> list[Form]:
    """Return the recorded forms of an operator's calls, and of those of its variants, without outputs."""
    forms = list(recorded.get(operator.name, ()))
    for variant in variants:
        outputs = [out.python_name for out in variant.schema.out]
        for form in recorded.get(variant.name, ()):
            named = {name: value for name, value in form.named.items() if name not in outputs}
            forms.append(attrs.evolve(form, named=named))
    return list({str(form): form for form in forms}.values())


def _ship_variants(
    variants: Sequence[Operator],
    functional: ShippedOperator,
    forms: Sequence[Form],
    kernels: Kernels,
    refused: dict[str, str],
) -> list[ShippedOperator]:
    """Compile the variants of an operator, and return them; note the reasons for which others are left out."""
    shipped = []
    for variant in variants:
        try:
            shipped.append(ship_variant(variant, functional, forms, kernels))
        except NotShippedError as error:
            refused[variant.name] = str(error)
    return shipped


def _wheels(
    project: Project,
    shipped: Sequence[ShippedOperator],
    kernels: Kernels,
    targets: Sequence[Target],
    output: Path,
    report: Callable[[str], None],
) -> list[Path]:
    """Write a wheel for each architecture, and return their paths."""
    namespace = shipped[0].operator.name.partition("::")[0]
    wheels = []
    for architecture in dict.fromkeys(target.architecture for target in targets):
        libraries = {}
        for target in targets:
            if target.architecture == architecture:
                report(f"{target.name}: {len(kernels.sources)} kernels")
                libraries[target.name] = shared_library(kernels, target)
        files = files_of(project.module, namespace, shipped, libraries)
        wheels.append(write_wheel(output, project.name, project.version, architecture, files))
    return wheels


def targets_of(names: Sequence[str]) -> list[Target]:
    """Return the targets with given names; without names all those of this machine's architecture."""
    machine = {"arm64": "aarch64", "AMD64": "x86_64"}.get(platform.machine(), platform.machine())
    return [target_named(name) for name in names or _DEFAULT_TARGETS.get(machine, ())]
