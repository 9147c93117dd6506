"""Rules for schemas beyond the grammar: INV-1 to INV-16 of the facts, and rules that torchgen does not check.

Each rule is a generator of violations. INV-1, INV-2, INV-5 and the forms of INV-6 and INV-7 are part of the grammar:
the parser reports them by the same numbers, and schema values cannot be built otherwise, or are checked again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from opdsl.schema.alias import alias_fault
from opdsl.schema.defaults import fits, takes
from opdsl.schema.model import (
    AUGMENTED_ASSIGNMENTS,
    FUNCTIONAL_SUFFIX,
    SCRATCH_PREFIX,
    Argument,
    FunctionSchema,
    OperatorName,
    Return,
    SchemaKind,
)
from opdsl.schema.types import ALIASABLE, BaseType, ListType, OptionalType, Type
from opdsl.schema.violation import NAME, Part, Violation, argument_part, return_part

MOST_NESTING = 8
"""Maximum number of lists and question marks around a type; no operator has more."""

Rule = Callable[[FunctionSchema], Iterator[Violation]]


def check(schema: FunctionSchema) -> list[Violation]:
    """Return all violations of a schema, in the order of the rules; empty for a valid schema."""
    violations = [violation for rule in RULES_OF_PARTS for violation in rule(schema)]
    return violations + check_relations(schema)


def check_relations(schema: FunctionSchema) -> list[Violation]:
    """Return the violations of rules between parts of a schema whose arguments and returns are valid by themselves."""
    rules = RULES if _has_alias(schema) else RULES_WITHOUT_ALIAS
    return [violation for rule in rules for violation in rule(schema)]


def _has_alias(schema: FunctionSchema) -> bool:
    """Return whether any part may have an alias annotation: most rules do not apply to other schemas."""
    if schema.out or schema.name.is_inplace:
        return True
    for argument in schema.positional:
        if argument.alias is not None:
            return True
    return any(part.alias is not None for part in schema.keyword_only + schema.returns)


# ----------------------------------------------------------------------------------------------------------- the name


def name_faults(name: OperatorName) -> Iterator[str]:
    """Yield faults of an operator's name (INV-3): an empty base name, a reserved ending, or an unknown dunder."""
    base = name.base
    if base and not base.startswith("__") and not base.endswith(("_", "_out")) and FUNCTIONAL_SUFFIX not in base:
        return
    if not name.root:
        yield "the operator's name is empty but for its marks"
    if name.base.endswith("_out"):
        yield f'a name must not end in "_out": an out= variant is an overload, like {name.base[:-4] or "add"}.out'
    if name.is_dunder and name.base[2] == "i" and not name.is_inplace:
        yield f"{name.base} is no in-place dunder: only {', '.join(sorted(AUGMENTED_ASSIGNMENTS))} have one"
    if name.root.endswith(FUNCTIONAL_SUFFIX) and (name.is_dunder or name.is_inplace):
        yield f'"{FUNCTIONAL_SUFFIX}" ends the name of a functional variant, which is neither dunder nor in-place'


def inv_3(schema: FunctionSchema) -> Iterator[Violation]:
    """Yield violations of INV-3: the operator's name does not use reserved forms."""
    for message in name_faults(schema.name):
        yield Violation("INV-3", message, NAME)


def inv_4(schema: FunctionSchema) -> Iterator[Violation]:
    """Yield violations of INV-4: an overload named functional is functional."""
    if "functional" in schema.name.overload and schema.kind is not SchemaKind.functional:
        yield Violation("INV-4", f'an overload named "functional" writes to nothing, but this is {schema.kind}', NAME)


# ----------------------------------------------------------------------------------------- arguments and returns alone


def type_faults(type: Type) -> Iterator[str]:
    """Yield faults of a type (INV-5): list sizes below 1, and too deep nesting."""
    depth = 0
    while isinstance(type, (ListType, OptionalType)):
        depth += 1
        if isinstance(type, ListType) and type.size is not None and type.size < 1:
            yield f"a list of {type.size} elements holds nothing: write {type.element}[] or a size of at least 1"
        if depth > MOST_NESTING:
            yield f"a type is at most {MOST_NESTING} lists and question marks deep"
            return
        type = type.element


