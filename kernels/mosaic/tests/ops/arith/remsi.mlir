// The sign of the dividend.
// expect 0: i32 1 -1 1 -1 -2 0 5
"func.func"() ({
  %a = "arith.constant"() {value = dense<[7, -7, 7, -7, -2147483648, 0, 5]> : vector<7xi32>} : () -> vector<7xi32>
  %b = "arith.constant"() {value = dense<[2, 2, -2, -2, 7, -5, 7]> : vector<7xi32>} : () -> vector<7xi32>
  %c = "arith.remsi"(%a, %b) : (vector<7xi32>, vector<7xi32>) -> vector<7xi32>
  "func.return"(%c) : (vector<7xi32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// By zero.
// fault: arithmetic in arith.remsi
"func.func"() ({
  %a = "arith.constant"() {value = 1 : i32} : () -> i32
  %b = "arith.constant"() {value = 0 : i32} : () -> i32
  %c = "arith.remsi"(%a, %b) : (i32, i32) -> i32
  "func.return"(%c) : (i32) -> ()
}) {sym_name = "main"} : () -> ()
