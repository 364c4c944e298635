// Copies the sign.
// expect 0: i32 -1 127 -128
"func.func"() ({
  %a = "arith.constant"() {value = dense<[-1, 127, -128]> : vector<3xi8>} : () -> vector<3xi8>
  %c = "arith.extsi"(%a) : (vector<3xi8>) -> vector<3xi32>
  "func.return"(%c) : (vector<3xi32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// From 4 bits.
// expect 0: i32 -8 7 -1
"func.func"() ({
  %a = "arith.constant"() {value = dense<[-8, 7, -1]> : vector<3xi4>} : () -> vector<3xi4>
  %c = "arith.extsi"(%a) : (vector<3xi4>) -> vector<3xi32>
  "func.return"(%c) : (vector<3xi32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// A set mask bit is -1.
// expect 0: i32 -1 0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[true, false]> : vector<2xi1>} : () -> vector<2xi1>
  %c = "arith.extsi"(%a) : (vector<2xi1>) -> vector<2xi32>
  "func.return"(%c) : (vector<2xi32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// All bits of an extended undefined mask are undefined, the highest too.
// expect 0: i32 undef undef
"func.func"() ({
^bb0(%s: memref<2xi32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %u = "vector.load"(%s, %0) : (memref<2xi32, #tpu.memory_space<vmem>>, index) -> vector<2xi32>
  %c = "arith.cmpi"(%u, %u) {predicate = 2 : i64} : (vector<2xi32>, vector<2xi32>) -> vector<2xi1>
  %e = "arith.extsi"(%c) : (vector<2xi1>) -> vector<2xi32>
  %n = "arith.constant"() {value = dense<31> : vector<2xi32>} : () -> vector<2xi32>
  %h = "arith.shrui"(%e, %n) : (vector<2xi32>, vector<2xi32>) -> vector<2xi32>
  "func.return"(%h) : (vector<2xi32>) -> ()
}) {scratch_operands = 1 : i64, sym_name = "main"} : () -> ()
