// Keeps the low 32 bits.
// expect 0: i32 0 -2147479015 1 -2147483648 -721379959
"func.func"() ({
  %a = "arith.constant"() {value = dense<[65536, 46341, -1, -2147483648, 1000003]> : vector<5xi32>} : () -> vector<5xi32>
  %b = "arith.constant"() {value = dense<[65536, 46341, -1, -1, 1000003]> : vector<5xi32>} : () -> vector<5xi32>
  %c = "arith.muli"(%a, %b) {overflowFlags = #arith.overflow<none>} : (vector<5xi32>, vector<5xi32>) -> vector<5xi32>
  "func.return"(%c) : (vector<5xi32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Keeps the low 8 bits.
// expect 0: i8 44 -128 0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[100, -128, 16]> : vector<3xi8>} : () -> vector<3xi8>
  %b = "arith.constant"() {value = dense<[3, -1, 16]> : vector<3xi8>} : () -> vector<3xi8>
  %c = "arith.muli"(%a, %b) {overflowFlags = #arith.overflow<none>} : (vector<3xi8>, vector<3xi8>) -> vector<3xi8>
  "func.return"(%c) : (vector<3xi8>) -> ()
}) {sym_name = "main"} : () -> ()
