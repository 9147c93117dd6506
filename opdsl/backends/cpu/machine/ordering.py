"""Kernels for ``sort``, ``topk`` and ``kthvalue`` of rows of integer keys, which write positions.

Which of several equal keys comes first depends on the algorithm, so those of PyTorch's kernels are followed step by
step: ``topk`` uses ``std::partial_sort``, or ``std::nth_element`` and ``std::sort``, all of libstdc++
(bits/stl_algo.h, bits/stl_heap.h); ``kthvalue`` uses the quick select of ATen/native/Sorting.cpp. ``sort`` uses
``std::sort`` unless it has to be stable. Rows are sorted by a radix sort here, which is stable and several times as
fast; ``std::sort`` is repeated only if that makes a difference: if a row that is not long has equal elements.
"""

from __future__ import annotations

from typing import cast

from opdsl.backends.cpu.machine.author import array_at
from opdsl.backends.cpu.machine.language import Address, Int32, Pointer, Words, copy_bytes, exported, internal, local
from opdsl.backends.cpu.machine.objects import memory
from opdsl.backends.cpu.machine.room import room
from opdsl.backends.cpu.machine.selection import (
    FEW,
    first_distinct,
    number,
    quick_select,
    select_from,
    select_nth,
    sort,
    sort_by_insertion,
    sort_heap,
)

LONG = 32768
"""Row length from which on equal keys stay in order, as in PyTorch's sort of integers."""

_SHORT = 48
"""Longest row that is sorted by insertion rather than by digits."""

_WORD = 8
_MOST_DIGITS = 2048
_LOWER = 0xFFFFFFFF
_SHARED = 4
"""Limit for radix sort by the upper halves of keys: it is given up if more than one in ``_SHARED`` adjacent pairs
shares its upper half.
"""

_MOVES = 4
"""Limit of moves for each element; insertion sort is given up beyond it."""


# --------------------------------------------------------------------------------------------------- sorting by digits


@internal()
def count_digits(words: Words, length: int, shift: int, bits: int, starts: Words) -> int:
    """Write the start index of each digit's words after a sort, and return the count of the most frequent digit."""
    digits = 1 << bits
    for i in range(digits + 1):
        starts[i] = 0
    for i in range(length):
        digit = ((words[i] >> shift) & (digits - 1)) + 1
        starts[digit] = starts[digit] + 1
    most = 0
    for i in range(digits):
        most = max(most, starts[i + 1])
        starts[i + 1] = starts[i + 1] + starts[i]
    return most


@internal()
def order_words(words: Words, other: Words, length: int, width: int, bits: int, starts: Words) -> Words:
    """Radix sort words by bits of their upper half, and return which of the two buffers has the result."""
    source = words
    target = other
    for shift in range(32, 32 + width, bits):
        count_digits(source, length, shift, bits, starts)
        for i in range(length):
            digit = (source[i] >> shift) & ((1 << bits) - 1)
            to = starts[digit]
            target[to] = source[i]
            starts[digit] = to + 1
        swapped = source
        source = target
        target = swapped
    return source


@internal()
def order_pairs(block: Words, places: Words, length: int, width: int, bits: int, starts: Words) -> None:
    """Radix sort ranks together with their positions by the lowest ``width`` bits.

    block: the ranks, then memory for as many, and for twice as many positions.
    """
    ranks = block
    other_ranks = block + length
    mine = block + 2 * length
    other = block + 3 * length
    number(mine, length)
    for shift in range(0, width, bits):
        if count_digits(ranks, length, shift, bits, starts) == length:
            continue
        for i in range(length):
            digit = (ranks[i] >> shift) & ((1 << bits) - 1)
            to = starts[digit]
            other_ranks[to] = ranks[i]
            other[to] = mine[i]
            starts[digit] = to + 1
        swapped = ranks
        ranks = other_ranks
        other_ranks = swapped
        swapped = mine
        mine = other
        other = swapped
    copy_bytes(places, mine, length * _WORD)


@internal()
def order_by_upper_half(
    keys: Words, length: int, low: int, width: int, bits: int, block: Words, starts: Words, places: Words
) -> bool:
    """Sort keys by their upper 32 bits, then keys that share these by insertion; return false if that is slow."""
    shift = width - 32
    shared = 0
    for i in range(1, length):
        if (keys[i] - low) >> shift == (keys[i - 1] - low) >> shift and keys[i] != keys[i - 1]:
            shared += 1
    if shared * _SHARED > length:
        return False
    for i in range(length):
        block[i] = (((keys[i] - low) >> shift) << 32) | i
    words = order_words(block, block + length, length, 32, bits, starts)
    moves = 0
    for i in range(length):
        place = words[i] & _LOWER
        at = i
        if i > 0 and words[i] >> 32 == words[i - 1] >> 32:
            while at > 0 and keys[place] < keys[places[at - 1]]:
                places[at] = places[at - 1]
                at -= 1
                moves += 1
                if moves > _MOVES * length:
                    return False
        places[at] = place
    return True


