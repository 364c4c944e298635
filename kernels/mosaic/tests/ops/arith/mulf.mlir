// 2^-100 * 2^-49 is the smallest denormal, * 2^-50 a tie with zero, * 1.5 2^-50 rounds up again.
// expect 0: f32 -1.5 -0.0 0.0 nan nan inf 0x00000001 0.0 0x00000001 0x3F800002
"func.func"() ({
  %a = "arith.constant"() {value = dense<[3.0, 0.0, -0.0, 0x7F800000, 0x7FC00000, 1.0e30, 0x0D800000, 0x0D800000, 0x0D800000, 0x3F800001]> : vector<10xf32>} : () -> vector<10xf32>
  %b = "arith.constant"() {value = dense<[-0.5, -1.0, -1.0, 0.0, 0.0, 1.0e30, 0x27000000, 0x26800000, 0x26C00000, 0x3F800001]> : vector<10xf32>} : () -> vector<10xf32>
  %c = "arith.mulf"(%a, %b) {fastmath = #arith.fastmath<none>} : (vector<10xf32>, vector<10xf32>) -> vector<10xf32>
  "func.return"(%c) : (vector<10xf32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// (1 + 2^-7)^2 and (1 + 3 2^-7)^2 rounded to eight bits.
// expect 0: bf16 0x3F82 0x3F86 inf
"func.func"() ({
  %a = "arith.constant"() {value = dense<[0x3F81, 0x3F83, 0x7F00]> : vector<3xbf16>} : () -> vector<3xbf16>
  %b = "arith.constant"() {value = dense<[0x3F81, 0x3F83, 4.0]> : vector<3xbf16>} : () -> vector<3xbf16>
  %c = "arith.mulf"(%a, %b) {fastmath = #arith.fastmath<none>} : (vector<3xbf16>, vector<3xbf16>) -> vector<3xbf16>
  "func.return"(%c) : (vector<3xbf16>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Zero times undefined is undefined: 0 times NaN would be NaN.
// expect 0: f32 undef*4
"func.func"() ({
^bb0(%s: memref<4xf32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %u = "vector.load"(%s, %0) : (memref<4xf32, #tpu.memory_space<vmem>>, index) -> vector<4xf32>
  %b = "arith.constant"() {value = dense<[0.0, 1.0, 0x7FC00000, 0x7F800000]> : vector<4xf32>} : () -> vector<4xf32>
  %c = "arith.mulf"(%u, %b) {fastmath = #arith.fastmath<none>} : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  "func.return"(%c) : (vector<4xf32>) -> ()
}) {scratch_operands = 1 : i64, sym_name = "main"} : () -> ()
// -----
// Where denormals flush: 2^-64 times ±2^-64, a denormal times 2^30, and the smallest normal, which stays.
// denormals: flushed
// expect 0: f32 0.0 -0.0 0.0 0x00800000
"func.func"() ({
  %a = "arith.constant"() {value = dense<[0x1F800000, 0x9F800000, 0x00400000, 0x00800000]> : vector<4xf32>} : () -> vector<4xf32>
  %b = "arith.constant"() {value = dense<[0x1F800000, 0x1F800000, 0x4E800000, 1.0]> : vector<4xf32>} : () -> vector<4xf32>
  %c = "arith.mulf"(%a, %b) {fastmath = #arith.fastmath<none>} : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  "func.return"(%c) : (vector<4xf32>) -> ()
}) {sym_name = "main"} : () -> ()
