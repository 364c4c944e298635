"""JAX ragged paged attention: an invalid batch is refused only where production never looks, and the kernel goes wrong.

gap:refused-unseen|jax-rpa|cu-q-lens-nonnegative|residue|-

breaks cu-q-lens-nonnegative (cu_q_lens[0] = -2). The kernel faults (residue) at tpu.enqueue_dma (kernel.py:65 <
kernel.py:409): 4 copies are still in flight at the kernel's end, the first from kv_pages to scratch 0. Only the dynamic
check would stop it, which production never calls.

Broken: No entry of cu_q_lens[0..=num_seqs] is negative. (cu_q_lens[0] = -2)

Run it with Python, numpy and jax==0.10.2: `python FILE`. No TPU is needed (lowered for TPU v5e where it was found). It
ends with 0 where the finding shows, with 1 where it does not (another jax, or it was mended), with 2 where it can't be
tried.

Written by countersign 0.1.0.
"""

import inspect
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.pallas.ops.tpu.ragged_paged_attention import kernel as rpa

# ---- the batch ------------------------------------------------------------------------------------------------------------

num_seqs = np.array([1], np.int32)
cu_q_lens = np.array([-2, 0, 0, 0, 0, 0], np.int32)
kv_lens = np.array([1, 0, 0, 0, 0], np.int32)
page_indices = np.array([
    [0, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 0],
], np.int32)
OPTIONS = {
    "k_scale": None,
    "mask_value": -2.3819763e38,
    "num_kv_pages_per_block": 4,
    "num_queries_per_block": 1,
    "sliding_window": None,
    "sm_scale": 0.088388346,
    "soft_cap": None,
    "v_scale": None,
}

# What the batch does not own holds NaN, or the lowest integer.
q = np.full((8, 4, 128), np.nan, np.float32)
kv_pages = np.full((38, 1, 4, 128), np.nan, np.float32)
kv_pages[0, 0:1, 0::2] = 0.0  # K of sequence 0
kv_pages[0, 0:1, 1::2] = 1.0  # V of sequence 0

# ---- what is claimed ------------------------------------------------------------------------------------------------------

EXPECTED = "residue"
QUERIES_PER_BLOCK, PAGES_PER_BLOCK = 1, 4
HEAD_BLOCKS = 1  # grid steps over heads, as the entry point chooses them for these heads and types


# ---- what the validators say ----------------------------------------------------------------------------------------------


def operands():
    """The arguments of the entry point, in its order."""
    return [jnp.asarray(array) for array in (q, kv_pages, kv_lens, page_indices, cu_q_lens, num_seqs)]


def ask_validators():
    """What each check raises, by its name; None where it accepts. The entry point calls the static one; production calls no other."""
    words = {}
    for name in ("static_validate_inputs", "dynamic_validate_inputs"):
        try:
            getattr(rpa, name)(*operands(), **OPTIONS)
            words[name] = None
        except Exception as error:  # whatever a check raises is what it says
            words[name] = f"{type(error).__name__}: {error}"
        print(f"{name}: {words[name] or 'accepts'}")
        if words[name]:
            break  # the dynamic check begins with the static one
    return words


# ---- the kernel's walk ----------------------------------------------------------------------------------------------------


class Found(Exception):
    """Something that must not happen: its class, what happens, and a piece of the line of the kernel that does it."""


class Scalars:
    """Metadata as the kernel reads it: an index outside the array, and an entry that the batch doesn't own, are noticed."""

    def __init__(self, name, array, owns):
        self.name, self.array, self.owns = name, array, owns

    def read(self, line, *index):
        place = f"{self.name}[{', '.join(map(str, index))}]"
        if not all(0 <= i < extent for i, extent in zip(index, self.array.shape, strict=True)):
            raise Found("out-of-bounds", f"{place} is read, and {self.name} has the shape {self.array.shape}", line)
        value = int(self.array[index])
        if not self.owns(*index):
            raise Found("undefined-use", f"{place} = {value} is used, and the batch doesn't own it", line)
        return value


def int32(value):
    return (value + 2**31) % 2**32 - 2**31


