def main():
    ask_validators()
    late, eager = run_kernel("on_wait"), run_kernel("eager")
    rows = [row for row in range(int(cu_q_lens[num_seqs[0]])) if late[row].tobytes() != eager[row].tobytes()]
    print(f"rows that differ with the time at which copies land: {rows}")
    return 0 if rows else 1
