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
