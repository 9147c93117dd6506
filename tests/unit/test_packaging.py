"""Tests of a release's files outside the package: metadata, lock files, the bill of materials."""

from __future__ import annotations

import hashlib
import json
import re
import runpy
import tomllib
from pathlib import Path

import pytest
import yaml

import opdsl

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SBOM = runpy.run_path(str(ROOT / ".ci" / "sbom.py"))


def names(requirements: list[str]) -> set[str]:
    """Return the normalized names of requirements."""
    return {
        re.sub(r"[-_.]+", "-", re.split(r"[^A-Za-z0-9._-]", requirement)[0]).lower() for requirement in requirements
    }


def test_every_place_has_the_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {PROJECT["version"], citation["version"]} == {opdsl.__version__}
    assert (ROOT / "CHANGELOG.md").read_text().partition("\n## ")[2].startswith(opdsl.__version__)


def test_the_metadata_says_that_there_are_types() -> None:
    assert "Typing :: Typed" in PROJECT["classifiers"]
    assert (ROOT / "opdsl" / "py.typed").exists()
    assert {"Repository", "Changelog", "Issues", "Documentation"} <= PROJECT["urls"].keys()


@pytest.mark.parametrize("file", ["requirements.lock", "requirements-dev.lock"])
def test_lock_files_have_what_is_asked_for(file: str) -> None:
    pinned = names([component["name"] for component in SBOM["components"]((ROOT / file).read_text())])
    wanted = PROJECT["dependencies"]
    if "dev" in file:
        extras = PROJECT["optional-dependencies"]
        wanted = [*wanted, *extras["dev"], *extras["cuda"], *extras["opencl"], *extras["dask"], *extras["docs"]]
    assert names(wanted) - {"opdsl"} <= pinned


def test_the_bill_of_materials_names_every_pin_with_its_hashes() -> None:
    digest = hashlib.sha256(b"a file").hexdigest()
    pin = "Some_Thing==1.2 ; python_version < '3.12'"
    lock = f"# made by hand\n{pin} \\\n    --hash=sha256:{digest}\n    # via other\n"
    bill = SBOM["document"](lock, {"name": "mine", "version": "3", "license": "MIT"})
    assert (bill["bomFormat"], bill["metadata"]["component"]["version"]) == ("CycloneDX", "3")
    assert bill["components"] == [
        {
            "type": "library",
            "name": "Some_Thing",
            "version": "1.2",
            "purl": "pkg:pypi/some-thing@1.2",
            "bom-ref": "pkg:pypi/some-thing@1.2",
            "properties": [{"name": "python:marker", "value": "python_version < '3.12'"}],
            "hashes": [{"alg": "SHA-256", "content": digest}],
        }
    ]
    assert bill["dependencies"] == [{"ref": "pkg:pypi/mine@3", "dependsOn": ["pkg:pypi/some-thing@1.2"]}]
    json.dumps(bill)


@pytest.mark.parametrize("lock", ["six==1.0\n", "six>=1.0\n", "-e .\n"])
def test_a_lock_without_hashes_is_refused(lock: str) -> None:
    with pytest.raises(ValueError, match="hashes"):
        SBOM["components"](lock)


def test_templates_and_hooks_are_yaml() -> None:
    files = [*(ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"), ROOT / ".pre-commit-config.yaml"]
    assert len(files) == 5
    for file in files:
        assert isinstance(yaml.safe_load(file.read_text()), dict), file
    for file in files[:-1]:
        template = yaml.safe_load(file.read_text())
        assert file.name == "config.yml" or {"name", "description", "body"} <= template.keys()
