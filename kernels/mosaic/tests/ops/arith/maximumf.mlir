// NaN if either operand is; +0 is larger than -0.
// expect 0: f32 2.0 nan nan 0.0 0.0 -0.0 -1.0 -inf -3.0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1.0, 0x7FC00000, 1.0, 0.0, -0.0, -0.0, 0xFF800000, 0xFF800000, -3.0]> : vector<9xf32>} : () -> vector<9xf32>
  %b = "arith.constant"() {value = dense<[2.0, 1.0, 0x7FC00000, -0.0, 0.0, -0.0, -1.0, 0xFF800000, -4.0]> : vector<9xf32>} : () -> vector<9xf32>
  %c = "arith.maximumf"(%a, %b) {fastmath = #arith.fastmath<none>} : (vector<9xf32>, vector<9xf32>) -> vector<9xf32>
  "func.return"(%c) : (vector<9xf32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// In bf16.
// expect 0: bf16 1.0 nan
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1.0, 0x7FC0]> : vector<2xbf16>} : () -> vector<2xbf16>
  %b = "arith.constant"() {value = dense<[-2.0, 1.0]> : vector<2xbf16>} : () -> vector<2xbf16>
  %c = "arith.maximumf"(%a, %b) {fastmath = #arith.fastmath<none>} : (vector<2xbf16>, vector<2xbf16>) -> vector<2xbf16>
  "func.return"(%c) : (vector<2xbf16>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Undefined either way.
// expect 0: f32 undef*4
"func.func"() ({
^bb0(%s: memref<4xf32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %u = "vector.load"(%s, %0) : (memref<4xf32, #tpu.memory_space<vmem>>, index) -> vector<4xf32>
  %b = "arith.constant"() {value = dense<[0x7F800000, 1.0, 0xFF800000, 0x7FC00000]> : vector<4xf32>} : () -> vector<4xf32>
  %c = "arith.maximumf"(%b, %u) {fastmath = #arith.fastmath<none>} : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  "func.return"(%c) : (vector<4xf32>) -> ()
}) {scratch_operands = 1 : i64, sym_name = "main"} : () -> ()
// -----
// A maximum is no arithmetic: it keeps denormals where they flush elsewhere.
// denormals: flushed
// expect 0: f32 0x00000001 0x80000001
"func.func"() ({
  %a = "arith.constant"() {value = dense<[0x00000001, 0x80000002]> : vector<2xf32>} : () -> vector<2xf32>
  %b = "arith.constant"() {value = dense<[0.0, 0x80000001]> : vector<2xf32>} : () -> vector<2xf32>
  %c = "arith.maximumf"(%a, %b) {fastmath = #arith.fastmath<none>} : (vector<2xf32>, vector<2xf32>) -> vector<2xf32>
  "func.return"(%c) : (vector<2xf32>) -> ()
}) {sym_name = "main"} : () -> ()
