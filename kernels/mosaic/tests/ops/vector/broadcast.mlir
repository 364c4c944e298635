// A scalar fills a vector; a vector is repeated along new leading dimensions and along extents of 1.
// expect 0: i32 5*6
// expect 1: i32 1 2 3 1 2 3
// expect 2: i32 1*3 2*3
// expect 3: i32 1 2 3 1 2 3
// expect 4: f32 0.5*2
// expect 5: i32 1*3 2*3 1*3 2*3
"func.func"() ({
  %a = "arith.constant"() {value = 5 : i32} : () -> i32
  %b = "arith.constant"() {value = dense<[1, 2, 3]> : vector<3xi32>} : () -> vector<3xi32>
  %c = "arith.constant"() {value = dense<[[1], [2]]> : vector<2x1xi32>} : () -> vector<2x1xi32>
  %d = "arith.constant"() {value = dense<[[1, 2, 3]]> : vector<1x3xi32>} : () -> vector<1x3xi32>
  %e = "arith.constant"() {value = 5.000000e-01 : f32} : () -> f32
  %v = "vector.broadcast"(%a) : (i32) -> vector<2x3xi32>
  %w = "vector.broadcast"(%b) : (vector<3xi32>) -> vector<2x3xi32>
  %x = "vector.broadcast"(%c) : (vector<2x1xi32>) -> vector<2x3xi32>
  %y = "vector.broadcast"(%d) : (vector<1x3xi32>) -> vector<2x3xi32>
  %z = "vector.broadcast"(%e) : (f32) -> vector<2xf32>
  %q = "vector.broadcast"(%c) : (vector<2x1xi32>) -> vector<2x2x3xi32>
  "func.return"(%v, %w, %x, %y, %z, %q) : (vector<2x3xi32>, vector<2x3xi32>, vector<2x3xi32>, vector<2x3xi32>, vector<2xf32>, vector<2x2x3xi32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Definedness is repeated too.
// operand: i32 2x1 = 7 undef
// expect 0: i32 7 7 undef undef
// expect 1: i32 undef*3
"func.func"() ({
^bb0(%m: memref<2x1xi32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %1 = "arith.constant"() {value = 1 : index} : () -> index
  %a = "vector.load"(%m, %0, %0) : (memref<2x1xi32, #tpu.memory_space<vmem>>, index, index) -> vector<2x1xi32>
  %b = "vector.broadcast"(%a) : (vector<2x1xi32>) -> vector<2x2xi32>
  %c = "memref.load"(%m, %1, %0) : (memref<2x1xi32, #tpu.memory_space<vmem>>, index, index) -> i32
  %d = "vector.broadcast"(%c) : (i32) -> vector<3xi32>
  "func.return"(%b, %d) : (vector<2x2xi32>, vector<3xi32>) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
