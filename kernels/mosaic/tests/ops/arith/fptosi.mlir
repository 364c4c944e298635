// Towards zero.
// expect 0: i32 2 -2 0 0 2147483520 -2147483648 0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[2.9, -2.9, 0.5, -0.0, 2147483520.0, -2147483648.0, -0.99]> : vector<7xf32>} : () -> vector<7xf32>
  %c = "arith.fptosi"(%a) : (vector<7xf32>) -> vector<7xi32>
  "func.return"(%c) : (vector<7xi32>) -> ()
}) {sym_name = "main"} : () -> ()

// -----

// A narrower integer saturates, as XLA's conversion does; MLIR leaves what is out of range undefined.
// expect 0: i8 2 -2 127 -128 127 -128
"func.func"() ({
  %a = "arith.constant"() {value = dense<[2.9, -2.9, 127.5, -128.5, 1000.0, -1.0e30]> : vector<6xf32>} : () -> vector<6xf32>
  %c = "arith.fptosi"(%a) : (vector<6xf32>) -> vector<6xi8>
  "func.return"(%c) : (vector<6xi8>) -> ()
}) {sym_name = "main"} : () -> ()

// -----

// expect 0: i4 2 -2 7 -8 7 -8
"func.func"() ({
  %a = "arith.constant"() {value = dense<[2.9, -2.9, 7.5, -8.5, 1000.0, -1.0e30]> : vector<6xf32>} : () -> vector<6xf32>
  %c = "arith.fptosi"(%a) : (vector<6xf32>) -> vector<6xi4>
  "func.return"(%c) : (vector<6xi4>) -> ()
}) {sym_name = "main"} : () -> ()
