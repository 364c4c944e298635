"""What is said of an exception is the same on every machine."""

from __future__ import annotations

import sys

import pytest

from countersign_export import failure


def test_a_message_names_no_folder_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["", "/", "/env/lib", "/env/lib/site-packages"])
    error = ValueError("at /env/lib/site-packages/jax/kernel.py:290, /env/lib/os.py and /elsewhere/kernel.py")
    assert failure.message(error) == "at jax/kernel.py:290, os.py and /elsewhere/kernel.py"
    assert failure.describe(error, "kernel.py")["message"] == failure.message(error)
