"""Tests of what projects of shipped operators may say: anything else is refused with its place in the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from opdsl.errors import OptionError
from opdsl.shipping.forms import parse_form
from opdsl.shipping.project import Project, read_project


def project_of(folder: Path, about: str = 'name = "gates"\nversion = "1.0"', settings: str = "") -> Project:
    """Return the project of a file with some lines in [project] and [tool.opdsl.build]."""
    (folder / "pyproject.toml").write_text(f"[project]\n{about}\n[tool.opdsl.build]\n{settings}\n")
    return read_project(folder)


def test_settings_have_defaults(tmp_path: Path) -> None:
    assert project_of(tmp_path) == Project("gates", "1.0", "gates", (), ("float32",), (1, 2), {})


@pytest.mark.parametrize(
    ("about", "key"),
    [
        ('version = "1.0"', "name"),
        ('name = "../../evil"\nversion = "1.0"', "name"),
        ('name = "a\\nRequires-Dist: evil"\nversion = "1.0"', "name"),
        ('name = "gates"\nversion = "1/../2"', "version"),
        ('name = "gates"\nversion = 1.0', "version"),
        ('name = "class"\nversion = "1.0"', "module"),
    ],
)
def test_wrong_projects_are_refused(tmp_path: Path, about: str, key: str) -> None:
    with pytest.raises(OptionError, match=rf"pyproject\.toml: {key} in \[.*\] has to be"):
        project_of(tmp_path, about)


@pytest.mark.parametrize(
    "setting",
    [
        'module = "os; x"',
        "module = 3",
        'targets = "aarch64"',
        'dtypes = "float32"',
        "dtypes = [1]",
        "ranks = 2",
        "ranks = [65]",
        'ranks = ["x"]',
        "ranks = [true]",
        "forms = [1]",
        'forms = {f = "float32[n]"}',
        "forms = {f = [3]}",
    ],
)
def test_wrong_settings_are_refused(tmp_path: Path, setting: str) -> None:
    key = setting.partition(" ")[0]
    with pytest.raises(OptionError, match=rf"pyproject\.toml: {key} in \[tool\.opdsl\.build\] has to be"):
        project_of(tmp_path, settings=setting)


ABOUT = '[project]\nname = "a"\nversion = "1"'


@pytest.mark.parametrize("text", ["project = 3", f"tool = 3\n{ABOUT}", f"{ABOUT}\n[tool.opdsl]\nbuild = [1]", "[[["])
def test_files_of_another_structure_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(OptionError, match=r"pyproject\.toml"):
        read_project(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "float32[n",
        "float99[n]",
        "float32[-1]",
        "float32[n.real]",
        'float32[n, __import__("os")]',
        'float32[n], dim=exec("1")',
        "float32[n], **{}",
        "float32[n], *[1]",
        "float32[n]) + g(1",
        "float32[n])(1",
        "float32[n].order(1)",
        'float32[n, m].order(0, "a")',
        f"float32[{', '.join('n' * 65)}]",
        f"float32[n], {'[' * 5000}",
    ],
)
def test_texts_that_are_no_forms_are_refused(text: str) -> None:
    with pytest.raises(OptionError, match=r"forms\.f: .* is no form of a call"):
        parse_form(text, "forms.f")
