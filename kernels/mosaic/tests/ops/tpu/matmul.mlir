// A B, A B^T and A^T B of small whole numbers, onto an accumulator.
// expect 0: f32 59.0 64.0 139.0 154.0
// expect 1: f32 14.0 32.0 32.0 77.0
// expect 2: f32 17.0 22.0 27.0 22.0 29.0 36.0 27.0 36.0 45.0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : vector<2x3xf32>} : () -> vector<2x3xf32>
  %b = "arith.constant"() {value = dense<[[7.0, 8.0], [9.0, 10.0], [11.0, 12.0]]> : vector<3x2xf32>} : () -> vector<3x2xf32>
  %c = "arith.constant"() {value = dense<[[1.0, 0.0], [0.0, 0.0]]> : vector<2x2xf32>} : () -> vector<2x2xf32>
  %z = "arith.constant"() {value = dense<0.0> : vector<2x2xf32>} : () -> vector<2x2xf32>
  %zz = "arith.constant"() {value = dense<0.0> : vector<3x3xf32>} : () -> vector<3x3xf32>
  %x = "tpu.matmul"(%a, %b, %c) {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs = false, transpose_rhs = false} : (vector<2x3xf32>, vector<3x2xf32>, vector<2x2xf32>) -> vector<2x2xf32>
  %y = "tpu.matmul"(%a, %a, %z) {dimension_numbers = #tpu.dot_dimension_numbers<[1], [1], [0], [0], [0, 0, 1, 0], [], []>, transpose_lhs = false, transpose_rhs = false} : (vector<2x3xf32>, vector<2x3xf32>, vector<2x2xf32>) -> vector<2x2xf32>
  %w = "tpu.matmul"(%a, %a, %zz) {dimension_numbers = #tpu.dot_dimension_numbers<[0], [0], [1], [1], [0, 1, 1, 1], [], []>, transpose_lhs = false, transpose_rhs = false} : (vector<2x3xf32>, vector<2x3xf32>, vector<3x3xf32>) -> vector<3x3xf32>
  "func.return"(%x, %y, %w) : (vector<2x2xf32>, vector<2x2xf32>, vector<3x3xf32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// One rounding for each product and sum, k ascending, in f32. First row: (1 + 2^-12)^2 - (1 + 2^-11) keeps 2^-24, which a
// rounded product loses. Second row: 2^24 + 1 is a tie and stays 2^24, so that subtracting 2^24 leaves 0.
// expect 0: f32 0x33800000
// expect 1: f32 0.0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[[1.0, 0x3F800800]]> : vector<1x2xf32>} : () -> vector<1x2xf32>
  %b = "arith.constant"() {value = dense<[[0xBF801000], [0x3F800800]]> : vector<2x1xf32>} : () -> vector<2x1xf32>
  %c = "arith.constant"() {value = dense<[[16777216.0, 1.0, -16777216.0]]> : vector<1x3xf32>} : () -> vector<1x3xf32>
  %one = "arith.constant"() {value = dense<1.0> : vector<3x1xf32>} : () -> vector<3x1xf32>
  %z = "arith.constant"() {value = dense<0.0> : vector<1x1xf32>} : () -> vector<1x1xf32>
  %x = "tpu.matmul"(%a, %b, %z) {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs = false, transpose_rhs = false} : (vector<1x2xf32>, vector<2x1xf32>, vector<1x1xf32>) -> vector<1x1xf32>
  %y = "tpu.matmul"(%c, %one, %z) {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs = false, transpose_rhs = false} : (vector<1x3xf32>, vector<3x1xf32>, vector<1x1xf32>) -> vector<1x1xf32>
  "func.return"(%x, %y) : (vector<1x1xf32>, vector<1x1xf32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Operands of bf16 are taken exactly, mixed with f32 too.
// expect 0: f32 0x3F820200
// expect 1: f32 0x3F810001
"func.func"() ({
  %a = "arith.constant"() {value = dense<0x3F81> : vector<1x1xbf16>} : () -> vector<1x1xbf16>
  %f = "arith.constant"() {value = dense<[[0x3F800001]]> : vector<1x1xf32>} : () -> vector<1x1xf32>
  %z = "arith.constant"() {value = dense<0.0> : vector<1x1xf32>} : () -> vector<1x1xf32>
  %x = "tpu.matmul"(%a, %a, %z) {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs = false, transpose_rhs = false} : (vector<1x1xbf16>, vector<1x1xbf16>, vector<1x1xf32>) -> vector<1x1xf32>
  %y = "tpu.matmul"(%f, %a, %z) {dimension_numbers = #tpu.dot_dimension_numbers<[1], [1], [0], [0], [0, 0, 1, 0], [], []>, transpose_lhs = false, transpose_rhs = false} : (vector<1x1xf32>, vector<1x1xbf16>, vector<1x1xf32>) -> vector<1x1xf32>
  "func.return"(%x, %y) : (vector<1x1xf32>, vector<1x1xf32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// In one bf16 pass f32 operands are rounded to bf16 first, and products and sums stay in f32.
// matmul: bf16x1
// expect 0: f32 1.0
// expect 1: f32 0x3F820200
"func.func"() ({
  %a = "arith.constant"() {value = dense<0x3F804000> : vector<1x1xf32>} : () -> vector<1x1xf32>
  %f = "arith.constant"() {value = dense<0x3F814000> : vector<1x1xf32>} : () -> vector<1x1xf32>
  %z = "arith.constant"() {value = dense<0.0> : vector<1x1xf32>} : () -> vector<1x1xf32>
  %x = "tpu.matmul"(%a, %a, %z) {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs = false, transpose_rhs = false} : (vector<1x1xf32>, vector<1x1xf32>, vector<1x1xf32>) -> vector<1x1xf32>
  %y = "tpu.matmul"(%f, %f, %z) {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs = false, transpose_rhs = false} : (vector<1x1xf32>, vector<1x1xf32>, vector<1x1xf32>) -> vector<1x1xf32>
  "func.return"(%x, %y) : (vector<1x1xf32>, vector<1x1xf32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Zero times NaN is NaN, and every undefined lane on the way makes an element undefined, zero times it too.
// operand: f32 2x2 = 0.0 0.0 undef 0.0
// operand: f32 2x2 = 1.0 2.0 undef 4.0
// expect 0: f32 0.0 0.0 undef undef
// expect 1: f32 undef 10.0 undef 10.0
// expect 2: f32 nan nan
"func.func"() ({
^bb0(%m: memref<2x2xf32, #tpu.memory_space<vmem>>, %n: memref<2x2xf32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %u = "vector.load"(%m, %0, %0) : (memref<2x2xf32, #tpu.memory_space<vmem>>, index, index) -> vector<2x2xf32>
  %v = "vector.load"(%n, %0, %0) : (memref<2x2xf32, #tpu.memory_space<vmem>>, index, index) -> vector<2x2xf32>
  %a = "arith.constant"() {value = dense<[[1.0, 2.0], [1.0, 2.0]]> : vector<2x2xf32>} : () -> vector<2x2xf32>
  %z = "arith.constant"() {value = dense<0.0> : vector<2x2xf32>} : () -> vector<2x2xf32>
  %nan = "arith.constant"() {value = dense<[[0x7FC00000, 0.0]]> : vector<1x2xf32>} : () -> vector<1x2xf32>
  %zz = "arith.constant"() {value = dense<0.0> : vector<1x2xf32>} : () -> vector<1x2xf32>
  %x = "tpu.matmul"(%u, %a, %z) {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs = false, transpose_rhs = false} : (vector<2x2xf32>, vector<2x2xf32>, vector<2x2xf32>) -> vector<2x2xf32>
  %y = "tpu.matmul"(%a, %v, %z) {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs = false, transpose_rhs = false} : (vector<2x2xf32>, vector<2x2xf32>, vector<2x2xf32>) -> vector<2x2xf32>
  %w = "tpu.matmul"(%nan, %z, %zz) {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs = false, transpose_rhs = false} : (vector<1x2xf32>, vector<2x2xf32>, vector<1x2xf32>) -> vector<1x2xf32>
  "func.return"(%x, %y, %w) : (vector<2x2xf32>, vector<2x2xf32>, vector<1x2xf32>) -> ()
}) {window_params = [{}, {}], sym_name = "main"} : () -> ()
// -----
// An undefined lane in a row of B^T's operand makes a column of the result undefined.
// operand: f32 2x2 = 1.0 2.0 undef 4.0
// expect 0: f32 5.0 undef 5.0 undef
"func.func"() ({
^bb0(%n: memref<2x2xf32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %v = "vector.load"(%n, %0, %0) : (memref<2x2xf32, #tpu.memory_space<vmem>>, index, index) -> vector<2x2xf32>
  %a = "arith.constant"() {value = dense<[[1.0, 2.0], [1.0, 2.0]]> : vector<2x2xf32>} : () -> vector<2x2xf32>
  %z = "arith.constant"() {value = dense<0.0> : vector<2x2xf32>} : () -> vector<2x2xf32>
  %y = "tpu.matmul"(%a, %v, %z) {dimension_numbers = #tpu.dot_dimension_numbers<[1], [1], [0], [0], [0, 0, 1, 0], [], []>, transpose_lhs = false, transpose_rhs = false} : (vector<2x2xf32>, vector<2x2xf32>, vector<2x2xf32>) -> vector<2x2xf32>
  "func.return"(%y) : (vector<2x2xf32>) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
// -----
// Integers meet floats by value: bf16 times i8, f32 times i4.
// expect 0: f32 -126.0 254.5
// expect 1: f32 -8.75 5.0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[[1.0, 0.5]]> : vector<1x2xbf16>} : () -> vector<1x2xbf16>
  %b = "arith.constant"() {value = dense<[[-128, 127], [4, -1]]> : vector<2x2xi8>} : () -> vector<2x2xi8>
  %c = "arith.constant"() {value = dense<[[0.0, 128.0]]> : vector<1x2xf32>} : () -> vector<1x2xf32>
  %d = "arith.constant"() {value = dense<[[1.0, 0.25]]> : vector<1x2xf32>} : () -> vector<1x2xf32>
  %e = "arith.constant"() {value = dense<[[-8, 7], [-3, -8]]> : vector<2x2xi4>} : () -> vector<2x2xi4>
  %z = "arith.constant"() {value = dense<0.0> : vector<1x2xf32>} : () -> vector<1x2xf32>
  %x = "tpu.matmul"(%a, %b, %c) {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs = false, transpose_rhs = false} : (vector<1x2xbf16>, vector<2x2xi8>, vector<1x2xf32>) -> vector<1x2xf32>
  %y = "tpu.matmul"(%d, %e, %z) {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs = false, transpose_rhs = false} : (vector<1x2xf32>, vector<2x2xi4>, vector<1x2xf32>) -> vector<1x2xf32>
  "func.return"(%x, %y) : (vector<1x2xf32>, vector<1x2xf32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Where denormals flush: a denormal operand times 2^30, and a sum that is denormal on the way: 2^-64 squared, then 2^-126.
// denormals: flushed
// expect 0: f32 0.0 0x00800000
"func.func"() ({
  %b = "arith.constant"() {value = dense<[[0x4E800000], [0.0]]> : vector<2x1xf32>} : () -> vector<2x1xf32>
  %d = "arith.constant"() {value = dense<[[0x1F800000], [1.0]]> : vector<2x1xf32>} : () -> vector<2x1xf32>
  %z = "arith.constant"() {value = dense<0x00400000> : vector<1x1xf32>} : () -> vector<1x1xf32>
  %r = "arith.constant"() {value = dense<[[0x00400000, 0.0]]> : vector<1x2xf32>} : () -> vector<1x2xf32>
  %s = "arith.constant"() {value = dense<[[0x1F800000, 0x00800000]]> : vector<1x2xf32>} : () -> vector<1x2xf32>
  %x = "tpu.matmul"(%r, %b, %z) {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs = false, transpose_rhs = false} : (vector<1x2xf32>, vector<2x1xf32>, vector<1x1xf32>) -> vector<1x1xf32>
  %y = "tpu.matmul"(%s, %d, %z) {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs = false, transpose_rhs = false} : (vector<1x2xf32>, vector<2x1xf32>, vector<1x1xf32>) -> vector<1x1xf32>
  %c = "tpu.concatenate"(%x, %y) {dimension = 1 : i32} : (vector<1x1xf32>, vector<1x1xf32>) -> vector<1x2xf32>
  "func.return"(%c) : (vector<1x2xf32>) -> ()
}) {sym_name = "main"} : () -> ()
