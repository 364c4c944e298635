def main():
    ask_validators()
    rows = wrong_rows(run_kernel(), reference())
    print(f"{len(rows)} row(s) are wrong by more than rounding explains ({LIMIT:.3g})")
    return 0 if rows else 1
