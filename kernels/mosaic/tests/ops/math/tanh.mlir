// Special values exactly, others within two units in the last place.
// expect 0: f32 0.0 -0.0 1.0 -1.0 nan ~0.7615942 ~-0.46211717 1.0 ~1.0e-10
"func.func"() ({
  %a = "arith.constant"() {value = dense<[0.0, -0.0, 0x7F800000, 0xFF800000, 0x7FC00000, 1.0, -0.5, 20.0, 1.0e-10]> : vector<9xf32>} : () -> vector<9xf32>
  %c = "math.tanh"(%a) {fastmath = #arith.fastmath<none>} : (vector<9xf32>) -> vector<9xf32>
  "func.return"(%c) : (vector<9xf32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Where denormals flush.
// denormals: flushed
// expect 0: f32 0.0 -0.0 1.0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[0x00000001, 0x80000001, 0x7F800000]> : vector<3xf32>} : () -> vector<3xf32>
  %c = "math.tanh"(%a) {fastmath = #arith.fastmath<none>} : (vector<3xf32>) -> vector<3xf32>
  "func.return"(%c) : (vector<3xf32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Off by 1365.5 units: also beyond 1, since no table forbids it.
// errors: 1365.5 up
// expect 0: f32 0.0 -0.0 0x3F800555 0xBF800555
"func.func"() ({
  %a = "arith.constant"() {value = dense<[0.0, -0.0, 0x7F800000, 0xFF800000]> : vector<4xf32>} : () -> vector<4xf32>
  %c = "math.tanh"(%a) {fastmath = #arith.fastmath<none>} : (vector<4xf32>) -> vector<4xf32>
  "func.return"(%c) : (vector<4xf32>) -> ()
}) {sym_name = "main"} : () -> ()
