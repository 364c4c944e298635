// Signed.
// expect 0: i32 1 -1 -2147483648 -2147483648 -5
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1, -1, -2147483648, 2147483647, -5]> : vector<5xi32>} : () -> vector<5xi32>
  %b = "arith.constant"() {value = dense<[2, 0, -1, -2147483648, -4]> : vector<5xi32>} : () -> vector<5xi32>
  %c = "arith.minsi"(%a, %b) : (vector<5xi32>, vector<5xi32>) -> vector<5xi32>
  "func.return"(%c) : (vector<5xi32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Of scalars.
// expect 0: i32 -3
"func.func"() ({
  %a = "arith.constant"() {value = 3 : i32} : () -> i32
  %b = "arith.constant"() {value = -3 : i32} : () -> i32
  %c = "arith.minsi"(%a, %b) : (i32, i32) -> i32
  "func.return"(%c) : (i32) -> ()
}) {sym_name = "main"} : () -> ()
