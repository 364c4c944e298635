// Towards zero.
// expect 0: i32 2 -2 0 0 2147483520 -2147483648 0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[2.9, -2.9, 0.5, -0.0, 2147483520.0, -2147483648.0, -0.99]> : vector<7xf32>} : () -> vector<7xf32>
  %c = "arith.fptosi"(%a) : (vector<7xf32>) -> vector<7xi32>
  "func.return"(%c) : (vector<7xi32>) -> ()
}) {sym_name = "main"} : () -> ()
