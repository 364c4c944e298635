def main():
    said = [words for words in ask_validators().values() if words]
    print(f"What is wrong with the batch: {WRONG}")
    return 0 if any(BEGINS in words and CONTAINS in words for words in said) else 1