def inv_5(schema: FunctionSchema) -> Iterator[Violation]:
    """Yield violations of INV-5: types are well formed."""
    for kind, values in _parts(schema):
        for index, value in enumerate(values):
            if not isinstance(value.type, BaseType):
                for message in type_faults(value.type):
                    yield Violation("INV-5", message, Part(kind, index), "type")


def inv_6(schema: FunctionSchema) -> Iterator[Violation]:
    """Yield violations of INV-6: alias annotations belong to Tensors, and have one of the known forms."""
    for kind, values in _parts(schema):
        for index, value in enumerate(values):
            if value.alias is not None:
                for message in value_alias_faults(value):
                    yield Violation("INV-6", message, Part(kind, index), "type")


def value_alias_faults(value: Argument | Return) -> Iterator[str]:
    """Yield faults of one argument's or return's alias annotation (INV-6)."""
    if value.alias is None:
        return
    if value.type not in ALIASABLE:
        yield f"an alias annotation is only allowed on Tensor, Tensor? or Tensor[] (got {value.type})"
    message = alias_fault(value.alias)
    if message is not None:
        yield message


def default_faults(argument: Argument) -> Iterator[str]:
    """Yield a fault if the default of an argument is no value of its type."""
    default = argument.default
    if default is not None and not fits(default.value, argument.type):
        yield f"{default.text} is no value of {argument.type}, which takes {takes(argument.type)}"


def defaults_fit(schema: FunctionSchema) -> Iterator[Violation]:
    """Yield violations of the rule that defaults are values of their types."""
    for index, argument in enumerate(schema.arguments):
        for message in () if argument.default is None else default_faults(argument):
            yield Violation("default-type", message, argument_part(index), "default")


def names_are_identifiers(schema: FunctionSchema) -> Iterator[Violation]:
    """Yield violations of the rule that all names are identifiers, and the operator's name consists of words."""
    for text in filter(None, (schema.name.namespace, schema.name.base, schema.name.overload)):
        if not is_word(text):
            yield Violation("identifier", f"{text!r} is not made of letters, digits and underscores", NAME)
    for kind, values in _parts(schema):
        for index, value in enumerate(values):
            if value.name is not None and not (value.name.isascii() and value.name.isidentifier()):
                yield Violation("identifier", f"{value.name!r} is no identifier", Part(kind, index), "name")


def is_word(text: str) -> bool:
    """Return whether a text consists of ASCII letters, digits and underscores, at least one."""
    return text.isascii() and text.replace("_", "a").isalnum()


# ------------------------------------------------------------------------------------------------------- between parts


def inv_7(schema: FunctionSchema) -> Iterator[Violation]:
    """Yield violations of INV-7: keyword-only arguments that are written are the out arguments, and they come last."""
    first = len(schema.positional)
    for index, argument in enumerate(schema.keyword_only, first):
        if argument.is_written:
            message = f"{argument.name} is keyword-only and written, so it is an out argument and comes last"
            yield Violation("INV-7", message, argument_part(index))
    for index, argument in enumerate(schema.out, first + len(schema.keyword_only)):
        if not argument.is_written:
            message = f"{argument.name} is not written, so it cannot follow the out arguments: put it before them"
            yield Violation("INV-7", message, argument_part(index))


def inv_8_options(schema: FunctionSchema) -> Iterator[Violation]:
    """Yield violations of INV-8: only functional schemas have TensorOptions."""
    if len(schema.keyword_only) < 4 or not (schema.out or schema.name.is_inplace or schema.is_mutable):
        return
    options = schema.tensor_options
    if options and schema.kind is not SchemaKind.functional:
        part = argument_part(schema.arguments.index(options[0]))
        yield Violation("INV-8", f"TensorOptions say how to make a result; this schema is {schema.kind}", part)


def inv_8_before_self(schema: FunctionSchema) -> Iterator[Violation]:
    """Yield violations of INV-8: no argument before ``self`` is written."""
    if schema.self_argument is None:
        return
    for index, argument in enumerate(schema.positional):
        if argument.name == "self":
            return
        if argument.is_written:
            message = f"{argument.name} is before self and is written: put it after self"
            yield Violation("INV-8", message, argument_part(index))


