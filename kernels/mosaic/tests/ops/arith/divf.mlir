// Rounded once; division by zero as in IEEE 754; denormal quotients stay.
// expect 0: f32 0x3EAAAAAB inf -inf nan nan -0.0 0x00400000 inf -1.5
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1.0, 1.0, -1.0, 0.0, 0x7F800000, 1.0, 0x00800000, 1.0e38, -6.0]> : vector<9xf32>} : () -> vector<9xf32>
  %b = "arith.constant"() {value = dense<[3.0, 0.0, 0.0, 0.0, 0x7F800000, 0xFF800000, 2.0, 0.1, 4.0]> : vector<9xf32>} : () -> vector<9xf32>
  %c = "arith.divf"(%a, %b) {fastmath = #arith.fastmath<none>} : (vector<9xf32>, vector<9xf32>) -> vector<9xf32>
  "func.return"(%c) : (vector<9xf32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Thirds in bf16.
// expect 0: bf16 0x3EAB 0x3F2B 1.5
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1.0, 2.0, 0x4040]> : vector<3xbf16>} : () -> vector<3xbf16>
  %b = "arith.constant"() {value = dense<[3.0, 3.0, 2.0]> : vector<3xbf16>} : () -> vector<3xbf16>
  %c = "arith.divf"(%a, %b) {fastmath = #arith.fastmath<none>} : (vector<3xbf16>, vector<3xbf16>) -> vector<3xbf16>
  "func.return"(%c) : (vector<3xbf16>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Where denormals flush: a result of 2^-130, 0/0, 1/0 and -0/1.
// denormals: flushed
// expect 0: f32 0.0 nan inf -0.0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[0x0D800000, 0x00000001, 1.0, 0x80000001]> : vector<4xf32>} : () -> vector<4xf32>
  %b = "arith.constant"() {value = dense<[0x4E800000, 0x00000001, 0x00000001, 1.0]> : vector<4xf32>} : () -> vector<4xf32>
  %c = "arith.divf"(%a, %b) {fastmath = #arith.fastmath<none>} : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  "func.return"(%c) : (vector<4xf32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Off by 198 units, half of one left to rounding: 1 + 197 * 2^-23, of either sign; zero and infinity stay.
// errors: 198 up
// expect 0: f32 0x3F8000C5 0xBF8000C5 0.0 inf 0xC00000C5
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1.0, -1.0, 0.0, 1.0, 6.0]> : vector<5xf32>} : () -> vector<5xf32>
  %b = "arith.constant"() {value = dense<[1.0, 1.0, 1.0, 0.0, -3.0]> : vector<5xf32>} : () -> vector<5xf32>
  %c = "arith.divf"(%a, %b) {fastmath = #arith.fastmath<none>} : (vector<5xf32>, vector<5xf32>) -> vector<5xf32>
  "func.return"(%c) : (vector<5xf32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Towards zero: 1 - 395 * 2^-24.
// errors: 198 down
// expect 0: f32 0x3F7FFE75
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1.0]> : vector<1xf32>} : () -> vector<1xf32>
  %b = "arith.constant"() {value = dense<[1.0]> : vector<1xf32>} : () -> vector<1xf32>
  %c = "arith.divf"(%a, %b) {fastmath = #arith.fastmath<none>} : (vector<1xf32>, vector<1xf32>) -> vector<1xf32>
  "func.return"(%c) : (vector<1xf32>) -> ()
}) {sym_name = "main"} : () -> ()
