"""Former features of native_functions.yaml: keys, dispatch keys and types, with their releases and today's
replacements.
"""

from __future__ import annotations

import attrs


@attrs.frozen
class Retired:
    """Feature that today's files do not have.

    since, until: the first and the last release of PyTorch that had it; empty if no release had it.
    instead: its replacement today.
    is_lost: whether dropping it loses information, so that a person has to review the entry.
    """

    since: str
    until: str
    instead: str
    is_lost: bool = False

    def __str__(self) -> str:
        if not self.since:
            return f"was there between releases only; {self.instead}"
        span = f"in PyTorch {self.since}" if self.since == self.until else f"from PyTorch {self.since} to {self.until}"
        return f"was there {span}; {self.instead}"


NAMED = "named dimensions are gone, and with them the operators that took them"
DISPATCHER = "every operator goes through the dispatcher today"
BY_KERNEL = "the kernel itself tells which dtypes it takes"

CPP = "1.0.1"
"""Last release whose schemas had the types and values of C++."""

RETIRED_KEYS = {
    "python_default_init": Retired(
        "0.4", "1.0.1", "write the default into func, and the argument into cpp_no_default_args"
    ),
    "return": Retired("0.4", "1.0", "write the returns into func: -> (Tensor grad_self, Tensor grad_grid)"),
    "deprecated": Retired("0.4.1", "0.4.1", "a kernel warns by itself today: TORCH_WARN_ONCE", is_lost=True),
    "template_scalar": Retired("", "", "a kernel switches over dtypes by itself: AT_DISPATCH", is_lost=True),
    "cpu_half": Retired("1.0", "1.1", BY_KERNEL),
    "cpu_bool": Retired("1.1", "1.1", BY_KERNEL),
    "cuda_bool": Retired("1.1", "1.1", BY_KERNEL),
    "cpu_bfloat16": Retired("1.2", "1.5", BY_KERNEL),
    "cuda_bfloat16": Retired("1.3", "1.5", BY_KERNEL),
    "requires_tensor": Retired("1.0", "1.6", "functions without Tensors are found by their schema"),
    "device_init": Retired("", "", "devices are initialised when they are first used"),
    "make_header": Retired("", "", "headers are made for all operators"),
    "backend_select": Retired("", "", "operators that need it are found by their schema"),
    "matches_jit_signature": Retired("1.1", "1.3", "every entry has the one schema grammar"),
    "named_guard": Retired("1.2", "1.5.1", NAMED),
    "supports_named_tensor": Retired("1.3", "1.6", NAMED),
    "exclude_from_c10_dispatcher": Retired("", "", DISPATCHER),
    "use_c10_dispatcher": Retired("1.3", "1.8.1", DISPATCHER),
    "hacky_wrapper_for_legacy_signatures": Retired("1.8", "1.8.1", DISPATCHER),
    "schema_order_arguments": Retired("", "", "arguments have the order of the schema"),
    "common_device_guard": Retired("", "", "write device_check: NoCheck for False", is_lost=True),
    "device_check_and_guard": Retired("", "", "write device_check and device_guard", is_lost=True),
}
"""Former keys of entries. Source: the file, and its reader ``native_parse.py``, in all releases since 0.4."""

RETIRED_DISPATCH_KEYS = {
    "Vulkan": Retired("1.6", "1.6", "its kernels are registered in C++: TORCH_LIBRARY_IMPL(aten, Vulkan, m)", True),
    "SparseHIP": Retired("1.11", "1.11", "SparseCUDA kernels serve HIP"),
    "SparseGCS_CPU": Retired("", "", "write SparseCsrCPU", is_lost=True),
    "SparseGCS_CUDA": Retired("", "", "write SparseCsrCUDA", is_lost=True),
    "Named": Retired("", "", NAMED, is_lost=True),
}
"""Former dispatch keys of kernels."""

RENAMED_DISPATCH_KEYS = {
    "Math": ("CompositeImplicitAutograd", "1.8.1"),
    "DefaultBackend": ("CompositeExplicitAutograd", "1.8.1"),
}
"""Former names of dispatch keys, each with today's name and the last release with the former name."""

RETIRED_TYPES = {
    "Dimname": Retired("1.2", "2.12.1", NAMED, is_lost=True),
    "ConstQuantizerPtr": Retired("1.2", "1.7.1", "quantizers are no arguments of operators any more", is_lost=True),
    "void*": Retired("1.0", "1.1", "a pointer is no value of an operator: bind the function by hand", is_lost=True),
}
"""Former types that have no replacement today."""

FORMER_TYPES = {
    "TensorList": ("Tensor", "[]", CPP),
    "IntList": ("int", "[]", CPP),
    "IntArrayRef": ("int", "[]", "1.1"),
    "DimnameList": ("Dimname", "[]", "1.3.1"),
    "int64_t": ("int", "", CPP),
    "double": ("float", "", CPP),
    "std::string": ("str", "", CPP),
    "Generator*": ("Generator", "?", CPP),
    "IndexTensor": ("Tensor", "", CPP),
    "IntegerTensor": ("Tensor", "", CPP),
    "BoolTensor": ("Tensor", "", CPP),
    "SparseTensorRef": ("Tensor", "", "1.1"),
}
"""Former types, each with today's base type, the suffix that follows it, and the last release that had the
former type.
"""

FIRST_RELEASES = {
    "python_module": "1.0",
    "category_override": "1.3",
    "manual_kernel_registration": "1.5",
    "structured": "1.8",
    "structured_delegate": "1.8",
    "structured_inherits": "1.8",
    "manual_cpp_binding": "1.8",
    "cpp_no_default_args": "1.8",
    "device_check": "1.9",
    "use_const_ref_for_mutable_tensors": "1.9",
    "precomputed": "1.10",
    "tags": "1.11",
    "ufunc_inner_loop": "1.12",
    "autogen": "1.12",
} | {key: retired_key.since for key, retired_key in RETIRED_KEYS.items() if retired_key.since > "0.4.1"}
"""First release of each key that was introduced after 0.4."""


def former_key(name: str) -> str:
    """Return a note about a former key, to follow "is no key of an entry"; an empty string if it never was one."""
    return f" today: it {RETIRED_KEYS[name]}" if name in RETIRED_KEYS else ""


def former_dispatch_key(name: str) -> str:
    """Return a note about a former dispatch key, to follow "is no dispatch key ... here"; an empty string if it never
    was one.
    """
    if name in RENAMED_DISPATCH_KEYS:
        new, until = RENAMED_DISPATCH_KEYS[name]
        return f" since PyTorch {until}: write {new}"
    return f" today: it {RETIRED_DISPATCH_KEYS[name]}" if name in RETIRED_DISPATCH_KEYS else ""


def former_type(name: str) -> str:
    """Return a sentence about a former type of schemas; an empty string if it never was one."""
    if name in RETIRED_TYPES:
        return f"{name} is no schema type today: it {RETIRED_TYPES[name]}"
    base, tail, until = FORMER_TYPES.get(name, ("", "", ""))
    return f"{name} is no schema type since PyTorch {until}: write {base}{tail}" if base else ""