def inv_9(schema: FunctionSchema) -> Iterator[Violation]:
    """Yield violations of INV-9: the i-th return is the i-th out argument."""
    for index, (out, value) in enumerate(zip(schema.out, schema.returns, strict=False)):
        if out.alias != value.alias:
            message = f"return {index} has to be the out argument {out.name}, with its annotation {out.alias}"
            yield Violation("INV-9", message, return_part(index))


def inv_10(schema: FunctionSchema) -> Iterator[Violation]:
    """Yield violations of INV-10: written positional arguments other than ``self`` are not returned."""
    for argument in schema.after_self:
        for index, value in enumerate(schema.returns):
            if argument.is_written and argument.alias == value.alias:
                message = (
                    f"{argument.name} is positional and written, so it is not returned. Leave it out of the returns, "
                    'make it keyword-only (then it is an out argument), or name it "self"'
                )
                yield Violation("INV-10", message, return_part(index))


def inv_11(schema: FunctionSchema) -> Iterator[Violation]:
    """Yield violations of INV-11: either all returns are written arguments, or none is."""
    written = [value.is_written for value in schema.returns]
    if any(written) and not all(written):
        message = "written and new values cannot be returned together: leave the written ones out"
        yield Violation("INV-11", message, return_part(written.index(True)))


def inv_12(schema: FunctionSchema) -> Iterator[Violation]:
    """Yield violations of INV-12: a written return is an out argument or ``self``."""
    own = schema.self_argument
    aliases = [out.alias for out in schema.out] + ([] if own is None else [own.alias])
    for index, value in enumerate(schema.returns):
        if value.is_written and value.alias not in aliases:
            message = f"no out argument and no self is annotated {value.alias}. Is an out argument not keyword-only?"
            yield Violation("INV-12", message, return_part(index))


def inv_13(schema: FunctionSchema) -> Iterator[Violation]:
    """Yield violations of INV-13: an operator returns its out arguments if all of them are plain Tensors, except for
    scratch tensors; an operator with any other out argument (such as a list of tensors) returns nothing.
    """
    if not schema.out:
        return
    part = return_part(0) if schema.returns else NAME
    if any(out.type is not BaseType.Tensor for out in schema.out):
        if schema.returns:
            message = "an operator with an out argument that is no plain Tensor returns nothing: write -> ()"
            yield Violation("INV-13", message, part)
        return
    expected = sum(not out.name.startswith(SCRATCH_PREFIX) for out in schema.out)
    if expected != len(schema.returns):
        message = f"all {expected} out arguments have to be returned (got {len(schema.returns)} returns)"
        yield Violation("INV-13", message, part)


def inv_14(schema: FunctionSchema) -> Iterator[Violation]:
    """Yield violations of INV-14: an in-place operator writes ``self``, and returns it if it is a Tensor."""
    if not schema.name.is_inplace:
        return
    own = schema.self_argument
    if own is None or not own.is_written:
        yield Violation("INV-14", f"{schema.name.base} is an in-place name, so self has to be written: (a!)", NAME)
    elif own.type is BaseType.Tensor:
        if [value.alias for value in schema.returns] != [own.alias]:
            message = f"an in-place operator returns self and nothing else: -> Tensor({own.alias})"
            yield Violation("INV-14", message, NAME)
    elif schema.returns:
        message = f"an in-place operator whose self is {own.type} returns nothing: -> ()"
        yield Violation("INV-14", message, return_part(0))


def inv_15(schema: FunctionSchema) -> Iterator[Violation]:
    """Yield violations of INV-15: no operator is both in-place and out=."""
    if schema.out and schema.name.is_inplace:
        message = f"{schema.name.base} is an in-place name, so it has no out argument"
        yield Violation("INV-15", message, argument_part(len(schema.arguments) - len(schema.out)))


