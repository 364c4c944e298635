"""What a cached kernel is keyed by."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ENTRY_POINT
from countersign_export import identity


def test_an_edit_or_a_renaming_changes_the_hash(tmp_path: Path) -> None:
    kernel = tmp_path / "kernel.py"
    kernel.write_text("x = 1\n")
    (tmp_path / "notes.txt").write_text("not code")
    before = identity.hash_sources([tmp_path])
    (tmp_path / "notes.txt").write_text("still not code")
    assert identity.hash_sources([tmp_path]) == before
    kernel.write_text("x = 2\n")
    edited = identity.hash_sources([tmp_path])
    kernel.rename(tmp_path / "other.py")
    assert len({before, edited, identity.hash_sources([tmp_path])}) == 3


def test_the_kernels_own_file_is_named() -> None:
    sources = identity.sources(ENTRY_POINT)
    file = Path(sources["source"]["file"])
    assert file.name == "kernel.py"
    assert identity.hash_file(file) == sources["source"]["sha256"]
    assert identity.versions()["packages"]["jax"]


def _written(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _sources(entry_point: str) -> str:
    """The hash in a process of its own: modules are imported once in each."""
    script = "import sys; from countersign_export import identity; print(identity.sources(sys.argv[1])['sources_sha256'])"
    run = subprocess.run([sys.executable, "-c", script, entry_point], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def test_a_file_imports_by_its_place_in_its_package(tmp_path: Path) -> None:
    function = "def attend(q):\n    return q\n"
    _written(
        tmp_path,
        {
            "mine/__init__.py": "",
            "mine/mask.py": "WIDTH = 1\n",
            "mine/deep/__init__.py": "",
            "mine/deep/sub.py": "X = 1\n",
            "mine/deep/plain.py": "Y = 1\n",
            "mine/deep/kernel.py": f"from . import sub\nfrom .sub import X\nfrom ..mask import WIDTH\nimport plain\n{function}",
            "loose/sub.py": "X = 1\n",
            "loose/kernel.py": f"from .sub import X\n{function}",  # a folder without __init__.py
        },
    )
    deep, loose = (f"{tmp_path}/{name}/kernel.py:attend" for name in ("mine/deep", "loose"))
    for entry_point, imported in [(deep, "mine/mask.py"), (deep, "mine/deep/plain.py"), (loose, "loose/sub.py")]:
        before = _sources(entry_point)
        assert _sources(entry_point) == before
        (tmp_path / imported).write_text(f"{(tmp_path / imported).read_text()}# edited\n")
        assert _sources(entry_point) != before, imported
    assert not list(tmp_path.rglob("__pycache__"))


def test_a_package_elsewhere_counts_where_it_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _written(
        tmp_path,
        {
            "elsewhere/library/__init__.py": "Z = 1\n",
            "elsewhere/unrelated.py": "Z = 1\n",
            "here/kernel.py": "import library\ndef attend(q):\n    return q\n",
        },
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path / "elsewhere"), os.environ.get("PYTHONPATH", "")]))
    before = _sources(f"{tmp_path}/here/kernel.py:attend")
    (tmp_path / "elsewhere/unrelated.py").write_text("Z = 2\n")
    assert _sources(f"{tmp_path}/here/kernel.py:attend") == before
    (tmp_path / "elsewhere/library/__init__.py").write_text("Z = 2\n")
    assert _sources(f"{tmp_path}/here/kernel.py:attend") != before


def test_a_package_with_the_name_of_another_is_named(tmp_path: Path) -> None:
    _written(tmp_path, {"numpy/__init__.py": "", "numpy/kernel.py": "def attend(q):\n    return q\n"})
    answer = identity.of_kernel(f"{tmp_path}/numpy/kernel.py:attend", ["q"])
    assert "numpy.kernel" in answer["error"], answer
