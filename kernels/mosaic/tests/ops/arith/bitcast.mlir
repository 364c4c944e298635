// The bits stay, those of a signalling NaN too.
// expect 0: i32 1065353216 -2147483648 2139095041
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1.0, -0.0, 0x7F800001]> : vector<3xf32>} : () -> vector<3xf32>
  %c = "arith.bitcast"(%a) : (vector<3xf32>) -> vector<3xi32>
  "func.return"(%c) : (vector<3xi32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// And back.
// expect 0: f32 1.0 -inf 0x00000001
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1065353216, -8388608, 1]> : vector<3xi32>} : () -> vector<3xi32>
  %c = "arith.bitcast"(%a) : (vector<3xi32>) -> vector<3xf32>
  "func.return"(%c) : (vector<3xf32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Of 16 bits.
// expect 0: i16 16256 32641 -16512
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1.0, 0x7F81, -1.0]> : vector<3xbf16>} : () -> vector<3xbf16>
  %c = "arith.bitcast"(%a) : (vector<3xbf16>) -> vector<3xi16>
  "func.return"(%c) : (vector<3xi16>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Of f16.
// expect 0: i16 15360 32001
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1.0, 0x7D01]> : vector<2xf16>} : () -> vector<2xf16>
  %c = "arith.bitcast"(%a) : (vector<2xf16>) -> vector<2xi16>
  "func.return"(%c) : (vector<2xi16>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Of 8 bits.
// expect 0: f8e4m3fn 1.0 nan -0.0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[56, 127, -128]> : vector<3xi8>} : () -> vector<3xi8>
  %c = "arith.bitcast"(%a) : (vector<3xi8>) -> vector<3xf8E4M3FN>
  "func.return"(%c) : (vector<3xf8E4M3FN>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Of e5m2.
// expect 0: i8 60 -4
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1.0, 0xFC]> : vector<2xf8E5M2>} : () -> vector<2xf8E5M2>
  %c = "arith.bitcast"(%a) : (vector<2xf8E5M2>) -> vector<2xi8>
  "func.return"(%c) : (vector<2xi8>) -> ()
}) {sym_name = "main"} : () -> ()