def walk():
    """What ragged_paged_attention_kernel does with its scalars: which pages it copies into which buffer, and which it waits for."""
    count, columns, page_size = int(num_seqs[0]), page_indices.shape[1], kv_pages.shape[1]
    kv_block = PAGES_PER_BLOCK * page_size
    owned = min(max(count, 0), len(kv_lens))

    def owns_page(sequence, column):
        # An empty sequence's first entry counts, too, where it names a page: the kernel copies it.
        used = -(-max(int(kv_lens[sequence]), 0) // page_size)
        names = 0 <= page_indices[sequence, 0] < len(kv_pages)
        return sequence < owned and column < max(used, int(names))

    lens = Scalars("kv_lens", kv_lens, lambda sequence: sequence < owned)
    ends = Scalars("cu_q_lens", cu_q_lens, lambda entry: entry <= owned)
    pages = Scalars("page_indices", page_indices, owns_page)
    in_flight = [0, 0]

    def start(sequence, block, buffer):
        length = lens.read("pages_per_seq, pl.cdiv(kv_lens_ref[seq_idx], page_size)", sequence)
        end = min(columns, int32(length + page_size - 1) // page_size)
        for column in range(block * PAGES_PER_BLOCK, (block + 1) * PAGES_PER_BLOCK):
            column = column if column < end else 0
            line = "pages_hbm_ref.at[page_indices_ref[seq_id, page_idx]]"
            page = pages.read(line, sequence, column)
            if not 0 <= page < len(kv_pages):
                text = f"page_indices[{sequence}, {column}] = {page} is copied from, and kv_pages has {len(kv_pages)} pages"
                raise Found("out-of-bounds", text, line)
            in_flight[buffer] += 1

    def wait(buffer):
        if in_flight[buffer] < PAGES_PER_BLOCK:
            text = f"{PAGES_PER_BLOCK} pages of buffer {buffer} are waited for, and {in_flight[buffer]} are on their way"
            raise Found("deadlock", text, "async_copy.wait()")
        in_flight[buffer] -= PAGES_PER_BLOCK

    steps = 0
    sequence = buffer = 0  # where a query block starts
    for head_block in range(HEAD_BLOCKS):
        for query_block in range(-(-len(q) // QUERIES_PER_BLOCK)):
            first_row, last_row = query_block * QUERIES_PER_BLOCK, (query_block + 1) * QUERIES_PER_BLOCK
            if head_block + query_block == 0:
                start(sequence, 0, buffer)
            done = False
            while not done:
                needed = first_row < ends.read("q_len_start < cu_q_lens_ref[num_seqs]", count)
                if not (needed and sequence < count):
                    break
                end = ends.read("q_end = cu_q_lens_ref[cur_seq_idx + 1]", sequence + 1)
                length = lens.read("kv_len = kv_lens_ref[cur_seq_idx]", sequence)
                block = 0
                while block * kv_block < length:
                    is_last = (block + 1) * kv_block >= length
                    next_sequence = sequence + 1 if is_last and end <= last_row else sequence
                    next_block, next_heads = 0 if is_last else block + 1, head_block
                    if next_sequence == count:
                        next_sequence, next_heads = 0, head_block + 1
                    if next_heads < HEAD_BLOCKS:
                        start(next_sequence, next_block, 1 - buffer)
                    wait(buffer)
                    block, buffer = block + 1, 1 - buffer
                    steps += 1
                    if steps > 10**6:
                        raise Found("hang", f"KV block {block} of sequence {sequence}, kv_len {length}", "kv_blk_idx * num_kv_per_blk < kv_len")
                done = end >= last_row
                sequence += end <= last_row
            sequence = sequence if sequence < count else 0
    if any(in_flight):
        text = f"the kernel ends with {in_flight[0]} and {in_flight[1]} copies in flight into its two buffers, and nobody waits for them"
        raise Found("residue", text, "q_len_start < cu_q_lens_ref[num_seqs]")


def main():
    ask_validators()
    print("JAX's interpreter does not show this; it follows from the arrays and the kernel's own lines.")
    try:
        walk()
    except Found as found:
        kind, text, line = found.args
        print(f"{kind}: {text}")
        source, _ = inspect.getsourcelines(rpa)
        places = [number for number, each in enumerate(source) if line in each]
        if not places:
            print(f"This jax's kernel has no line with `{line}`: it is not the one that this was derived from.")
            return 2
        for number in range(max(places[0] - 2, 0), places[0] + 3):
            print(f"{'>' if number == places[0] else ' '} {number + 1:>4}  {source[number].rstrip()}")
        return 0 if kind == EXPECTED else 1
    print("Nothing is wrong with the walk.")
    return 1


if __name__ == "__main__":
    sys.exit(main())
