// Left minus right, wrapping.
// expect 0: i32 2147483647 -2147483648 -2 0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[-2147483648, 0, 5, -3]> : vector<4xi32>} : () -> vector<4xi32>
  %b = "arith.constant"() {value = dense<[1, -2147483648, 7, -3]> : vector<4xi32>} : () -> vector<4xi32>
  %c = "arith.subi"(%a, %b) {overflowFlags = #arith.overflow<none>} : (vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  "func.return"(%c) : (vector<4xi32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Wraps at 8 bits.
// expect 0: i8 127 -128
"func.func"() ({
  %a = "arith.constant"() {value = dense<[-128, 0]> : vector<2xi8>} : () -> vector<2xi8>
  %b = "arith.constant"() {value = dense<[1, -128]> : vector<2xi8>} : () -> vector<2xi8>
  %c = "arith.subi"(%a, %b) {overflowFlags = #arith.overflow<none>} : (vector<2xi8>, vector<2xi8>) -> vector<2xi8>
  "func.return"(%c) : (vector<2xi8>) -> ()
}) {sym_name = "main"} : () -> ()
