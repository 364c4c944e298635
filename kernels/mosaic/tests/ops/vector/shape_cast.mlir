// The row-major order of lanes stays.
// expect 0: i32 1 2 3 4 5 6
// expect 1: i32 1 2 3 4 5 6
// expect 2: i1 1 0 0 1
// expect 3: f32 2.0*4
"func.func"() ({
  %a = "arith.constant"() {value = dense<[[1, 2, 3], [4, 5, 6]]> : vector<2x3xi32>} : () -> vector<2x3xi32>
  %b = "arith.constant"() {value = dense<[[true, false], [false, true]]> : vector<2x2xi1>} : () -> vector<2x2xi1>
  %c = "arith.constant"() {value = dense<2.0> : vector<2x2xf32>} : () -> vector<2x2xf32>
  %w = "vector.shape_cast"(%a) : (vector<2x3xi32>) -> vector<3x2xi32>
  %x = "vector.shape_cast"(%w) : (vector<3x2xi32>) -> vector<1x6x1xi32>
  %y = "vector.shape_cast"(%b) : (vector<2x2xi1>) -> vector<4xi1>
  %z = "vector.shape_cast"(%c) : (vector<2x2xf32>) -> vector<1x2x2xf32>
  "func.return"(%w, %x, %y, %z) : (vector<3x2xi32>, vector<1x6x1xi32>, vector<4xi1>, vector<1x2x2xf32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Of a broadcast row and a broadcast column: which lane is which can be seen.
// expect 0: i32 1 2 3 1 2 3
// expect 1: i32 1 1 1 2 2 2
"func.func"() ({
  %d = "arith.constant"() {value = dense<[[1, 2, 3]]> : vector<1x3xi32>} : () -> vector<1x3xi32>
  %c = "arith.constant"() {value = dense<[[1], [2]]> : vector<2x1xi32>} : () -> vector<2x1xi32>
  %y = "vector.broadcast"(%d) : (vector<1x3xi32>) -> vector<2x3xi32>
  %x = "vector.broadcast"(%c) : (vector<2x1xi32>) -> vector<2x3xi32>
  %p = "vector.shape_cast"(%y) : (vector<2x3xi32>) -> vector<6xi32>
  %q = "vector.shape_cast"(%x) : (vector<2x3xi32>) -> vector<3x2xi32>
  "func.return"(%p, %q) : (vector<6xi32>, vector<3x2xi32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Definedness moves along.
// operand: i32 2x3 = 1 2 undef 4 5 6
// expect 0: i32 1 2 undef 4 5 6
"func.func"() ({
^bb0(%m: memref<2x3xi32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %a = "vector.load"(%m, %0, %0) : (memref<2x3xi32, #tpu.memory_space<vmem>>, index, index) -> vector<2x3xi32>
  %b = "vector.shape_cast"(%a) : (vector<2x3xi32>) -> vector<3x2xi32>
  "func.return"(%b) : (vector<3x2xi32>) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
