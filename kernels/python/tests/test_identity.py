"""What a cached kernel is keyed by."""

from __future__ import annotations

from pathlib import Path

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
