def walk():
    """What gather_kernel does with its scalars: which token goes to which row."""
    count, columns, page_size = int(num_seqs[0]), page_indices.shape[1], kv_pages.shape[1]
    owned = min(max(count, 0), len(kv_lens))

    def owns_page(sequence, column):
        used = -(-max(int(kv_lens[sequence]), 0) // page_size)
        # An empty sequence's first entry counts, too, where it names a page.
        names = 0 <= page_indices[sequence, 0] < len(kv_pages)
        return sequence < owned and column < max(used, int(names))

    lens = Scalars("kv_lens", kv_lens, lambda sequence: sequence < owned)
    ends = Scalars("cu_q_lens", cu_q_lens, lambda entry: entry <= owned)
    pages = Scalars("page_indices", page_indices, owns_page)
    loop = "lax.fori_loop(cu_q_lens[sequence], cu_q_lens[sequence + 1]"
    for sequence in range(count):
        for row in range(ends.read(loop, sequence), ends.read(loop, sequence + 1)):
            position = lens.read("position = kv_lens[sequence]", sequence) - (int(cu_q_lens[sequence + 1]) - row)
            # As in C, division rounds towards 0.
            column = int(position / page_size)
            slot = position - column * page_size
            page = pages.read("page = page_indices[sequence", sequence, column)
            if not 0 <= page < len(kv_pages) or not 0 <= slot < page_size:
                text = f"token {slot} of page {page} is copied from, and kv_pages has {len(kv_pages)} pages of {page_size}"
                raise Found("out-of-bounds", text, "pages.at[page, lax.rem(position, page_size)]")
            if not 0 <= row < OPTIONS["rows"]:
                text = f"row {row} is written, and the output has {OPTIONS['rows']}"
                raise Found("out-of-bounds", text, "out[row] = value")
