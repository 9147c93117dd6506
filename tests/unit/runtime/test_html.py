"""Tests of HTML and pictures in notebooks: right elements, escaped text, and summaries of large tensors."""

from __future__ import annotations

from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy
import pytest

import opdsl
from opdsl import Library, Tensor, notebook


class Page(HTMLParser):
    """Strict HTML parser that requires closed elements, and collects the cells of table rows and the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


@pytest.mark.parametrize(
    "array",
    [
        numpy.array([[1.5, -2.0, 3.25], [0.0, 1e-3, 7.0]], numpy.float32),
        numpy.arange(6).reshape(2, 3).T,
        numpy.array([True, False]),
        numpy.array([1 + 2j, -0.5j]),
        numpy.array(2.5),
    ],
    ids=["float32", "transposed", "bool", "complex", "scalar"],
)
def test_the_cells_are_the_elements(array):
    page = Page(opdsl.tensor(array)._repr_html_())
    kind = bool if array.dtype == bool else array.dtype.type
    cells = [[text == "True" if kind is bool else kind(text.replace(".j", "j")) for text in row] for row in page.rows]
    numpy.testing.assert_allclose(cells, numpy.atleast_2d(array))
    assert array.dtype.name in page.text and str(array.shape) in page.text


def test_a_large_tensor_shows_its_edges():
    x = opdsl.arange(10_000).reshape(100, 100)
    page = Page(x._repr_html_())
    assert len(page.rows) == 11 and all(len(row) == 11 for row in page.rows)
    assert [page.rows[0][0], page.rows[0][-1], page.rows[-1][-1]] == ["0", "99", "9999"]
    assert page.rows[5] == ["⋯"] * 11
    assert len(x._repr_html_()) < 4000


def test_tensors_without_elements_to_show_have_their_facts():
    assert Page(opdsl.empty(2, 10**9, device="meta")._repr_html_()).text == "float32 (2, 1000000000) on meta"
    assert Page(opdsl.empty(0, 3)._repr_html_()).text == "float32 (0, 3) on cpu"


def test_more_than_two_dimensions_are_text():
    x = opdsl.ones(2, 2, 2, requires_grad=True)
    page = Page(x._repr_html_())
    assert page.rows == [] and repr(x) in page.text and "requires grad" in page.text


def test_bfloat16_is_shown_by_value():
    assert Page(opdsl.tensor([1.5, -2.0], dtype=opdsl.bfloat16)._repr_html_()).rows == [["1.5000", "-2.0000"]]


def test_an_operator_shows_its_schema_its_kin_and_its_table():
    with Library("html") as lib:

        @lib.op(inplace=True, out=True)
        def lesser(self: Tensor, other: Tensor) -> Tensor:
            """The lesser where ``self < other & self``: <b>not</b> bold."""
            return opdsl.minimum(self, other)

        shown = lesser._repr_mimebundle_()
        page = Page(shown["text/html"])
        assert page.text.startswith("html::lesser(Tensor self, Tensor other) -> Tensor")
        assert "<b>not</b> bold" in page.text and "<b>" not in shown["text/html"]
        assert [row[0] for row in page.rows] == ["inplace", "out"]
        assert str(lesser.dispatch_table()) in page.text
        assert shown["text/plain"].splitlines() == [str(variant.schema) for variant in lesser.variants.values()]


def test_a_packet_shows_all_of_its_overloads():
    names = {row[0] for row in Page(opdsl.max._repr_mimebundle_()["text/html"]).rows}
    assert {"default", "other"} <= names


# ------------------------------------------------------------------------------------------------------------- pictures


def shapes(picture: notebook.Picture) -> list[ElementTree.Element]:
    """Return the rectangles of a picture, which must be well-formed SVG."""
    return list(ElementTree.fromstring(picture._repr_svg_()).iter("{http://www.w3.org/2000/svg}rect"))


def test_a_heat_map_has_a_cell_for_each_element() -> None:
    x = opdsl.tensor([[-2.0, 0.0, 1.0], [opdsl.nan, 2.0, opdsl.inf]])
    cells = shapes(notebook.heatmap(x))
    assert [(cell.get("x"), cell.get("y")) for cell in cells[:4]] == [("0", "0"), ("24", "0"), ("48", "0"), ("0", "24")]
    blue, white, *_, grey, red, other_grey = (cell.get("fill") for cell in cells)
    assert (blue, white, red) == ("rgb(33,102,172)", "rgb(247,247,247)", "rgb(178,24,43)")
    assert grey == other_grey == "#bbb"
    assert [cell[0].text for cell in cells][:2] == ["-2", "0"]


def test_large_matrices_are_shown_by_means() -> None:
    x = opdsl.arange(192 * 200).reshape(192, 200)
    picture = notebook.heatmap(x)
    assert len(shapes(picture)) == 96 * 96
    # The first block has rows 0 and 1, columns 0 and 1; the last one rows 190 and 191 and the last three columns.
    assert "from 100.5 to 38298" in picture.title
    assert len(shapes(notebook.heatmap(opdsl.ones(5, dtype=opdsl.bfloat16)))) == 5


def test_a_histogram_counts_what_numpy_counts() -> None:
    values = numpy.random.default_rng(0).normal(size=(50, 4))
    counts, _ = numpy.histogram(values, 10)
    bars = shapes(notebook.histogram(opdsl.tensor(values), bins=10))
    assert [int(str(bar[0].text).split()[0]) for bar in bars] == counts.tolist()
    assert [bar.get("height") for bar in bars] == [str(-(-120 * int(count) // int(counts.max()))) for count in counts]
    assert shapes(notebook.histogram(opdsl.tensor([opdsl.nan]))) == []


def test_what_cannot_be_shown_is_refused() -> None:
    for bad in (opdsl.ones(0), opdsl.ones(2, device="meta"), opdsl.tensor([1j])):
        for picture in (notebook.heatmap, notebook.histogram):
            with pytest.raises(opdsl.errors.ConversionError):
                picture(bad)
    with pytest.raises(opdsl.errors.DimensionError):
        notebook.heatmap(opdsl.ones(1, 2, 3))
    with pytest.raises(opdsl.errors.OptionError):
        notebook.histogram(opdsl.ones(2), bins=0)
