# ---- the call -------------------------------------------------------------------------------------------------------------


def operands():
    """The arguments of the entry point, in its order."""
    return [jnp.asarray(array) for array in (kv_pages, kv_lens, page_indices, cu_q_lens, num_seqs)]


def ask_validators():
    """This kernel has no checks."""
    return {}