@internal()
def order_by_digits(keys: Words, length: int, block: Words, places: Words) -> None:
    """Write the positions of a row's keys in sorted order by a stable radix sort.

    block: memory for four times as many words.
    """
    low = keys[0]
    high = keys[0]
    for i in range(1, length):
        low = min(low, keys[i])
        high = max(high, keys[i])
    span = high - low  # an unsigned difference, which may wrap
    width = 0
    while width < 64 and (span < 0 or span >> width > 0):
        width += 1
    bits = 8 if length < 16384 else 11
    starts = local(int, _MOST_DIGITS + 1)
    # Keys of at most 32 bits are sorted together with their positions, both in one word.
    if width <= 32 and length <= _LOWER:
        for i in range(length):
            block[i] = ((keys[i] - low) << 32) | i
        words = order_words(block, block + length, length, width, bits, starts)
        for i in range(length):
            places[i] = words[i] & _LOWER
    elif length > _LOWER or not order_by_upper_half(keys, length, low, width, bits, block, starts, places):
        for i in range(length):
            block[i] = keys[i] - low
        order_pairs(block, places, length, width, bits, starts)


@internal()
def order_stably(keys: Words, length: int, block: Words, places: Words) -> None:
    """Write the positions of a row's keys in sorted order by a stable sort, by insertion if the row is short."""
    if length <= _SHORT:
        copy_bytes(block, keys, length * _WORD)
        number(places, length)
        sort_by_insertion(block, places, 0, length)
    else:
        order_by_digits(keys, length, block, places)


@internal()
def has_equal(keys: Words, places: Words, length: int) -> bool:
    """Return whether the row has equal keys, given the positions in sorted order."""
    i = 1
    while i < length and keys[places[i]] != keys[places[i - 1]]:
        i += 1
    return i < length


# -------------------------------------------------------------------------------------------------------------- kernels


@exported
def stable_places(result: Words, error: Pointer[Address], frame: Words) -> Int32:
    """Write the positions of each row's keys in sorted order, stably; the arguments are keys and positions."""
    shape = array_at(frame, 0).shape
    length = shape[1]
    block = cast(Words, room(4 * length * _WORD))
    for row in range(shape[0]):
        keys = cast(Words, array_at(frame, 0).data) + row * length
        order_stably(keys, length, block, cast(Words, array_at(frame, 1).data) + row * length)
    memory.free(cast(Address, block))
    return 0


@exported
def sorted_places(result: Words, error: Pointer[Address], frame: Words) -> Int32:
    """Write the positions of each row's keys as PyTorch's ``sort`` orders them; arguments: keys, positions."""
    shape = array_at(frame, 0).shape
    length = shape[1]
    block = cast(Words, room(4 * length * _WORD))
    for row in range(shape[0]):
        keys = cast(Words, array_at(frame, 0).data) + row * length
        places = cast(Words, array_at(frame, 1).data) + row * length
        order_stably(keys, length, block, places)
        if length > FEW and length < LONG and has_equal(keys, places, length):
            copy_bytes(block, keys, length * _WORD)
            number(places, length)
            sort(block, places, 0, length)
    memory.free(cast(Address, block))
    return 0


@exported
def first_places(result: Words, error: Pointer[Address], frame: Words) -> Int32:
    """Write the positions of each row's smallest keys; the arguments are keys, their number, whether to sort them, and
    positions.
    """
    shape = array_at(frame, 0).shape
    length = shape[1]
    count = frame[2]
    is_ordered = (frame[4] & 1) == 1
    is_few = count * 64 <= length
    kept = count if is_few else length
    ranks = cast(Words, room(2 * kept * _WORD))
    places = ranks + kept
    are_distinct = count <= FEW and (is_ordered or is_few)  # until a row shows otherwise
    for row in range(shape[0]):
        keys = cast(Words, array_at(frame, 0).data) + row * length
        if are_distinct:
            are_distinct = first_distinct(keys, length, ranks, places, count)
        if not are_distinct:
            if is_few:
                select_from(keys, length, ranks, places, count)
                sort_heap(ranks, places, 0, count)
            else:
                copy_bytes(ranks, keys, length * _WORD)
                number(places, length)
                select_nth(ranks, places, 0, count - 1, length)
                if is_ordered:
                    sort(ranks, places, 0, count - 1)
        copy_bytes(cast(Words, array_at(frame, 3).data) + row * count, places, count * _WORD)
    memory.free(cast(Address, ranks))
    return 0


@exported
def nth_place(result: Words, error: Pointer[Address], frame: Words) -> Int32:
    """Write the position of each row's n-th smallest key as ``kthvalue`` finds it; the arguments are keys, n from 0,
    and positions.
    """
    shape = array_at(frame, 0).shape
    length = shape[1]
    ranks = cast(Words, room(2 * length * _WORD))
    places = ranks + length
    for row in range(shape[0]):
        copy_bytes(ranks, cast(Words, array_at(frame, 0).data) + row * length, length * _WORD)
        number(places, length)
        quick_select(ranks, places, length, frame[2])
        cast(Words, array_at(frame, 2).data)[row] = places[frame[2]]
    memory.free(cast(Address, ranks))
    return 0
