// Rounds to nearest even, keeps denormals; signs of zero, infinities and NaN as in IEEE 754.
// expect 0: f32 3.75 -0.0 0.0 inf nan nan inf 16777216.0 16777220.0 0x00000001
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1.5, -0.0, -0.0, 0x7F800000, 0x7F800000, 0x7FC00000, 3.0e38, 16777216.0, 16777218.0, 0x00800000]> : vector<10xf32>} : () -> vector<10xf32>
  %b = "arith.constant"() {value = dense<[2.25, -0.0, 0.0, 1.0, 0xFF800000, 1.0, 3.0e38, 1.0, 1.0, 0x807FFFFF]> : vector<10xf32>} : () -> vector<10xf32>
  %c = "arith.addf"(%a, %b) {fastmath = #arith.fastmath<none>} : (vector<10xf32>, vector<10xf32>) -> vector<10xf32>
  "func.return"(%c) : (vector<10xf32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// A bf16 sum is rounded to bf16: 2^-8 is half a unit at 1, and ties go to even.
// expect 0: bf16 1.0 0x3F82 0x3F81 256.0 inf 0.0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1.0, 0x3F81, 0x3F81, 256.0, 0x7F7F, -1.0]> : vector<6xbf16>} : () -> vector<6xbf16>
  %b = "arith.constant"() {value = dense<[0x3B80, 0x3B80, 0x3B00, 1.0, 0x7F7F, 1.0]> : vector<6xbf16>} : () -> vector<6xbf16>
  %c = "arith.addf"(%a, %b) {fastmath = #arith.fastmath<none>} : (vector<6xbf16>, vector<6xbf16>) -> vector<6xbf16>
  "func.return"(%c) : (vector<6xbf16>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// A sum with an undefined lane is undefined, even with NaN.
// expect 0: f32 undef*4
"func.func"() ({
^bb0(%s: memref<4xf32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %u = "vector.load"(%s, %0) : (memref<4xf32, #tpu.memory_space<vmem>>, index) -> vector<4xf32>
  %b = "arith.constant"() {value = dense<[1.0, 0.0, 2.0, 0x7FC00000]> : vector<4xf32>} : () -> vector<4xf32>
  %c = "arith.addf"(%u, %b) {fastmath = #arith.fastmath<none>} : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  "func.return"(%c) : (vector<4xf32>) -> ()
}) {scratch_operands = 1 : i64, sym_name = "main"} : () -> ()
// -----
// Where denormals flush, a denormal operand is a zero of its sign, and so is a denormal result.
// denormals: flushed
// expect 0: f32 0.0 0x00800000 0.0 -0.0 3.0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[0x00000001, 0x00800000, 0x00800001, 0x80000001, 1.0]> : vector<5xf32>} : () -> vector<5xf32>
  %b = "arith.constant"() {value = dense<[0.0, 0x80400000, 0x80800000, 0x80400000, 2.0]> : vector<5xf32>} : () -> vector<5xf32>
  %c = "arith.addf"(%a, %b) {fastmath = #arith.fastmath<none>} : (vector<5xf32>, vector<5xf32>) -> vector<5xf32>
  "func.return"(%c) : (vector<5xf32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Scalars too: the smallest normal less its successor.
// denormals: flushed
// expect 0: f32 0.0
"func.func"() ({
  %a = "arith.constant"() {value = 0x00800001 : f32} : () -> f32
  %b = "arith.constant"() {value = 0x80800000 : f32} : () -> f32
  %c = "arith.addf"(%a, %b) {fastmath = #arith.fastmath<none>} : (f32, f32) -> f32
  "func.return"(%c) : (f32) -> ()
}) {sym_name = "main"} : () -> ()
