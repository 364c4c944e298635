// Left minus right; 0 - 0 is +0, -0 - 0 is -0; denormal differences stay.
// expect 0: f32 -0.75 0.0 -0.0 0.0 nan 16777216.0 0x80000001 -inf
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1.5, 0.0, -0.0, 0.0, 0x7F800000, 16777216.0, 0x00800000, -3.0e38]> : vector<8xf32>} : () -> vector<8xf32>
  %b = "arith.constant"() {value = dense<[2.25, 0.0, 0.0, -0.0, 0x7F800000, -1.0, 0x00800001, 3.0e38]> : vector<8xf32>} : () -> vector<8xf32>
  %c = "arith.subf"(%a, %b) {fastmath = #arith.fastmath<none>} : (vector<8xf32>, vector<8xf32>) -> vector<8xf32>
  "func.return"(%c) : (vector<8xf32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// 1 - 2^-9 is a tie between 1 and 1 - 2^-8, which goes to the even 1.
// expect 0: bf16 0x3F80 1.0 1.0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1.0, 1.0, 3.0]> : vector<3xbf16>} : () -> vector<3xbf16>
  %b = "arith.constant"() {value = dense<[0x3B00, 0x3A80, 0x4000]> : vector<3xbf16>} : () -> vector<3xbf16>
  %c = "arith.subf"(%a, %b) {fastmath = #arith.fastmath<none>} : (vector<3xbf16>, vector<3xbf16>) -> vector<3xbf16>
  "func.return"(%c) : (vector<3xbf16>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Where denormals flush, operands and results do.
// denormals: flushed
// expect 0: f32 0x00800000 0.0 0.0 -0.0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[0x00800000, 0x00800001, 0x00000001, 0x80000001]> : vector<4xf32>} : () -> vector<4xf32>
  %b = "arith.constant"() {value = dense<[0x00400000, 0x00800000, 0x00000001, 0.0]> : vector<4xf32>} : () -> vector<4xf32>
  %c = "arith.subf"(%a, %b) {fastmath = #arith.fastmath<none>} : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  "func.return"(%c) : (vector<4xf32>) -> ()
}) {sym_name = "main"} : () -> ()
