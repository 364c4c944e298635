"""One JSON document a line."""

from __future__ import annotations

import json
from typing import Any, TextIO


def write_line(stream: TextIO, document: Any) -> None:
    """Writes `document` as one line and flushes, so that a reader sees it at once."""
    stream.write(json.dumps(document, allow_nan=False, separators=(",", ":")) + "\n")
    stream.flush()