def inv_16(schema: FunctionSchema) -> Iterator[Violation]:
    """Yield violations of INV-16: a return corresponds to at most one argument."""
    aliases = [argument.alias for argument in schema.arguments]
    for index, value in enumerate(schema.returns):
        if value.alias is not None and aliases.count(value.alias) > 1:
            names = " and ".join(argument.name for argument in schema.arguments if argument.alias == value.alias)
            yield Violation("INV-16", f"this return would be both {names}", return_part(index))


# ------------------------------------------------------------------------------- rules that torchgen does not check


def names_are_unique(schema: FunctionSchema) -> Iterator[Violation]:
    """Yield violations of the rule that no two arguments and no two returns have the same name."""
    arguments = [argument.name for argument in schema.arguments]
    if len(set(arguments)) < len(arguments):
        for index, name in enumerate(arguments):
            if arguments.index(name) < index:
                message = f"two arguments are named {name}"
                yield Violation("duplicate-name", message, argument_part(index), "name")
    if len(schema.returns) > 1:
        returns = [value.name for value in schema.returns]
        for index, other in enumerate(returns):
            if other is not None and other in returns[:index]:
                yield Violation("duplicate-name", f"two returns are named {other}", return_part(index), "name")


def defaults_come_last(schema: FunctionSchema) -> Iterator[Violation]:
    """Yield violations of the rule that all positional arguments after one with a default have a default."""
    defaulted = None
    for index, argument in enumerate(schema.positional):
        if argument.default is not None:
            defaulted = argument
        elif defaulted is not None:
            message = f"{argument.name} has no default but follows {defaulted.name}, which has one"
            yield Violation("default-order", message, argument_part(index))


def out_has_no_default(schema: FunctionSchema) -> Iterator[Violation]:
    """Yield violations of the rule that out arguments have no default."""
    first = len(schema.positional) + len(schema.keyword_only)
    for index, out in enumerate(schema.out, first):
        if out.default is not None:
            message = f"the out argument {out.name} cannot have a default"
            yield Violation("out-default", message, argument_part(index), "default")


def returns_alias_arguments(schema: FunctionSchema) -> Iterator[Violation]:
    """Yield violations of the rule that every alias set of a return is that of an argument."""
    known = {
        alias_set
        for argument in schema.arguments
        if argument.alias is not None
        for alias_set in argument.alias.before + argument.alias.after
    }
    for index, value in enumerate(schema.returns):
        unbound = (
            [] if value.alias is None else [alias_set for alias_set in value.alias.before if alias_set not in known]
        )
        if unbound:
            message = f"no argument belongs to the alias set {', '.join(unbound)}"
            yield Violation("unbound-alias", message, return_part(index))


def written_sets_are_apart(schema: FunctionSchema) -> Iterator[Violation]:
    """Yield violations of the rule that no alias set is written by two arguments."""
    owners: dict[str, Argument] = {}
    for index, argument in enumerate(schema.arguments):
        for alias_set in argument.alias.before if argument.alias is not None and argument.alias.write else ():
            if alias_set in owners:
                names = f"{owners[alias_set].name} and {argument.name}"
                message = f"{names} both write the alias set {alias_set}: give each its own"
                yield Violation("written-twice", message, argument_part(index), "type")
            owners.setdefault(alias_set, argument)


def _parts(schema: FunctionSchema) -> tuple[tuple[str, Sequence[Argument | Return]], ...]:
    """Return the arguments and the returns of a schema, each with the name of their kind of ``Part``."""
    return ("argument", schema.arguments), ("return", schema.returns)


RULES_OF_PARTS: tuple[Rule, ...] = (inv_5, inv_6, defaults_fit, names_are_identifiers)
RULES_WITHOUT_ALIAS: tuple[Rule, ...] = (inv_3, names_are_unique, defaults_come_last)
RULES: tuple[Rule, ...] = (
    inv_3,
    inv_4,
    inv_7,
    inv_8_options,
    inv_8_before_self,
    inv_9,
    inv_10,
    inv_11,
    inv_12,
    inv_13,
    inv_14,
    inv_15,
    inv_16,
    names_are_unique,
    defaults_come_last,
    out_has_no_default,
    returns_alias_arguments,
    written_sets_are_apart,
)
