// Special values exactly, others within two units in the last place; denormal results are kept.
// expect 0: f32 1.0 1.0 0.0 inf nan ~2.7182817 ~0.36787945 ~4.539993e-5 ~2.723088e38 inf ~3.783506e-44 0.0 ~1.6458115e-38
"func.func"() ({
  %a = "arith.constant"() {value = dense<[0.0, -0.0, 0xFF800000, 0x7F800000, 0x7FC00000, 1.0, -1.0, -10.0, 88.5, 89.0, -100.0, -104.0, -87.0]> : vector<13xf32>} : () -> vector<13xf32>
  %c = "math.exp"(%a) {fastmath = #arith.fastmath<none>} : (vector<13xf32>) -> vector<13xf32>
  "func.return"(%c) : (vector<13xf32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Of undefined lanes.
// expect 0: f32 undef*2
"func.func"() ({
^bb0(%s: memref<2xf32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %u = "vector.load"(%s, %0) : (memref<2xf32, #tpu.memory_space<vmem>>, index) -> vector<2xf32>
  %c = "math.exp"(%u) {fastmath = #arith.fastmath<none>} : (vector<2xf32>) -> vector<2xf32>
  "func.return"(%c) : (vector<2xf32>) -> ()
}) {scratch_operands = 1 : i64, sym_name = "main"} : () -> ()
// -----
// Where denormals flush, results below the smallest normal are 0.
// denormals: flushed
// expect 0: f32 ~1.6458115e-38 0.0 1.0 1.0 0.0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[-87.0, -88.0, 0x00000001, 0x80000001, 0xFF800000]> : vector<5xf32>} : () -> vector<5xf32>
  %c = "math.exp"(%a) {fastmath = #arith.fastmath<none>} : (vector<5xf32>) -> vector<5xf32>
  "func.return"(%c) : (vector<5xf32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Off by 116 units, half of one left to rounding: exp(0) is 1 + 115 * 2^-23; zero and infinity stay.
// errors: 116 up
// expect 0: f32 0x3F800073 0.0 inf nan
"func.func"() ({
  %a = "arith.constant"() {value = dense<[0.0, 0xFF800000, 0x7F800000, 0x7FC00000]> : vector<4xf32>} : () -> vector<4xf32>
  %c = "math.exp"(%a) {fastmath = #arith.fastmath<none>} : (vector<4xf32>) -> vector<4xf32>
  "func.return"(%c) : (vector<4xf32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Towards zero: 1 - 231 * 2^-24.
// errors: 116 down
// expect 0: f32 0x3F7FFF19
"func.func"() ({
  %a = "arith.constant"() {value = dense<[0.0]> : vector<1xf32>} : () -> vector<1xf32>
  %c = "math.exp"(%a) {fastmath = #arith.fastmath<none>} : (vector<1xf32>) -> vector<1xf32>
  "func.return"(%c) : (vector<1xf32>) -> ()
}) {sym_name = "main"} : () -> ()
