"""Lowers real TPU kernels on a machine without a TPU, and asks the real validators and JAX's interpreter.

Started by the `countersign` binary; every document on standard output is one line of JSON. What it reads and
writes is typed in `call.py` (a call as data) and `arrays.py` (arrays as bytes).
"""

from __future__ import annotations
