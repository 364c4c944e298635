// Signed.
// expect 0: i32 2 0 -1 2147483647 -4
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1, -1, -2147483648, 2147483647, -5]> : vector<5xi32>} : () -> vector<5xi32>
  %b = "arith.constant"() {value = dense<[2, 0, -1, -2147483648, -4]> : vector<5xi32>} : () -> vector<5xi32>
  %c = "arith.maxsi"(%a, %b) : (vector<5xi32>, vector<5xi32>) -> vector<5xi32>
  "func.return"(%c) : (vector<5xi32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Signed in 8 bits.
// expect 0: i8 0 127
"func.func"() ({
  %a = "arith.constant"() {value = dense<[-128, 127]> : vector<2xi8>} : () -> vector<2xi8>
  %b = "arith.constant"() {value = dense<[0, -1]> : vector<2xi8>} : () -> vector<2xi8>
  %c = "arith.maxsi"(%a, %b) : (vector<2xi8>, vector<2xi8>) -> vector<2xi8>
  "func.return"(%c) : (vector<2xi8>) -> ()
}) {sym_name = "main"} : () -> ()
