// Towards zero.
// expect 0: i32 3 -3 -3 3 -2147483648 -2147483647 0 0 0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[7, -7, 7, -7, -2147483648, 2147483647, 0, 5, -1]> : vector<9xi32>} : () -> vector<9xi32>
  %b = "arith.constant"() {value = dense<[2, 2, -2, -2, 1, -1, -5, 7, 2]> : vector<9xi32>} : () -> vector<9xi32>
  %c = "arith.divsi"(%a, %b) : (vector<9xi32>, vector<9xi32>) -> vector<9xi32>
  "func.return"(%c) : (vector<9xi32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// In 8 bits.
// expect 0: i8 -64 -127 -14
"func.func"() ({
  %a = "arith.constant"() {value = dense<[-128, 127, -100]> : vector<3xi8>} : () -> vector<3xi8>
  %b = "arith.constant"() {value = dense<[2, -1, 7]> : vector<3xi8>} : () -> vector<3xi8>
  %c = "arith.divsi"(%a, %b) : (vector<3xi8>, vector<3xi8>) -> vector<3xi8>
  "func.return"(%c) : (vector<3xi8>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// By zero.
// fault: arithmetic in arith.divsi
"func.func"() ({
  %a = "arith.constant"() {value = 1 : i32} : () -> i32
  %b = "arith.constant"() {value = 0 : i32} : () -> i32
  %c = "arith.divsi"(%a, %b) : (i32, i32) -> i32
  "func.return"(%c) : (i32) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// By zero in one lane.
// fault: arithmetic in arith.divsi
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1, 2]> : vector<2xi32>} : () -> vector<2xi32>
  %b = "arith.constant"() {value = dense<[1, 0]> : vector<2xi32>} : () -> vector<2xi32>
  %c = "arith.divsi"(%a, %b) : (vector<2xi32>, vector<2xi32>) -> vector<2xi32>
  "func.return"(%c) : (vector<2xi32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// The one overflow.
// fault: arithmetic in arith.divsi
"func.func"() ({
  %a = "arith.constant"() {value = -2147483648 : i32} : () -> i32
  %b = "arith.constant"() {value = -1 : i32} : () -> i32
  %c = "arith.divsi"(%a, %b) : (i32, i32) -> i32
  "func.return"(%c) : (i32) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// An undefined dividend.
// expect 0: i32 undef*4
"func.func"() ({
^bb0(%s: memref<4xi32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %u = "vector.load"(%s, %0) : (memref<4xi32, #tpu.memory_space<vmem>>, index) -> vector<4xi32>
  %b = "arith.constant"() {value = dense<[1, 2, 3, 4]> : vector<4xi32>} : () -> vector<4xi32>
  %c = "arith.divsi"(%u, %b) : (vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  "func.return"(%c) : (vector<4xi32>) -> ()
}) {scratch_operands = 1 : i64, sym_name = "main"} : () -> ()
