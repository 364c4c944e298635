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
