// bf16 is the upper half of f32.
// expect 0: f32 1.0 nan -inf 0x00010000 -0.0 0x40490000
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1.0, 0x7FC0, 0xFF80, 0x0001, 0x8000, 0x4049]> : vector<6xbf16>} : () -> vector<6xbf16>
  %c = "arith.extf"(%a) : (vector<6xbf16>) -> vector<6xf32>
  "func.return"(%c) : (vector<6xf32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// f16, denormals included.
// expect 0: f32 1.0 65504.0 0x33800000 -inf nan
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1.0, 0x7BFF, 0x0001, 0xFC00, 0x7E00]> : vector<5xf16>} : () -> vector<5xf16>
  %c = "arith.extf"(%a) : (vector<5xf16>) -> vector<5xf32>
  "func.return"(%c) : (vector<5xf32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// e4m3fn has no infinity.
// expect 0: f32 1.0 448.0 0x3B000000 -0.0 nan nan
"func.func"() ({
  %a = "arith.constant"() {value = dense<[0x38, 0x7E, 0x01, 0x80, 0x7F, 0xFF]> : vector<6xf8E4M3FN>} : () -> vector<6xf8E4M3FN>
  %c = "arith.extf"(%a) : (vector<6xf8E4M3FN>) -> vector<6xf32>
  "func.return"(%c) : (vector<6xf32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// e5m2.
// expect 0: f32 1.0 57344.0 0x37800000 inf nan
"func.func"() ({
  %a = "arith.constant"() {value = dense<[0x3C, 0x7B, 0x01, 0x7C, 0x7F]> : vector<5xf8E5M2>} : () -> vector<5xf8E5M2>
  %c = "arith.extf"(%a) : (vector<5xf8E5M2>) -> vector<5xf32>
  "func.return"(%c) : (vector<5xf32>) -> ()
}) {sym_name = "main"} : () -> ()
