// Wraps at 32 bits.
// expect 0: i32 -2147483648 2147483647 0 -2
"func.func"() ({
  %a = "arith.constant"() {value = dense<[2147483647, -2147483648, -1, 5]> : vector<4xi32>} : () -> vector<4xi32>
  %b = "arith.constant"() {value = dense<[1, -1, 1, -7]> : vector<4xi32>} : () -> vector<4xi32>
  %c = "arith.addi"(%a, %b) {overflowFlags = #arith.overflow<none>} : (vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  "func.return"(%c) : (vector<4xi32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Wraps at 8 bits.
// expect 0: i8 -128 127 -56 0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[127, -128, 100, -1]> : vector<4xi8>} : () -> vector<4xi8>
  %b = "arith.constant"() {value = dense<[1, -1, 100, 1]> : vector<4xi8>} : () -> vector<4xi8>
  %c = "arith.addi"(%a, %b) {overflowFlags = #arith.overflow<none>} : (vector<4xi8>, vector<4xi8>) -> vector<4xi8>
  "func.return"(%c) : (vector<4xi8>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Wraps at 4 bits.
// expect 0: i4 -8 7 7
"func.func"() ({
  %a = "arith.constant"() {value = dense<[7, -8, 3]> : vector<3xi4>} : () -> vector<3xi4>
  %b = "arith.constant"() {value = dense<[1, -1, 4]> : vector<3xi4>} : () -> vector<3xi4>
  %c = "arith.addi"(%a, %b) {overflowFlags = #arith.overflow<none>} : (vector<3xi4>, vector<3xi4>) -> vector<3xi4>
  "func.return"(%c) : (vector<3xi4>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Of masks: exclusive or.
// expect 0: i1 0 1 0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[true, true, false]> : vector<3xi1>} : () -> vector<3xi1>
  %b = "arith.constant"() {value = dense<[true, false, false]> : vector<3xi1>} : () -> vector<3xi1>
  %c = "arith.addi"(%a, %b) {overflowFlags = #arith.overflow<none>} : (vector<3xi1>, vector<3xi1>) -> vector<3xi1>
  "func.return"(%c) : (vector<3xi1>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Of scalars and indices.
// expect 0: i32 42
// expect 1: i32 -1
"func.func"() ({
  %a = "arith.constant"() {value = 40 : i32} : () -> i32
  %b = "arith.constant"() {value = 2 : i32} : () -> i32
  %c = "arith.addi"(%a, %b) : (i32, i32) -> i32
  %d = "arith.constant"() {value = 3 : index} : () -> index
  %e = "arith.constant"() {value = -4 : index} : () -> index
  %f = "arith.addi"(%d, %e) : (index, index) -> index
  "func.return"(%c, %f) : (i32, index) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// With an undefined lane.
// expect 0: i32 undef*4
"func.func"() ({
^bb0(%s: memref<4xi32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %u = "vector.load"(%s, %0) : (memref<4xi32, #tpu.memory_space<vmem>>, index) -> vector<4xi32>
  %b = "arith.constant"() {value = dense<[0, 1, -1, 7]> : vector<4xi32>} : () -> vector<4xi32>
  %c = "arith.addi"(%u, %b) {overflowFlags = #arith.overflow<none>} : (vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  "func.return"(%c) : (vector<4xi32>) -> ()
}) {scratch_operands = 1 : i64, sym_name = "main"} : () -> ()
