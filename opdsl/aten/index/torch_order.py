"""The order of a row, or its first elements: the algorithms of PyTorch's kernels.

Among equal elements it is these algorithms that decide which ones come first, so they are followed step by step:
``topk`` takes ``std::partial_sort``, or ``std::nth_element`` and ``std::sort``, all of libstdc++ (bits/stl_algo.h,
bits/stl_heap.h); ``kthvalue`` takes the quick select of ATen/native/Sorting.cpp. ``sort`` takes ``std::sort`` unless it
has to be stable; rows are sorted by their digits here, which is several times as fast and stable, and by its steps only
where it makes a difference: where elements of a row that is not long are equal.

Elements are given as keys, integers in the order that is wanted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from opdsl.declare import Library
from opdsl.kernels import check, copy_
from opdsl.kernels.primitives.ordering import key_loop
from opdsl.runtime import Array, Tensor, TensorMeta, contiguous_strides, int64

lib = Library("opdsl")

_FEW = 16
"""``std::sort`` leaves ranges of so many elements to insertion."""

_SHORT = 48
"""Rows of so many elements are sorted by insertion rather than by digits."""

LONG = 32768
"""From so many elements on equal ones stay in order, as those of PyTorch's integers do."""


def swap(keys: Array, places: Array, i: int, j: int) -> None:
    keys[i], keys[j] = keys[j], keys[i]
    places[i], places[j] = places[j], places[i]


def fill(array: Array, values: Array) -> None:
    """Copy element by element: numba takes two seconds over ``array[:] = values``, which may not fit."""
    for i in range(len(values)):
        array[i] = values[i]


def move(keys: Array, places: Array, to: int, source: int) -> None:
    keys[to] = keys[source]
    places[to] = places[source]


# ---------------------------------------------------------------------------------------------------------------- heaps


def sift(keys: Array, places: Array, first: int, hole: int, length: int, key: int, place: int) -> None:
    """``std::__adjust_heap``: put an element into the heap at a hole, from above."""
    top = hole
    child = hole
    while child < (length - 1) // 2:
        child = 2 * (child + 1)
        if keys[first + child] < keys[first + child - 1]:
            child -= 1
        move(keys, places, first + hole, first + child)
        hole = child
    if length % 2 == 0 and child == (length - 2) // 2:
        child = 2 * (child + 1)
        move(keys, places, first + hole, first + child - 1)
        hole = child - 1
    parent = (hole - 1) // 2
    while hole > top and keys[first + parent] < key:
        move(keys, places, first + hole, first + parent)
        hole = parent
        parent = (hole - 1) // 2
    keys[first + hole] = key
    places[first + hole] = place


def pop(keys: Array, places: Array, first: int, last: int, result: int) -> None:
    """``std::__pop_heap``: the largest element to ``result``, and what was there into the heap."""
    key, place = keys[result], places[result]
    move(keys, places, result, first)
    sift(keys, places, first, 0, last - first, key, place)


def select_from(keys: Array, ranks: Array, places: Array) -> None:
    """``std::__heap_select`` of a row, which is left as it is: ``ranks`` and ``places`` get the smallest as a heap."""
    count = len(ranks)
    for i in range(count):
        ranks[i] = keys[i]
        places[i] = i
    select_by_heap(ranks, places, 0, count, count)
    for i in range(count, len(keys)):
        if keys[i] < ranks[0]:
            sift(ranks, places, 0, 0, count, keys[i], i)


