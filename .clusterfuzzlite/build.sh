#!/bin/bash -eu
# Builds the fuzz targets into $OUT, as ClusterFuzzLite and OSS-Fuzz want them.
#
# `differential` and `minimize_keeps` are left out: they run the real kernel, which takes a Python with jax, and the machines that
# run these targets have none. `countersign nightly` is their place.
cd "$SRC/countersign"

targets="case_codec diagnose parse_module validators"
triple=$(rustc -vV | sed -n 's/^host: //p')

cargo fuzz build --release --sanitizer "${SANITIZER:-address}" --target "$triple"
for target in $targets; do
  cp "${CARGO_TARGET_DIR:-fuzz/target}/$triple/release/$target" "$OUT/"
done

# Modules of the tests to start from, under names that don't clash; the longest has 200,000 bytes.
seeds=$(mktemp -d)
find kernels/mosaic/tests -name '*.mlir' | while read -r file; do
  cp "$file" "$seeds/$(sha256sum < "$file" | cut -c1-16).mlir"
done
(cd "$seeds" && python3 -m zipfile -c "$OUT/parse_module_seed_corpus.zip" ./*.mlir)
rm -r "$seeds"
printf '[libfuzzer]\nmax_len = 200000\n' > "$OUT/parse_module.options"
