// Bit by bit.
// expect 0: i32 14 -2147483647 0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[12, -2147483648, 0]> : vector<3xi32>} : () -> vector<3xi32>
  %b = "arith.constant"() {value = dense<[10, 1, 0]> : vector<3xi32>} : () -> vector<3xi32>
  %c = "arith.ori"(%a, %b) : (vector<3xi32>, vector<3xi32>) -> vector<3xi32>
  "func.return"(%c) : (vector<3xi32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Of masks.
// expect 0: i1 1 1 1 0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[true, true, false, false]> : vector<4xi1>} : () -> vector<4xi1>
  %b = "arith.constant"() {value = dense<[true, false, true, false]> : vector<4xi1>} : () -> vector<4xi1>
  %c = "arith.ori"(%a, %b) : (vector<4xi1>, vector<4xi1>) -> vector<4xi1>
  "func.return"(%c) : (vector<4xi1>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// A defined one bit decides.
// expect 0: i32 -1 undef undef undef
"func.func"() ({
^bb0(%s: memref<4xi32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %u = "vector.load"(%s, %0) : (memref<4xi32, #tpu.memory_space<vmem>>, index) -> vector<4xi32>
  %b = "arith.constant"() {value = dense<[-1, 0, 1, 65535]> : vector<4xi32>} : () -> vector<4xi32>
  %c = "arith.ori"(%u, %b) : (vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  "func.return"(%c) : (vector<4xi32>) -> ()
}) {scratch_operands = 1 : i64, sym_name = "main"} : () -> ()
