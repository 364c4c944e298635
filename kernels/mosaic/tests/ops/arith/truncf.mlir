// To bf16: to nearest, ties to even; a NaN whose payload lies in the lower half stays NaN.
// expect 0: bf16 1.0 0x3F80 0x3F82 0x3F81 inf nan -inf 0.0 0x0001 -0.0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1.0, 0x3F808000, 0x3F818000, 0x3F808001, 0x7F7FFFFF, 0x7F800001, 0xFF800000, 0x00008000, 0x00008001, 0x80000000]> : vector<10xf32>} : () -> vector<10xf32>
  %c = "arith.truncf"(%a) : (vector<10xf32>) -> vector<10xbf16>
  "func.return"(%c) : (vector<10xbf16>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// To f16.
// expect 0: f16 1.0 65504.0 inf 0.0 0x0001 1.0 0x3C02
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1.0, 65519.0, 65520.0, 0x33000000, 0x33000001, 0x3F801000, 0x3F803000]> : vector<7xf32>} : () -> vector<7xf32>
  %c = "arith.truncf"(%a) : (vector<7xf32>) -> vector<7xf16>
  "func.return"(%c) : (vector<7xf16>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// To e5m2.
// expect 0: f8e5m2 1.0 57344.0 inf 0.0 0x01 -1.0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1.0, 61439.0, 61440.0, 0x37000000, 0x37000001, -1.125]> : vector<6xf32>} : () -> vector<6xf32>
  %c = "arith.truncf"(%a) : (vector<6xf32>) -> vector<6xf8E5M2>
  "func.return"(%c) : (vector<6xf8E5M2>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// To e4m3fn.
// expect 0: f8e4m3fn 1.0 448.0 nan 0.0 0x01 -1.0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1.0, 464.0, 0x7FC00000, 0x3A800000, 0x3A800001, -1.0625]> : vector<6xf32>} : () -> vector<6xf32>
  %c = "arith.truncf"(%a) : (vector<6xf32>) -> vector<6xf8E4M3FN>
  "func.return"(%c) : (vector<6xf8E4M3FN>) -> ()
}) {sym_name = "main"} : () -> ()
