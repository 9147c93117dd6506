"""Tests of devices, memory formats and the table of backends."""

from __future__ import annotations

import copy
import pickle
import sys
import threading

import pytest
import torch

from opdsl.errors import DeviceError
from opdsl.runtime.device import BackendEntry, BackendTable, Device, Layout, MemoryFormat


@pytest.mark.parametrize("text", ["cpu", "cuda", "cuda:0", "cuda:12", "meta"])
def test_text_is_pytorchs(text):
    theirs, ours = torch.device(text), Device(text)
    assert (repr(theirs), str(theirs), theirs.type, theirs.index) == (repr(ours), str(ours), ours.type, ours.index)


def test_devices_are_interned():
    assert Device("cuda:1") is Device("cuda", 1) is Device(Device("cuda", 1))


def test_another_index_is_another_device():
    assert Device("cuda") != Device("cuda:0")


def test_copies_are_the_same_object():
    device = Device("cuda:1")
    assert pickle.loads(pickle.dumps(device)) is copy.deepcopy(device) is copy.copy(device) is device


def test_devices_cannot_be_changed():
    with pytest.raises(AttributeError, match="immutable"):
        Device("cpu").index = 3


@pytest.mark.parametrize("text", ["cuda:", "cuda:01", "cuda:-1", "cuda:x", "cuda:1:2", "cuda:²", ""])
def test_text_that_pytorch_refuses_too(text):
    with pytest.raises(RuntimeError):
        torch.device(text)
    with pytest.raises(DeviceError):
        Device(text)


def test_index_given_twice():
    with pytest.raises(DeviceError, match="already has an index"):
        Device("cuda:1", 1)


def test_index_out_of_range():
    with pytest.raises(DeviceError, match="0 to 127"):
        Device("cuda", 128)


def test_unknown_device_type_names_what_is_there():
    with pytest.raises(DeviceError, match=r"'tpu' \(have cpu, cuda, meta"):
        Device("tpu")


def test_text_is_wanted():
    with pytest.raises(DeviceError, match=r"got 3"):
        Device(3)


@pytest.mark.parametrize("name", ["contiguous_format", "preserve_format", "channels_last", "channels_last_3d"])
def test_memory_formats_print_like_pytorchs(name):
    assert repr(getattr(torch, name)).replace("torch", "opdsl") == repr(MemoryFormat[name])


@pytest.mark.parametrize("name", ["strided", "sparse_coo", "sparse_csr", "jagged"])
def test_layouts_print_like_pytorchs(name):
    assert repr(getattr(torch, name)).replace("torch", "opdsl") == repr(Layout[name])


def test_backend_is_imported_on_first_use(tmp_path, monkeypatch):
    package = tmp_path / "toy_backend"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "memory.py").write_text("name = 'toy'")
    monkeypatch.syspath_prepend(str(tmp_path))
    table = BackendTable({})
    table.register("toy", "toy_backend")
    assert "toy_backend" not in sys.modules
    assert table.load("toy", "memory").name == "toy"


def test_a_backend_that_another_thread_imports_is_waited_for(tmp_path, monkeypatch):
    package = tmp_path / "slow_backend"
    package.mkdir()
    (package / "__init__.py").write_text("import threading\nbegun, go_on = threading.Event(), threading.Event()")
    (package / "memory.py").write_text("import slow_backend as all\nall.begun.set()\nall.go_on.wait(9)\nname = 'slow'")
    monkeypatch.syspath_prepend(str(tmp_path))
    table = BackendTable({"slow": BackendEntry("slow_backend", "CPU")})
    first = threading.Thread(target=table.load, args=("slow", "memory"))
    import slow_backend

    first.start()
    assert slow_backend.begun.wait(9)
    threading.Timer(0.05, slow_backend.go_on.set).start()
    assert table.load("slow", "memory").name == "slow"
    first.join()


def test_a_backend_that_cannot_be_imported_is_no_hindrance_for_others_of_its_key(tmp_path, monkeypatch):
    (tmp_path / "fused_backend.py").write_text("FUSED = True")
    monkeypatch.syspath_prepend(tmp_path)
    gone, there = BackendEntry("no_such_backend", "Key"), BackendEntry("fused_backend", "Key")
    assert not BackendTable({"gone": gone}).is_fused("Key")
    assert BackendTable({"gone": gone, "there": there}).is_fused("Key")


def test_backend_without_a_part():
    table = BackendTable({"toy": BackendEntry("opdsl.runtime", "CPU")})
    with pytest.raises(DeviceError, match=r"no module opdsl\.runtime\.compiler"):
        table.load("toy", "compiler")


def test_backend_registered_twice():
    table = BackendTable({"toy": BackendEntry("a", "CPU")})
    with pytest.raises(DeviceError, match="already registered"):
        table.register("toy", "b", "CPU")


def test_backend_registered_twice_alike():
    table = BackendTable({"toy": BackendEntry("a", "CPU")})
    table.register("toy", "a", "CPU")
    assert table.module_of("toy") == "a"


def test_installed_packages_are_asked(tmp_path, monkeypatch):
    metadata = tmp_path / "toy-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[opdsl.backends]\ntoy = toy_package.backend:XPU\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert BackendTable({}).entry("toy") == BackendEntry("toy_package.backend", "XPU")
