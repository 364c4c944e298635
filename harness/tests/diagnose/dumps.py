"""Dumps batches as a serving engineer would: correct ones, one for each slip, and several slips at once.

`python dumps.py FOLDER` writes a file for each, and expected.json: by file, the slips that `diagnose` must name, in order, the
arguments that it needs, and whether there is one correction.
"""

import json
import struct
import sys
from pathlib import Path

import numpy as np

PAGE_SIZE = 16
PAGES = 64
ROWS = 8
COLUMNS = 6
SHAPES = f"page_size={PAGE_SIZE},pages={PAGES}"

folder = Path(sys.argv[1])
expected = {}
rng = np.random.default_rng(5)


def cumulative(q_lens, rows=ROWS):
    ends = np.concatenate([[0], np.cumsum(q_lens)]).astype(np.int32)
    return np.pad(ends, (0, rows + 1 - len(ends)), mode="edge")


def padded(values, rows=ROWS):
    return np.pad(np.asarray(values, np.int32), (0, rows - len(values)))


def table(kv_lens, rows=ROWS, columns=COLUMNS, pages=PAGES):
    free = list(rng.permutation(pages))
    indices = np.zeros((rows, columns), np.int32)
    for row, kv_len in enumerate(kv_lens):
        used = -(-int(kv_len) // PAGE_SIZE)
        indices[row, :used] = [free.pop() for _ in range(used)]
    return indices


def batch(q_lens, kv_lens, **sizes):
    """Metadata of a right batch."""
    return dict(
        kv_lens=padded(kv_lens),
        page_indices=table(kv_lens, **sizes),
        cu_q_lens=cumulative(q_lens),
        num_seqs=np.array([len(q_lens)], np.int32),
    )


def payload(tokens, pages=PAGES, q_heads=8, kv_heads=2, head_dim=128, dtype=np.float32):
    """q and the cache, small."""
    return dict(
        q=rng.standard_normal((tokens, q_heads, head_dim)).astype(dtype),
        kv_pages=rng.standard_normal((pages, PAGE_SIZE, 2 * kv_heads, head_dim)).astype(dtype),
    )


def dump(name, arrays, slips, tokens=None, fix=None, args=(), save=np.savez):
    save(folder / name, **arrays)
    variant = [] if tokens is None else ["--variant", f"tokens={tokens},{SHAPES}"]
    expected[name] = dict(slips=slips, args=[*variant, *args], fix=fix)


def save_safetensors(path, **arrays):
    """The format is a length, a JSON header, the bytes."""
    names = {"float32": "F32", "int32": "I32", "int64": "I64"}
    header, data = {}, b""
    for name, array in arrays.items():
        end = len(data) + array.nbytes
        header[name] = dict(dtype=names[str(array.dtype)], shape=array.shape, data_offsets=[len(data), end])
        data += array.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def save_folder(path, **arrays):
    path.mkdir()
    for name, array in arrays.items():
        np.save(path / f"{name}.npy", array)


# What most dumps below are made from: two prefills, one of them behind a cached prefix, and three decodes.
Q_LENS, KV_LENS = [5, 1, 3, 1, 1], [5, 29, 19, 64, 7]


def usual():
    return batch(Q_LENS, KV_LENS)


# ---- right ones ------------------------------------------------------------------------------------------------------------

dump("right-with-payload.npz", usual() | payload(16), [])
dump("right-metadata-alone.npz", usual(), [], tokens=16)
dump("right-without-shapes.npz", usual(), [])
dump("right-compressed.npz", usual() | payload(16), [], save=np.savez_compressed)
dump("right.safetensors", usual() | payload(16), [], save=save_safetensors)
dump("right-folder", usual() | payload(16), [], save=save_folder)
dump("right-decode-only.npz", batch([1] * 8, [17, 3, 96, 16, 1, 33, 80, 48]), [], tokens=8)

stale = usual()
stale["kv_lens"][5:] = [40, 2000, 9]  # what an earlier batch left there; nobody may look at it
stale["cu_q_lens"][6:] = [12, 3, 700]
stale["page_indices"][5:] = -1
dump("right-garbage-past-num-seqs.npz", stale, [], tokens=16)

raw = usual() | payload(16)
raw["q"] = raw["q"].astype(np.float16).view("V2")  # how NumPy saves bf16
raw["kv_pages"] = np.abs(raw["kv_pages"]).astype(np.int8).view("V1")  # and fp8
dump("right-bf16-and-fp8.npz", raw, [], args=["--dtype", "q=bf16", "--dtype", "kv_pages=f8e5m2"])

renamed = usual()
renamed = dict(
    seq_lens=renamed["kv_lens"],
    block_tables=renamed["page_indices"],
    query_start_loc=renamed["cu_q_lens"],
    num_seqs=renamed["num_seqs"],
)
maps = ["--map", "kv_lens=seq_lens", "--map", "page_indices=block_tables", "--map", "cu_q_lens=query_start_loc"]
dump("right-other-names.npz", renamed, [], tokens=16, args=maps)

# ---- cu_q_lens -------------------------------------------------------------------------------------------------------------


def slip(name, slips, change, tokens=16, fix=True, base=None):
    arrays = usual() if base is None else base
    change(arrays)
    dump(f"{name}.npz", arrays, slips, tokens=tokens, fix=fix)


def change(**arrays):
    return lambda batch: batch.update(arrays)


slip("leading-zero-missing", ["leading-zero-missing"], change(cu_q_lens=padded(np.cumsum(Q_LENS), ROWS + 1)))
full_q, full_kv = [4, 1, 1, 2, 1, 1, 1, 3], [4, 9, 33, 2, 17, 1, 96, 3]
slip(
    "leading-zero-missing-full-table",
    ["leading-zero-missing"],
    change(cu_q_lens=np.cumsum(full_q).astype(np.int32)),
    base=batch(full_q, full_kv),
)
slip("lengths-not-sums", ["lengths-not-sums"], change(cu_q_lens=padded(Q_LENS, ROWS + 1)))
slip("lengths-after-zero", ["lengths-after-zero"], change(cu_q_lens=padded([0, *Q_LENS], ROWS + 1)))
slip(
    "lengths-all-decode",
    ["lengths-after-zero"],
    change(cu_q_lens=padded([0, 1, 1, 1, 1], ROWS + 1)),
    base=batch([1] * 4, [17, 3, 90, 16]),
)
slip(
    "two-leading-zeros",
    ["exclusive-shift"],
    change(cu_q_lens=padded([0, 0, 5, 6, 9, 10], ROWS + 1)),
    fix=False,  # how many tokens the last sequence has is lost
)
slip("total-missing", ["total-missing"], change(cu_q_lens=padded([0, 5, 6, 9, 10], ROWS + 1)), fix=False)
slip(
    "total-missing-last-prefill-of-one",
    ["total-missing"],
    change(cu_q_lens=padded([0, 5, 6], ROWS + 1)),
    base=batch([5, 1, 1], [5, 29, 1]),
)
slip("counted-from-elsewhere", ["starts-above-zero"], lambda b: b.update(cu_q_lens=b["cu_q_lens"] + np.int32(37)), tokens=11)
slip("too-few-rows", ["too-few-rows"], lambda b: None, tokens=8, fix=False)


def prefills():
    return batch([7, 12, 4], [7, 12, 4])


slip("entry-one-too-large", ["off-by-one-entry"], lambda b: b["cu_q_lens"].__setitem__(1, 8), tokens=32, base=prefills())
slip("entry-one-too-small", ["off-by-one-entry"], lambda b: b["cu_q_lens"].__setitem__(2, 18), tokens=32, base=prefills())
slip("entry-negative", ["garbage-entry"], lambda b: b["cu_q_lens"].__setitem__(2, -7), fix=False)
slip("entry-overflown", ["garbage-entry"], lambda b: b["cu_q_lens"].__setitem__(4, 2**31 - 3), fix=True)

# ---- num_seqs --------------------------------------------------------------------------------------------------------------


def zeros_past(arrays):
    arrays["cu_q_lens"][6:] = 0
    arrays["num_seqs"][0] = 6


slip("num-seqs-one-too-many", ["num-seqs-off-by-one"], zeros_past)
slip("num-seqs-counts-padding", ["num-seqs-counts-padding"], change(num_seqs=np.array([8], np.int32)))
slip("num-seqs-length-of-cu-q-lens", ["num-seqs-off-by-one"], change(num_seqs=np.array([9], np.int32)), base=batch(full_q, full_kv))
slip("num-seqs-never-set", ["num-seqs-not-set"], change(num_seqs=np.array([0], np.int32)))


def stale_tail(arrays):
    # The step before had eight sequences, and num_seqs is still its.
    arrays["cu_q_lens"][6:] = [4, 5, 9]
    arrays["kv_lens"][5:] = [18, 33, 40]
    arrays["page_indices"][5:, :3] = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    arrays["num_seqs"][0] = 8


slip("stale-tail", ["stale-tail"], stale_tail)

# ---- kv_lens ---------------------------------------------------------------------------------------------------------------

slip(
    "lengths-swapped",
    ["lengths-swapped"],
    change(kv_lens=padded(Q_LENS), cu_q_lens=cumulative(KV_LENS)),
)
slip(
    "kv-lens-without-new-tokens",
    ["kv-lens-without-new-tokens"],
    change(kv_lens=padded([0, 28, 0, 63])),
    base=batch([5, 1, 3, 1], [5, 29, 3, 64]),
)
slip("kv-lens-cumulative", ["kv-lens-cumulative"], change(kv_lens=padded(np.cumsum(KV_LENS))))
slip("kv-len-one-too-small", ["off-by-one-length"], lambda b: b["kv_lens"].__setitem__(0, 4), fix=True)
slip("table-too-narrow", ["table-too-narrow"], lambda b: b.update(page_indices=b["page_indices"][:, :3].copy()), fix=False)

# ---- page_indices ----------------------------------------------------------------------------------------------------------

slip("pages-of-another-pool", ["pages-of-another-pool"], lambda b: b.update(page_indices=b["page_indices"] + 512), fix=False)
slip("slots-not-pages", ["slots-not-pages"], lambda b: b.update(page_indices=b["page_indices"] * PAGE_SIZE))
slip("page-not-allocated", ["page-not-allocated"], lambda b: b["page_indices"].__setitem__((3, 3), -1), fix=False)
slip("flat-page-table", ["flat-page-table"], lambda b: b.update(page_indices=b["page_indices"].reshape(-1)))
slip(
    "packed-page-table",
    ["packed-page-table"],
    lambda b: b.update(page_indices=np.concatenate([row[: -(-kv // PAGE_SIZE)] for row, kv in zip(b["page_indices"], KV_LENS)])),
)
slip("transposed-page-table", ["transposed-page-table"], lambda b: b.update(page_indices=b["page_indices"].T.copy()))

# ---- types and shapes ------------------------------------------------------------------------------------------------------

slip("int64", ["metadata-int64"], lambda b: b.update({name: array.astype(np.int64) for name, array in b.items()}))
slip("float", ["metadata-float"], lambda b: b.update(kv_lens=b["kv_lens"] / 1.0))
slip("num-seqs-scalar", ["num-seqs-shape"], change(num_seqs=np.int32(5)))
slip("not-padded", ["not-padded"], change(kv_lens=np.array(KV_LENS, np.int32)))
narrow = usual() | payload(16) | dict(q=payload(16, head_dim=64)["q"])
dump("head-dim-not-padded.npz", narrow, ["head-dim-equal"], fix=False)

# ---- several at once -------------------------------------------------------------------------------------------------------

slip(
    "int64-lengths",
    ["lengths-not-sums", "metadata-int64"],
    change(cu_q_lens=np.pad(Q_LENS, (0, ROWS + 1 - len(Q_LENS)))),
)
slip(
    "leading-zero-and-another-pool",
    ["leading-zero-missing", "pages-of-another-pool"],
    lambda b: b.update(cu_q_lens=padded(np.cumsum(Q_LENS), ROWS + 1), page_indices=b["page_indices"] + 512),
    fix=False,
)
slip(
    "flat-int64-lengths-and-slots",
    ["flat-page-table", "slots-not-pages", "lengths-after-zero", "metadata-int64"],
    lambda b: b.update(
        cu_q_lens=padded([0, *Q_LENS], ROWS + 1), page_indices=b["page_indices"].reshape(-1).astype(np.int64) * PAGE_SIZE
    ),
)

(folder / "expected.json").write_text(json.dumps(expected, indent=1))
