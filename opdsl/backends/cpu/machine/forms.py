"""Entry of plans with symbolic sizes, whose values are arguments of each call."""

from __future__ import annotations

from typing import cast

from opdsl.backends.cpu.machine.call import Plan, call_plan, take_integers, wrong_count
from opdsl.backends.cpu.machine.language import Pointer, Records, Struct, Words, copy_bytes, exported, internal, local
from opdsl.backends.cpu.machine.objects import Array, Object


class Patch(Struct):
    """Change of a word in a copy of a plan.

    where: index of the word.
    which: index of the integer that it is set to, or of the word whose address it is set to.
    """

    where: int
    which: int


class Form(Struct):
    """Template of a plan, whose sizes are arguments of the call.

    count, words: of the plan.
    values: the number of integer arguments with sizes.
    patches, patch_list: the words that they replace.
    pointers, pointer_list: the words that are addresses of other words.
    """

    count: int
    words: Words
    values: int
    patches: int
    patch_list: Records[Patch]
    pointers: int
    pointer_list: Records[Patch]


@internal("alwaysinline")
def filled(form: Form, words: Words, numbers: Words) -> None:
    """Write the plan of a template to memory, with the given sizes."""
    copy_bytes(words, form.words, form.count * 8)
    for i in range(form.patches):
        patch = form.patch_list[i]
        words[patch.where] = numbers[patch.which]
    for i in range(form.pointers):
        pointer = form.pointer_list[i]
        cast(Pointer[Words], words)[pointer.where] = words + pointer.which


@exported
def form_call(plan: Array, arguments: Pointer[Object], count: int) -> Object | None:
    """Run a plan whose first arguments are sizes, which are written to a copy of its words."""
    form = cast(Form, plan.data)
    if count < form.values:
        return wrong_count()
    words = local(int, form.count)
    numbers = local(int, form.values)
    if not take_integers(arguments, numbers, form.values):
        return None
    filled(form, words, numbers)
    return call_plan(cast(Plan, words), arguments + form.values, count - form.values)
