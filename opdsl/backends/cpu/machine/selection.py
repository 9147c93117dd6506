"""Sorting and selection algorithms of libstdc++ and PyTorch for rows of keys, on which ``ordering`` is built.

Keys and their positions are moved together. ``first``, ``last`` and the like are indices in a row.
"""

from __future__ import annotations

from opdsl.backends.cpu.machine.language import Words, internal, local

FEW = 16
"""Largest range that ``std::sort`` leaves to insertion sort."""

_DEPTH = 128
"""Upper bound of the recursion depth of ``std::sort``: twice the number of bits of a length."""


@internal("alwaysinline")
def swap(keys: Words, places: Words, i: int, j: int) -> None:
    """Exchange two elements."""
    key = keys[i]
    place = places[i]
    keys[i] = keys[j]
    places[i] = places[j]
    keys[j] = key
    places[j] = place


@internal("alwaysinline")
def move(keys: Words, places: Words, to: int, source: int) -> None:
    """Copy an element."""
    keys[to] = keys[source]
    places[to] = places[source]


@internal("alwaysinline")
def number(places: Words, length: int) -> None:
    """Initialize the positions of a row to 0, 1, 2, ..."""
    for i in range(length):
        places[i] = i


# ---------------------------------------------------------------------------------------------------------------- heaps


@internal()
def sift(keys: Words, places: Words, first: int, start: int, length: int, key: int, place: int) -> None:
    """Insert an element into the heap at a hole, searching from the top, as ``std::__adjust_heap``."""
    hole = start
    child = start
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
    while hole > start and keys[first + parent] < key:
        move(keys, places, first + hole, first + parent)
        hole = parent
        parent = (hole - 1) // 2
    keys[first + hole] = key
    places[first + hole] = place


@internal()
def pop(keys: Words, places: Words, first: int, last: int, result: int) -> None:
    """Move the largest element to ``result`` and the element there into the heap, as ``std::__pop_heap``."""
    key = keys[result]
    place = places[result]
    move(keys, places, result, first)
    sift(keys, places, first, 0, last - first, key, place)


