// Zeros come in at the top.
// expect 0: i32 255 127 128
"func.func"() ({
  %a = "arith.constant"() {value = dense<[-1, 127, -128]> : vector<3xi8>} : () -> vector<3xi8>
  %c = "arith.extui"(%a) : (vector<3xi8>) -> vector<3xi32>
  "func.return"(%c) : (vector<3xi32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// From 4 bits.
// expect 0: i32 15 7 8
"func.func"() ({
  %a = "arith.constant"() {value = dense<[-1, 7, -8]> : vector<3xi4>} : () -> vector<3xi4>
  %c = "arith.extui"(%a) : (vector<3xi4>) -> vector<3xi32>
  "func.return"(%c) : (vector<3xi32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// From 16 bits.
// expect 0: i32 65535 32767
"func.func"() ({
  %a = "arith.constant"() {value = dense<[-1, 32767]> : vector<2xi16>} : () -> vector<2xi16>
  %c = "arith.extui"(%a) : (vector<2xi16>) -> vector<2xi32>
  "func.return"(%c) : (vector<2xi32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// To 16 bits.
// expect 0: i16 255 1
"func.func"() ({
  %a = "arith.constant"() {value = dense<[-1, 1]> : vector<2xi8>} : () -> vector<2xi8>
  %c = "arith.extui"(%a) : (vector<2xi8>) -> vector<2xi16>
  "func.return"(%c) : (vector<2xi16>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// A set mask bit is 1.
// expect 0: i32 1 0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[true, false]> : vector<2xi1>} : () -> vector<2xi1>
  %c = "arith.extui"(%a) : (vector<2xi1>) -> vector<2xi32>
  "func.return"(%c) : (vector<2xi32>) -> ()
}) {sym_name = "main"} : () -> ()
