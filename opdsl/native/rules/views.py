"""Rules INV-46 to INV-48 and INV-54, about views, their copying variants and their in-place variants."""

from __future__ import annotations

from collections.abc import Iterator

from opdsl.native.entry import NativeFunction
from opdsl.native.known import COMPOSITE_IMPLICIT, COMPOSITE_IMPLICIT_NESTED, INPLACE_VIEWS_WITHOUT_BASE
from opdsl.native.rules.breach import Breach, argument, item, name, returned
from opdsl.native.rules.corpus import Corpus, CorpusRule
from opdsl.schema import BaseType, ListType, OperatorName, SchemaKind

COPY_ENDINGS = ("_copy", "_scatter")
"""Suffixes of the names of copying variants."""


def needs_copy(entry: NativeFunction) -> bool:
    """Return whether a view needs a copying variant: it is not composite, not in-place, and not the inverse of another
    view.
    """
    return (
        COMPOSITE_IMPLICIT not in entry.kernels
        and "inplace_view" not in entry.tags
        and not entry.name.is_inplace
        and not entry.name.base.endswith("_inverse")
    )


def copy_name(view: NativeFunction) -> OperatorName:
    """Return the name of the copying variant of a view."""
    return OperatorName(view.name.namespace, f"{view.name.base}_copy", view.name.overload)


def views(corpus: Corpus) -> Iterator[NativeFunction]:
    """Return the views that need a copying variant."""
    return (entry for entry in corpus.views if needs_copy(entry))


def copies(corpus: Corpus) -> Iterator[tuple[NativeFunction, NativeFunction]]:
    """Yield the views that need a copying variant, each with the entry that has its name."""
    for entry in views(corpus):
        copy = corpus.by_name.get(copy_name(entry).qualified)
        if copy is not None:
            yield entry, copy


def inv_46(corpus: Corpus) -> Iterator[Breach]:
    """Check that a view that is not composite has a copying variant."""
    for entry in views(corpus):
        wanted = copy_name(entry)
        if wanted.qualified not in corpus.by_name:
            message = f"{entry.name} is a view with kernels of its own, so it needs {wanted}, which copies"
            yield Breach(message, name(entry))


def inv_47_signature(corpus: Corpus) -> Iterator[Breach]:
    """Check that the copying variant has the arguments and returns of the view."""
    for view, copy in copies(corpus):
        if copy.schema.signature(strip_view_copy=True) != view.schema.signature(strip_view_copy=True):
            message = f"{copy.name} copies what {view.name} views, so it takes the same arguments and gives the same"
            yield Breach(message, name(copy), (name(view),))


def inv_47_tag(corpus: Corpus) -> Iterator[Breach]:
    """Check that the copying variant has the tag ``view_copy``."""
    for view, copy in copies(corpus):
        if "view_copy" not in copy.tags:
            yield Breach(f"{copy.name} copies what {view.name} views: add the tag view_copy", name(copy), (name(view),))


def inv_47_name(corpus: Corpus) -> Iterator[Breach]:
    """Check that the name of an entry tagged ``view_copy`` ends as that of a copying variant."""
    for entry in corpus.entries:
        if "view_copy" in entry.tags and not entry.name.base.endswith(COPY_ENDINGS):
            message = f"{entry.name} is tagged view_copy, so its name ends in {' or '.join(COPY_ENDINGS)}"
            yield Breach(message, item(entry, "view_copy", "tags"))


def inv_47_view(corpus: Corpus) -> Iterator[Breach]:
    """Check that an operator with a copying variant is a view, since torchgen cannot distinguish two entries of one
    kind.
    """
    for variants in corpus.sets.values():
        first = variants.members[0]
        if not first.name.base.endswith(COPY_ENDINGS):
            continue
        others = corpus.sets.get(first.schema.signature(strip_view_copy=True))
        for kind, copy in variants.kinds.items():
            other = None if others is None or others is variants else others.kinds.get(kind)
            if other is not None and not (other.is_view or copy.is_view):
                message = (
                    f"{copy.name} is the copying variant of {other.name}, which is no view: say what its result shows, "
                    "as in f(Tensor(a) self) -> Tensor(a), or give one of them another name"
                )
                yield Breach(message, name(other), (name(copy),))


def inv_48_tag(corpus: Corpus) -> Iterator[Breach]:
    """Check that an in-place operator that makes its argument a view has the tag ``inplace_view``."""
    for entry in corpus.views:
        if entry.name.is_inplace and "inplace_view" not in entry.tags:
            yield Breach(f"{entry.name} changes its argument into a view: add the tag inplace_view", name(entry))


def inv_48_pair(corpus: Corpus) -> Iterator[Breach]:
    """Check that a view and its in-place variant have one signature, and that both or neither are composite."""
    for entry in corpus.entries:
        if "inplace_view" not in entry.tags or entry.name.base in INPLACE_VIEWS_WITHOUT_BASE:
            continue
        variants = corpus.set_of.get(id(entry))
        view = None if variants is None else variants.kinds.get(SchemaKind.functional)
        if view is None:
            base = OperatorName(entry.name.namespace, entry.name.functional_base)
            for other in corpus.packets.get(base.packet, [])[:1]:
                message = f"{entry.name} is the in-place form of no {base}: none takes the same arguments"
                yield Breach(message, name(entry), (name(other),))
            continue
        for key in (COMPOSITE_IMPLICIT, COMPOSITE_IMPLICIT_NESTED):
            if key in view.kernels and key not in entry.kernels:
                message = f"{view.name} has a {key} kernel, so its in-place form {entry.name} has one too"
                yield Breach(message, name(entry), (name(view),))


def inv_54(corpus: Corpus) -> Iterator[Breach]:
    """Check that a view that is not composite views its first argument, a Tensor, and returns a Tensor or a list of
    Tensors.
    """
    for entry in views(corpus):
        schema = entry.schema
        first = schema.arguments[0] if schema.arguments else None
        if first is None or first.type is not BaseType.Tensor or first.alias is None:
            message = f"{entry.name} is a view, so its first argument is the Tensor that it shows: Tensor(a)"
            yield Breach(message, argument(entry, 0) if schema.arguments else name(entry))
        for index, other in enumerate(schema.arguments[1:], 1):
            if other.alias is not None:
                yield Breach(f"{entry.name} is a view of its first argument only", argument(entry, index))
        if len(schema.returns) != 1:
            yield Breach(f"{entry.name} is a view, so it gives one Tensor or one list of them", name(entry))
        elif schema.returns[0].type not in (BaseType.Tensor, ListType(BaseType.Tensor)):
            yield Breach(f"{entry.name} is a view, so it gives a Tensor or a list of them", returned(entry, 0))


VIEW_RULES: tuple[CorpusRule, ...] = (
    inv_46,
    inv_47_signature,
    inv_47_tag,
    inv_47_name,
    inv_47_view,
    inv_48_tag,
    inv_48_pair,
    inv_54,
)
"""Rules about views."""
