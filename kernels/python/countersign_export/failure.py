"""An exception as data: type, message, and where in the kernel's own source it arose."""

from __future__ import annotations

import ast
import functools
import sys
import traceback
from typing import Any


def describe(error: BaseException, file: str) -> dict[str, Any]:
    """`type`, `message`, `line` (the innermost line of `file` on the way to the raise, or None), `deliberate`.

    What fails in a transformation of JAX has no such line on its way, but as its cause the stack of the operation at fault.
    """
    line = _innermost_line(error, file)
    if line is None and error.__cause__ is not None:
        line = _innermost_line(error.__cause__, file)
    return {
        "type": type(error).__name__,
        "message": message(error),
        "line": line,
        "deliberate": is_deliberate(error, file),
    }


def message(error: BaseException) -> str:
    """What it says, without the folders that modules are imported from: the same on every machine."""
    text = str(error)
    folders = sorted((folder.rstrip("/") for folder in sys.path), key=len, reverse=True)
    for folder in filter(None, folders):
        text = text.replace(folder + "/", "")
    return text


def _innermost_line(error: BaseException, file: str) -> int | None:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return lines[-1] if lines else None


def is_deliberate(error: BaseException, file: str) -> bool:
    """Whether `file` itself raised `error` by a `raise` statement with a message: a refusal, not an accident.

    An `assert` is no refusal: it says nothing that a user could act on, and vanishes under `python -O`.
    """
    frames = traceback.extract_tb(error.__traceback__)
    if not frames or frames[-1].filename != file or not str(error):
        return False
    return frames[-1].lineno in _raise_lines(file)


@functools.cache
def _raise_lines(file: str) -> frozenset[int]:
    with open(file, encoding="utf-8") as source:
        tree = ast.parse(source.read())
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise):
            lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return frozenset(lines)
