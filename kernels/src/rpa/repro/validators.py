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
