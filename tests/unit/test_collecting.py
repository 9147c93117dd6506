"""Tests of the suspension of garbage collection while many objects are created."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap

from opdsl.collecting import without_collecting


def test_objects_created_meanwhile_are_old() -> None:
    code = """
        import gc
        from opdsl.collecting import without_collecting
        with without_collecting():
            assert not gc.isenabled()
            made = [[number] for number in range(10_000)]
        assert gc.isenabled() and gc.get_freeze_count() == 0
        old = set(map(id, gc.get_objects(generation=2)))
        assert all(id(number) in old for number in made)
        made[0].append(made)
        del made
        assert gc.collect() >= 10_000
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=60)


def test_objects_that_a_user_has_frozen_stay_frozen() -> None:
    code = """
        import gc
        from opdsl.collecting import without_collecting
        gc.freeze()
        count = gc.get_freeze_count()
        with without_collecting():
            pass
        assert gc.get_freeze_count() == count > 0
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=60)


def test_collection_that_was_off_stays_off() -> None:
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        with without_collecting():
            pass
        assert not gc.isenabled()
    finally:
        if was_enabled:
            gc.enable()


def test_frozen_objects_are_counted_once() -> None:
    """Counting them takes time for each of them."""
    code = """
        import gc
        from opdsl.collecting import without_collecting
        gc.freeze()
        count, calls = gc.get_freeze_count, []
        gc.get_freeze_count = lambda: calls.append(None) or count()
        for _ in range(3):
            with without_collecting():
                pass
        assert len(calls) == 1
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=60)
