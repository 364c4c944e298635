"""Record what upstream's own checks say about generated calls, for the test of the Rust port.

Run with an interpreter that has jax: `python record_rpa_validator.py COUNT [SEED] > rpa_validator.jsonl`.
One JSON object a line: the call (shapes, dtypes, options, metadata values) and the static and dynamic answer, each null
or [exception type, message]. Metadata is passed as JAX arrays, as in production.
"""

import json
import os
import random
import sys

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.pallas.ops.tpu.ragged_paged_attention import kernel

LIMITS = [2**31 - 1, 2**31 - 8, -(2**31), -1, 0]


def ask(function, *args, **kwargs):
  try:
    function(*args, **kwargs)
  except Exception as error:  # the answer is the exception
    return [type(error).__name__, str(error)]
  return None


def call(rng):
  """A call that upstream accepts, then at most three edits of it, most of them at a boundary."""
  tokens, page_size, seqs, columns = rng.choice([8, 24]), rng.choice([1, 8, 16]), rng.choice([1, 2, 5]), rng.choice([1, 3, 4])
  kv_heads = rng.choice([1, 2, 4])
  used = rng.randint(0, seqs)
  kv_lens, cu_q_lens = [], [0]
  for i in range(seqs):
    kv_len = rng.choice([1, page_size, columns * page_size, rng.randint(1, columns * page_size)])
    q_len = rng.choice([0, 1, rng.randint(0, kv_len)]) if i < used else 0
    q_len = min(q_len, tokens - cu_q_lens[-1])
    kv_lens.append(kv_len)
    cu_q_lens.append(cu_q_lens[-1] + q_len)
  it = {
      "q": [tokens, kv_heads * rng.choice([1, 3]), 128],
      "kv_pages": [seqs * columns + 2, page_size, 2 * kv_heads, 128],
      "page_indices": [seqs, columns],
      "num_seqs_shape": [1],
      "dtypes": ["int32", "int32", "int32"],
      "kv_lens": kv_lens,
      "cu_q_lens": cu_q_lens,
      "num_seqs": used,
      "options": {},
  }
  edits = [rng.choice([edit_values, edit_values, edit_values, edit_shapes, edit_options]) for _ in range(rng.choice([0, 1, 1, 1, 2, 3]))]
  for edit in edits:
    if edit is not edit_shapes:
      edit(rng, it)
  if edit_shapes in edits:  # once and last, since the other edits count on the shapes
    edit_shapes(rng, it)
  return it


def edit_values(rng, it):
  seqs, columns = it["page_indices"]
  page_size, tokens = it["kv_pages"][1], it["q"][0]
  what = rng.randrange(5)
  if what == 0:
    it["num_seqs"] = rng.choice([*LIMITS, seqs, seqs + 1, seqs + 2, -seqs, -seqs - 1, -seqs - 2])
  elif what == 1 and it["kv_lens"]:
    reach = columns * page_size
    it["kv_lens"][rng.randrange(len(it["kv_lens"]))] = rng.choice([*LIMITS, reach, reach + 1, reach + page_size + 1])
  elif what == 2:
    it["cu_q_lens"][rng.randrange(len(it["cu_q_lens"]))] += rng.choice([-1, 1, tokens])
  elif what == 3:
    it["cu_q_lens"][rng.randrange(len(it["cu_q_lens"]))] = rng.choice([*LIMITS, tokens, tokens + 1])
  else:
    it["cu_q_lens"][-1] = rng.choice([tokens, tokens + 1, 1200])
  it["cu_q_lens"] = [min(max(v, -(2**31)), 2**31 - 1) for v in it["cu_q_lens"]]


def edit_shapes(rng, it):
  what = rng.randrange(9)
  if what == 0:
    it["num_seqs_shape"] = rng.choice([[], [2], [1, 1], [0]])
  elif what == 1:
    it["kv_pages"][3] = rng.choice([64, 127, 256])
  elif what == 2:
    it["kv_lens"] = rng.choice([it["kv_lens"][:-1], it["kv_lens"] + [1]])
  elif what == 3:
    it["cu_q_lens"] = rng.choice([it["cu_q_lens"][:-1], it["cu_q_lens"] + [it["cu_q_lens"][-1]]])
  elif what == 4:
    it["dtypes"][rng.randrange(3)] = rng.choice(["int16", "uint32", "float32", "bfloat16", "int8"])
  elif what == 5:
    it["q"][1] += 1
  elif what == 6:
    it["kv_pages"][2] = rng.choice([0, 1, 3, 6])
  elif what == 7:
    name, shape = rng.choice([("q", [8, 128]), ("q", [1, 8, 4, 128]), ("kv_pages", [4, 8, 128]), ("kv_pages", [1] * 5)])
    it[name] = shape
  else:
    it["page_indices"] = rng.choice([it["page_indices"][:1], [*it["page_indices"], 1], [it["page_indices"][0] + 1, it["page_indices"][1]]])


def edit_options(rng, it):
  columns = it["page_indices"][-1]
  name, values = rng.choice([
      ("sm_scale", [0.0, -1.0, 1e300]),
      ("sliding_window", [1, 0, -1, -0.5, 0.5]),
      ("soft_cap", [0.0, -0.0, 0, 30.0, -1.0, 1e-30]),
      ("mask_value", [0.0, -1e300]),
      ("k_scale", [1, 0.5]),
      ("v_scale", [1, 0.5]),
      ("num_kv_pages_per_block", [0, -1, 1, columns, columns + 1]),
      ("num_queries_per_block", [0, -1, 1, 1000]),
      ("vmem_limit_bytes", [0, -1, 1, 2**40]),
  ])
  it["options"][name] = rng.choice(values)


def record(it):
  q = jax.ShapeDtypeStruct(it["q"], jnp.float32)
  kv_pages = jax.ShapeDtypeStruct(it["kv_pages"], jnp.float32)
  arrays = [np.array(it["kv_lens"], np.int64), np.zeros(it["page_indices"], np.int64), np.array(it["cu_q_lens"], np.int64)]
  metadata = [jnp.asarray(a.astype(np.int32)).astype(dtype) for a, dtype in zip(arrays, it["dtypes"])]
  num_seqs = jnp.full(it["num_seqs_shape"], it["num_seqs"], jnp.int32)
  args = (q, kv_pages, *metadata, num_seqs)
  it["static"] = ask(kernel.static_validate_inputs, *args, **it["options"])
  it["dynamic"] = ask(kernel.dynamic_validate_inputs, *args, **it["options"])
  return it


if __name__ == "__main__":
  generator = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
  for _ in range(int(sys.argv[1])):
    print(json.dumps(record(call(generator))))