def select_by_heap(keys: Array, places: Array, first: int, middle: int, last: int) -> None:
    """``std::__heap_select``: the smallest elements before ``middle``, as a heap."""
    length = middle - first
    if length >= 2:
        for parent in range((length - 2) // 2, -1, -1):
            sift(keys, places, first, parent, length, keys[first + parent], places[first + parent])
    for i in range(middle, last):
        if keys[i] < keys[first]:
            pop(keys, places, first, middle, i)


def sort_heap(keys: Array, places: Array, first: int, last: int) -> None:
    while last - first > 1:
        last -= 1
        pop(keys, places, first, last, last)


def first_distinct(keys: Array, ranks: Array, places: Array, count: int) -> bool:
    """The smallest keys of a row in order, and whether all algorithms find the same: none of them is there again."""
    last = count - 1
    for i in range(count):
        ranks[i] = keys[i]
        places[i] = i
        insert(ranks, places, 0, i)
    worst, is_there_again = ranks[last], False
    for i in range(count, len(keys)):
        key = keys[i]
        if key < worst:
            ranks[last] = key
            places[last] = i
            insert(ranks, places, 0, last)
            is_there_again = worst == ranks[last]
            worst = ranks[last]
        elif key == worst:
            is_there_again = True
    for i in range(1, count):
        is_there_again |= ranks[i] == ranks[i - 1]
    return not is_there_again


# ------------------------------------------------------------------------------------------------ sorting a partition


def insert(keys: Array, places: Array, first: int, i: int) -> None:
    """Move an element back to where it belongs, among elements that are sorted."""
    key, place = keys[i], places[i]
    j = i
    while j > first and key < keys[j - 1]:
        move(keys, places, j, j - 1)
        j -= 1
    keys[j] = key
    places[j] = place


def sort_by_insertion(keys: Array, places: Array, first: int, last: int) -> None:
    for i in range(first + 1, last):
        insert(keys, places, first, i)


def part(keys: Array, places: Array, first: int, last: int) -> int:
    """``std::__unguarded_partition_pivot``: around the median of three; where the upper part begins."""
    a, b, c = first + 1, first + (last - first) // 2, last - 1
    if keys[a] < keys[b]:
        median = b if keys[b] < keys[c] else (c if keys[a] < keys[c] else a)
    else:
        median = a if keys[a] < keys[c] else (c if keys[b] < keys[c] else b)
    swap(keys, places, first, median)
    low, high = first + 1, last
    while True:
        while keys[low] < keys[first]:
            low += 1
        high -= 1
        while keys[first] < keys[high]:
            high -= 1
        if low >= high:
            return low
        swap(keys, places, low, high)
        low += 1


def twice_log2(count: int) -> int:
    depth = 0
    while count > 1:
        count //= 2
        depth += 2
    return depth


def sort(keys: Array, places: Array, first: int, last: int) -> None:
    """``std::sort``: parts until they are small, then insertion over all."""
    if last - first <= _FEW:
        sort_by_insertion(keys, places, first, last)
        return
    depth = twice_log2(last - first)
    parts = numpy.empty((depth + 1, 3), numpy.int64)  # of each that waits: its start, its end, how deep it may go
    parts[0, 0], parts[0, 1], parts[0, 2] = first, last, depth
    count = 1
    while count > 0:
        count -= 1
        begin, end, depth = parts[count, 0], parts[count, 1], parts[count, 2]
        while end - begin > _FEW:
            if depth == 0:
                select_by_heap(keys, places, begin, end, end)
                sort_heap(keys, places, begin, end)
                break
            depth -= 1
            cut = part(keys, places, begin, end)
            parts[count, 0], parts[count, 1], parts[count, 2] = cut, end, depth
            count += 1
            end = cut
    sort_by_insertion(keys, places, first, last)


def select_nth(keys: Array, places: Array, first: int, nth: int, last: int) -> None:
    """``std::nth_element``."""
    if first == last or nth == last:
        return
    depth = twice_log2(last - first)
    while last - first > 3:
        if depth == 0:
            select_by_heap(keys, places, first, nth + 1, last)
            swap(keys, places, first, nth)
            return
        depth -= 1
        cut = part(keys, places, first, last)
        if cut <= nth:
            first = cut
        else:
            last = cut
    sort_by_insertion(keys, places, first, last)


# --------------------------------------------------------------------------------------------------- sorting by digits


def order_by_digits(keys: Array, places: Array) -> None:
    """Where the keys of a row stand, from the smallest to the largest, equal ones as they stand."""
    length = len(keys)
    low, high = keys[0], keys[0]
    for i in range(1, length):
        low, high = min(low, keys[i]), max(high, keys[i])
    width = 0
    span = high - low  # as of unsigned integers: it wraps
    while width < 64 and (span < 0 or span >> width > 0):
        width += 1
    bits = 8 if length < 16384 else 11
    # Key and place in one word, where there is room; arithmetic shifts leave the order of digits as it is.
    if width <= 32 and length < 2147483648:
        words = numpy.empty(length, numpy.int64)
        for i in range(length):
            words[i] = ((keys[i] - low) << 32) | i
        words = order_words(words, 32, 32 + width, bits)
        for i in range(length):
            places[i] = words[i] & 4294967295
    else:
        ranks = numpy.empty(length, numpy.int64)
        for i in range(length):
            ranks[i] = keys[i] - low
            places[i] = i
        order_pairs(ranks, places, width, bits)


def order_words(words: Array, begin: int, end: int, bits: int) -> Array:
    """Words sorted by the bits from ``begin`` on, which are all 0 from ``end`` on."""
    other = numpy.empty_like(words)
    mask = (1 << bits) - 1
    starts = numpy.empty((1 << bits) + 1, numpy.int64)
    for shift in range(begin, end, bits):
        count_digits(words, shift, mask, starts)
        for i in range(len(words)):
            digit = (words[i] >> shift) & mask
            other[starts[digit]] = words[i]
            starts[digit] += 1
        words, other = other, words
    return words


def order_pairs(ranks: Array, places: Array, end: int, bits: int) -> None:
    """Ranks and their places sorted by the ranks, which are all 0 from the bit ``end`` on."""
    length = len(ranks)
    other_ranks, other_places = numpy.empty_like(ranks), numpy.empty(length, numpy.int64)
    mine = numpy.empty(length, numpy.int64)
    fill(mine, places)
    mask = (1 << bits) - 1
    starts = numpy.empty((1 << bits) + 1, numpy.int64)
    for shift in range(0, end, bits):
        if count_digits(ranks, shift, mask, starts) == length:
            continue
        for i in range(length):
            digit = (ranks[i] >> shift) & mask
            to = starts[digit]
            other_ranks[to] = ranks[i]
            other_places[to] = mine[i]
            starts[digit] = to + 1
        ranks, other_ranks = other_ranks, ranks
        mine, other_places = other_places, mine
    fill(places, mine)


def count_digits(words: Array, shift: int, mask: int, starts: Array) -> int:
    """Write where the words of each digit begin when sorted by it; return how often the most frequent occurs."""
    starts[:] = 0
    for i in range(len(words)):
        starts[((words[i] >> shift) & mask) + 1] += 1
    most = 0
    for i in range(len(starts) - 1):
        most = max(most, starts[i + 1])
        starts[i + 1] += starts[i]
    return most


def order_stably(keys: Array, places: Array) -> None:
    """Where the keys of a row stand, equal ones as they stand."""
    if len(keys) <= _SHORT:
        ranks = keys.copy()
        for i in range(len(keys)):
            places[i] = i
        sort_by_insertion(ranks, places, 0, len(keys))
    else:
        order_by_digits(keys, places)


def has_equal(keys: Array, places: Array) -> bool:
    """Return whether two neighbours in the order are equal."""
    i = 1
    while i < len(keys) and keys[places[i]] != keys[places[i - 1]]:
        i += 1
    return i < len(keys)


# ---------------------------------------------------------------------------------------------------- rows of a matrix


@lib.op(variants="function", out=True)
def order_keys(self: Tensor, dim: int, descending: bool) -> Tensor:
    """Integers in the order of the elements, NaN last, the two zeros equal: those along a dimension as a row.

    self: real, of at least one dimension. descending: whether they are in the opposite order.
    Returns: int64 (rows, length).
    """
    ...


@order_keys.meta
def order_keys_meta(ctx, self, dim):
    check(-self.ndim <= dim < self.ndim, "expected one of the dimensions", got=dim)
    length = self.shape[dim]
    dim %= self.ndim
    ctx.set_output(0, (math.prod(self.shape[:dim]) * math.prod(self.shape[dim + 1 :]), length), like=self, dtype=int64)


def keys_loop(self: Tensor, dim: int, descending: bool, out: TensorMeta) -> Callable[[Any, Any], object]:
    """What writes the keys of a tensor's array into that of ``out``."""
    dim %= self.ndim
    order = (*(each for each in range(self.ndim) if each != dim), dim)
    shape, strides = (tuple(sizes[each] for each in order) for sizes in (self.shape, self.strides))
    form = out.replace(shape=shape, strides=contiguous_strides(shape))
    return key_loop(self.geometry.replace(shape=shape, strides=strides), form, descending)


@order_keys.out_kernel("CPU", compiled=False)
def order_keys_cpu(self, dim, descending, out):
    if out.numel():
        target = out if out.is_contiguous() else out.new_empty(out.shape)
        keys_loop(self, dim, descending, target.geometry)(self.array, target.array)
        if target is not out:
            copy_(out, target)


def check_keys(keys: Tensor) -> None:
    """Refuse what are no rows of keys; kernels trust them."""
    check(keys.dtype is int64 and keys.ndim == 2, "expected int64 rows", got=(keys.dtype, keys.shape))


@lib.op(variants="function", out=True)
def first_places(keys: Tensor, count: int, ordered: bool) -> Tensor:
    """Return where the smallest keys of each row stand, as ``topk`` of PyTorch finds them.

    keys: int64 (rows, length). count: how many. ordered: whether the smallest comes first.
    Returns: int64 (rows, count).
    """
    ...


@first_places.meta
def first_places_meta(ctx, keys, count):
    check_keys(keys)
    check(0 <= count <= keys.shape[1], "expected a count of at most the row's length", got=count, row=keys.shape[1])
    ctx.set_output(0, (keys.shape[0], count), like=keys, dtype=int64)


@first_places.out_kernel("CPU")
def first_places_cpu(keys, count, ordered, out):
    length = keys.shape[1]
    is_few = count * 64 <= length
    kept = count if is_few else length
    ranks, places = numpy.empty(kept, numpy.int64), numpy.empty(kept, numpy.int64)
    are_distinct = count <= _FEW and (ordered or is_few)  # as long as no row has shown otherwise
    for row in range(keys.shape[0] if count else 0):
        if are_distinct:
            are_distinct = first_distinct(keys[row], ranks, places, count)
        if are_distinct:
            pass
        elif is_few:
            select_from(keys[row], ranks, places)
            sort_heap(ranks, places, 0, count)
        else:
            for i in range(length):
                ranks[i], places[i] = keys[row, i], i
            select_nth(ranks, places, 0, count - 1, length)
            if ordered:
                sort(ranks, places, 0, count - 1)
        for i in range(count):
            out[row, i] = places[i]


@lib.op(variants="function", out=True)
def sorted_places(keys: Tensor) -> Tensor:
    """Return where the keys of each row stand, from the smallest to the largest, as ``sort`` of PyTorch finds them.

    Equal keys of long rows stay in order.

    keys: int64 (rows, length).
    Returns: int64 (rows, length).
    """
    ...


@sorted_places.meta
def sorted_places_meta(ctx, keys):
    check_keys(keys)
    ctx.set_output(0, keys.shape, like=keys, dtype=int64)


@sorted_places.out_kernel("CPU")
def sorted_places_cpu(keys, out):
    for row in range(keys.shape[0]):
        places = out[row]
        order_stably(keys[row], places)
        if _FEW < keys.shape[1] < LONG and has_equal(keys[row], places):
            ranks = keys[row].copy()
            for i in range(len(ranks)):
                places[i] = i
            sort(ranks, places, 0, len(ranks))


@lib.op(variants="function", out=True)
def stable_places(keys: Tensor) -> Tensor:
    """Return where the keys of each row stand, from the smallest to the largest, equal ones as they stand.

    keys: int64 (rows, length).
    Returns: int64 (rows, length).
    """
    ...


stable_places.meta(sorted_places_meta)


@stable_places.out_kernel("CPU")
def stable_places_cpu(keys, out):
    for row in range(keys.shape[0]):
        order_stably(keys[row], out[row])


@lib.op(variants="function", out=True)
def nth_place(keys: Tensor, nth: int) -> Tensor:
    """Return where the key at ``nth``, counted from 0, of each row's sorted ones stands, as ``kthvalue`` finds it.

    keys: int64 (rows, length).
    Returns: int64 (rows, 1).
    """
    ...


@nth_place.meta
def nth_place_meta(ctx, keys, nth):
    check_keys(keys)
    check(0 <= nth < keys.shape[1], "expected a place within the row's length", got=nth, row=keys.shape[1])
    ctx.set_output(0, (keys.shape[0], 1), like=keys, dtype=int64)


@nth_place.out_kernel("CPU")
def nth_place_cpu(keys, nth, out):
    ranks, places = numpy.empty(keys.shape[1], numpy.int64), numpy.empty(keys.shape[1], numpy.int64)
    for row in range(keys.shape[0]):
        for i in range(len(ranks)):
            ranks[i], places[i] = keys[row, i], i
        quick_select(ranks, places, nth)
        out[row, 0] = places[nth]


def quick_select(keys: Array, places: Array, nth: int) -> None:
    left, right = 0, len(keys) - 1
    while right > left + 1:
        median_to(keys, places, left, right)
        low, high, pivot = left + 1, right, keys[left]
        while True:
            low += 1
            while pivot > keys[low]:
                low += 1
            high -= 1
            while keys[high] > pivot:
                high -= 1
            if high < low:
                break
            swap(keys, places, low, high)
        swap(keys, places, left, high)
        if high <= nth:
            left = low
        if high >= nth:
            right = high - 1
    if right == left + 1 and keys[left] > keys[right]:
        swap(keys, places, left, right)


def median_to(keys: Array, places: Array, left: int, right: int) -> None:
    """The median of the first, the middle and the last key to ``left``."""
    swap(keys, places, left + (right - left) // 2, left + 1)
    for one, other in ((left + 1, right), (left, right), (left + 1, left)):
        if keys[one] > keys[other]:
            swap(keys, places, one, other)
