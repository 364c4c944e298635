# ---- what is right --------------------------------------------------------------------------------------------------------


def reference():
    """The gather in float64; NaN in rows without a value: past the last token, or of a sequence that has no meaning by itself."""
    right = np.full((OPTIONS["rows"], *kv_pages.shape[2:]), np.nan)
    page_size = kv_pages.shape[1]
    scales = [1.0 if OPTIONS[name] is None else OPTIONS[name] for name in ("k_scale", "v_scale")]
    scale = np.tile(np.float64(scales), kv_pages.shape[2] // 2)[:, None]
    for sequence in range(min(int(num_seqs[0]), len(kv_lens))):
        start, end, kv_len = int(cu_q_lens[sequence]), int(cu_q_lens[sequence + 1]), int(kv_lens[sequence])
        row = page_indices[sequence, : -(-kv_len // page_size)]
        fits = kv_len <= page_indices.shape[1] * page_size and ((0 <= row) & (row < len(kv_pages))).all()
        if fits and 0 <= start < end <= len(right) and end - start <= kv_len:
            cache = kv_pages[row].reshape(-1, *kv_pages.shape[2:])[:kv_len]
            right[start:end] = cache[kv_len - (end - start) :].astype(np.float64) * scale
    return right


def wrong_rows(output, right):
    """Rows that have a value and not it, each printed with the element that is worst."""
    with np.errstate(invalid="ignore"):
        error = np.abs(output.astype(np.float64) - right)
    error = np.where(np.isnan(error), np.inf, error)
    rows = [row for row in range(len(right)) if not np.isnan(right[row]).any() and (error[row] > LIMIT).any()]
    for row in rows:
        head, lane = np.unravel_index(error[row].argmax(), error[row].shape)
        found, wanted = output[row, head, lane], right[row, head, lane]
        print(f"row {row}, head {head}, lane {lane}: the kernel gives {found}, right is {wanted:.7g}")
    return rows
