"""Small Pallas kernels of our own: at least one for each op that the VM knows and each element type that Pallas lowers it for.

`python -m micro OUT` lowers each for a TPU, runs it in JAX's TPU interpreter on seeded values, and writes module, operands and
results into a folder a kernel; `harness/tests/conformance/` runs the modules in the VM and compares.
"""

from __future__ import annotations
