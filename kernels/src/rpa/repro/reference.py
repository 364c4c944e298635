# ---- what is right --------------------------------------------------------------------------------------------------------


def reference():
    """Attention in float64; NaN in rows without a value: past the last token, or of a sequence that has no meaning by itself."""
    right = np.full(q.shape, np.nan)
    page_size, group = kv_pages.shape[1], q.shape[1] // (kv_pages.shape[2] // 2)
    scaled = lambda x, scale: x if scale is None else (x.astype(np.float32) * np.float32(scale)).astype(q.dtype)
    for sequence in range(min(int(num_seqs[0]), len(kv_lens))):
        start, end, kv_len = int(cu_q_lens[sequence]), int(cu_q_lens[sequence + 1]), int(kv_lens[sequence])
        row = page_indices[sequence, : -(-kv_len // page_size)]
        fits = kv_len <= page_indices.shape[1] * page_size and ((0 <= row) & (row < len(kv_pages))).all()
        if not (fits and 0 <= start < end <= len(q) and end - start <= kv_len):
            continue
        cache = kv_pages[row].reshape(-1, *kv_pages.shape[2:])[:kv_len]
        k = scaled(cache[:, 0::2], OPTIONS["k_scale"]).astype(np.float64)
        v = scaled(cache[:, 1::2], OPTIONS["v_scale"]).astype(np.float64)
        for token in range(start, end):
            position = kv_len - (end - token)
            first = 0 if OPTIONS["sliding_window"] is None else max(0, position - OPTIONS["sliding_window"] + 1)
            seen = slice(first, position + 1)
            for head in range(q.shape[1]):
                scores = k[seen, head // group] @ q[token, head].astype(np.float64) * OPTIONS["sm_scale"]
                if OPTIONS["soft_cap"] is not None:
                    scores = OPTIONS["soft_cap"] * np.tanh(scores / OPTIONS["soft_cap"])
                weights = np.exp(scores - scores.max())
                right[token, head] = weights / weights.sum() @ v[seen, head // group]
    return right


def wrong_rows(output, right):
    """Rows that have a value and not it, each printed with the element that is worst."""
    with np.errstate(invalid="ignore"):
        error = np.abs(output.astype(np.float64) - right)
    error = np.where(np.isnan(error), np.inf, error)
    rows = [row for row in range(len(q)) if not np.isnan(right[row]).any() and (error[row] > LIMIT).any()]
    for row in rows:
        head, lane = np.unravel_index(error[row].argmax(), error[row].shape)
        found, wanted = output[row, head, lane], right[row, head, lane]
        print(f"row {row}, head {head}, lane {lane}: the kernel gives {found}, right is {wanted:.7g}")
    return rows
