SECONDS = 300


def main():
    if sys.argv[1:] == ["--child"]:
        run_kernel()
        return 0
    ask_validators()
    try:
        subprocess.run([sys.executable, __file__, "--child"], timeout=SECONDS, check=True)
    except subprocess.TimeoutExpired:
        print(f"The kernel did not end within {SECONDS} s.")
        return 0
    print("The kernel ends.")
    return 1
