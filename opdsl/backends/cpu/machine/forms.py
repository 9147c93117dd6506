"""Calls of plans whose sizes come with them."""

from __future__ import annotations

from typing import cast

from opdsl.backends.cpu.machine.call import Plan, call_plan, take_integers, wrong_count
from opdsl.backends.cpu.machine.language import Pointer, Records, Struct, Words, copy_bytes, exported, local
from opdsl.backends.cpu.machine.objects import Array, Object


class Patch(Struct):
    """Change of a plan's word.

    where: index of the word.
    which: of the integer that it gets, or of the word whose address it gets.
    """

    where: int
    which: int


class Form(Struct):
    """A plan whose sizes come with the call.

    count, words: of the plan.
    values: how many integers come with a call.
    patches, patch_list: where they go.
    pointers, pointer_list: words that are addresses of others.
    """

    count: int
    words: Words
    values: int
    patches: int
    patch_list: Records[Patch]
    pointers: int
    pointer_list: Records[Patch]


@exported
def form_call(plan: Array, arguments: Pointer[Object], count: int) -> Object | None:
    """Run a plan whose sizes come with the call: its first arguments are integers, put into a copy of its words."""
    form = cast(Form, plan.data)
    if count < form.values:
        return wrong_count()
    words = local(int, form.count)
    numbers = local(int, form.values)
    copy_bytes(words, form.words, form.count * 8)
    if not take_integers(arguments, numbers, form.values):
        return None
    for i in range(form.patches):
        patch = form.patch_list[i]
        words[patch.where] = numbers[patch.which]
    for i in range(form.pointers):
        pointer = form.pointer_list[i]
        cast(Pointer[Words], words)[pointer.where] = words + pointer.which
    return call_plan(cast(Plan, words), arguments + form.values, count - form.values)