@internal()
def select_by_heap(keys: Words, places: Words, first: int, middle: int, last: int) -> None:
    """Move the smallest elements before ``middle``, as a heap, as ``std::__heap_select``."""
    length = middle - first
    if length >= 2:
        for parent in range((length - 2) // 2, -1, -1):
            sift(keys, places, first, parent, length, keys[first + parent], places[first + parent])
    for i in range(middle, last):
        if keys[i] < keys[first]:
            pop(keys, places, first, middle, i)


@internal()
def select_from(keys: Words, length: int, ranks: Words, places: Words, count: int) -> None:
    """Write the smallest keys of a row and their positions, as a heap, as ``std::__heap_select`` but without changing
    the row.
    """
    for i in range(count):
        ranks[i] = keys[i]
        places[i] = i
    select_by_heap(ranks, places, 0, count, count)
    for i in range(count, length):
        if keys[i] < ranks[0]:
            sift(ranks, places, 0, 0, count, keys[i], i)


@internal()
def sort_heap(keys: Words, places: Words, first: int, end: int) -> None:
    """Sort the elements of a heap, as ``std::__sort_heap``."""
    last = end
    while last - first > 1:
        last -= 1
        pop(keys, places, first, last, last)


# ------------------------------------------------------------------------------------------------ sorting a partition


@internal("alwaysinline")
def insert(keys: Words, places: Words, first: int, i: int) -> None:
    """Insert an element into the sorted elements before it."""
    key = keys[i]
    place = places[i]
    j = i
    while j > first and key < keys[j - 1]:
        move(keys, places, j, j - 1)
        j -= 1
    keys[j] = key
    places[j] = place


@internal()
def sort_by_insertion(keys: Words, places: Words, first: int, last: int) -> None:
    """Sort a range by stable insertion."""
    for i in range(first + 1, last):
        insert(keys, places, first, i)


@internal()
def first_distinct(keys: Words, length: int, ranks: Words, places: Words, count: int) -> bool:
    """Write the smallest keys of a row in order, and return whether they are unique, so that all algorithms find the
    same ones.

    They do where none of them is there again.
    """
    last = count - 1
    for i in range(count):
        ranks[i] = keys[i]
        places[i] = i
        insert(ranks, places, 0, i)
    worst = ranks[last]
    is_there_again = False
    for i in range(count, length):
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
        if ranks[i] == ranks[i - 1]:
            is_there_again = True
    return not is_there_again


@internal()
def part(keys: Words, places: Words, first: int, last: int) -> int:
    """Partition a range around the median of three, and return the start of the upper part, as
    ``std::__unguarded_partition_pivot``.
    """
    a = first + 1
    b = first + (last - first) // 2
    c = last - 1
    if keys[a] < keys[b]:
        median = b if keys[b] < keys[c] else (c if keys[a] < keys[c] else a)
    else:
        median = a if keys[a] < keys[c] else (c if keys[b] < keys[c] else b)
    swap(keys, places, first, median)
    pivot = keys[first]
    low = first + 1
    high = last
    while True:
        while keys[low] < pivot:
            low += 1
        high -= 1
        while pivot < keys[high]:
            high -= 1
        if low >= high:
            return low
        swap(keys, places, low, high)
        low += 1


@internal()
def twice_log2(length: int) -> int:
    """Return the recursion depth after which ``std::sort`` switches to heap sort."""
    count = length
    depth = 0
    while count > 1:
        count = count // 2
        depth += 2
    return depth


@internal()
def sort(keys: Words, places: Words, first: int, last: int) -> None:
    """Sort a range as ``std::sort``: partition it into small ranges, then sort everything by insertion."""
    if last - first > FEW:
        parts = local(int, 3 * _DEPTH)  # a stack of ranges: start, end, remaining depth
        parts[0] = first
        parts[1] = last
        parts[2] = twice_log2(last - first)
        count = 1
        while count > 0:
            count -= 1
            begin = parts[3 * count]
            end = parts[3 * count + 1]
            depth = parts[3 * count + 2]
            while end - begin > FEW:
                if depth == 0:
                    select_by_heap(keys, places, begin, end, end)
                    sort_heap(keys, places, begin, end)
                    break
                depth -= 1
                cut = part(keys, places, begin, end)
                parts[3 * count] = cut
                parts[3 * count + 1] = end
                parts[3 * count + 2] = depth
                count += 1
                end = cut
    sort_by_insertion(keys, places, first, last)


@internal()
def select_nth(keys: Words, places: Words, start: int, nth: int, stop: int) -> None:
    """Move the n-th smallest element to its index, as ``std::nth_element``."""
    first = start
    last = stop
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


# --------------------------------------------------------------------------------------------------------- quick select


@internal()
def quick_select(keys: Words, places: Words, length: int, nth: int) -> None:
    """Move the n-th smallest key to its index, by the steps of ATen/native/Sorting.cpp."""
    left = 0
    right = length - 1
    while right > left + 1:
        median_to(keys, places, left, right)
        low = left + 1
        high = right
        pivot = keys[left]
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
    if right == left + 1:
        order(keys, places, left, right)


@internal("alwaysinline")
def median_to(keys: Words, places: Words, left: int, right: int) -> None:
    """Move the median of the first, the middle and the last key to the front."""
    swap(keys, places, left + (right - left) // 2, left + 1)
    order(keys, places, left + 1, right)
    order(keys, places, left, right)
    order(keys, places, left + 1, left)


@internal("alwaysinline")
def order(keys: Words, places: Words, one: int, other: int) -> None:
    """Move the smaller of two elements to index ``one``, and the larger one to ``other``."""
    if keys[one] > keys[other]:
        swap(keys, places, one, other)
