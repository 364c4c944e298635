def main():
    refused = [words for words in ask_validators().values() if words]
    rows = wrong_rows(run_kernel(), reference())
    print("The batch keeps every rule." if refused else "Nothing refuses the batch any more.")
    print(f"{len(rows)} row(s) are wrong by more than rounding explains ({LIMIT:.3g})")
    return 0 if refused and not rows else 1
