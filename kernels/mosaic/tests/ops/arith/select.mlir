// Lane by lane; an arm that isn't chosen may be undefined.
// expect 0: f32 1.0 undef 3.0 undef
// expect 1: f32 undef 2.0 undef 4.0
"func.func"() ({
^bb0(%s: memref<4xf32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %u = "vector.load"(%s, %0) : (memref<4xf32, #tpu.memory_space<vmem>>, index) -> vector<4xf32>
  %c = "arith.constant"() {value = dense<[true, false, true, false]> : vector<4xi1>} : () -> vector<4xi1>
  %a = "arith.constant"() {value = dense<[1.0, 2.0, 3.0, 4.0]> : vector<4xf32>} : () -> vector<4xf32>
  %x = "arith.select"(%c, %a, %u) : (vector<4xi1>, vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  %y = "arith.select"(%c, %u, %a) : (vector<4xi1>, vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  "func.return"(%x, %y) : (vector<4xf32>, vector<4xf32>) -> ()
}) {scratch_operands = 1 : i64, sym_name = "main"} : () -> ()
// -----
// A scalar condition chooses a whole vector, and the other arm doesn't count.
// expect 0: f32 1.0 2.0
// expect 1: f32 undef undef
// expect 2: i32 7
// expect 3: i32 -7
"func.func"() ({
^bb0(%s: memref<2xf32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %u = "vector.load"(%s, %0) : (memref<2xf32, #tpu.memory_space<vmem>>, index) -> vector<2xf32>
  %a = "arith.constant"() {value = dense<[1.0, 2.0]> : vector<2xf32>} : () -> vector<2xf32>
  %t = "arith.constant"() {value = true} : () -> i1
  %f = "arith.constant"() {value = false} : () -> i1
  %x = "arith.select"(%t, %a, %u) : (i1, vector<2xf32>, vector<2xf32>) -> vector<2xf32>
  %y = "arith.select"(%f, %a, %u) : (i1, vector<2xf32>, vector<2xf32>) -> vector<2xf32>
  %p = "arith.constant"() {value = 7 : i32} : () -> i32
  %q = "arith.constant"() {value = -7 : i32} : () -> i32
  %z = "arith.select"(%t, %p, %q) : (i1, i32, i32) -> i32
  %w = "arith.select"(%f, %p, %q) : (i1, i32, i32) -> i32
  "func.return"(%x, %y, %z, %w) : (vector<2xf32>, vector<2xf32>, i32, i32) -> ()
}) {scratch_operands = 1 : i64, sym_name = "main"} : () -> ()
// -----
// An undefined condition gives an undefined result, lane by lane.
// operand: i32 4 = 0 undef 1 undef
// expect 0: i32 10 undef 20 undef
"func.func"() ({
^bb0(%s: memref<4xi32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %u = "vector.load"(%s, %0) : (memref<4xi32, #tpu.memory_space<vmem>>, index) -> vector<4xi32>
  %one = "arith.constant"() {value = dense<1> : vector<4xi32>} : () -> vector<4xi32>
  %c = "arith.cmpi"(%u, %one) {predicate = 0 : i64} : (vector<4xi32>, vector<4xi32>) -> vector<4xi1>
  %a = "arith.constant"() {value = dense<20> : vector<4xi32>} : () -> vector<4xi32>
  %b = "arith.constant"() {value = dense<10> : vector<4xi32>} : () -> vector<4xi32>
  %x = "arith.select"(%c, %a, %b) : (vector<4xi1>, vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  "func.return"(%x) : (vector<4xi32>) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
