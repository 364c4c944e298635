// Sums of the last dimension onto the accumulator; all sums here are exact in any order.
// expect 0: f32 16.0 -5.5
// expect 1: f32 10.0 18.0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[[1.0, 2.0, 3.0], [-4.0, 0.5, -2.0]]> : vector<2x3xf32>} : () -> vector<2x3xf32>
  %acc = "arith.constant"() {value = dense<[10.0, 0.0]> : vector<2xf32>} : () -> vector<2xf32>
  %b = "vector.multi_reduction"(%a, %acc) {kind = #vector.kind<add>, reduction_dims = array<i64: 1>} : (vector<2x3xf32>, vector<2xf32>) -> vector<2xf32>
  %row = "arith.constant"() {value = dense<[[1.0, 2.0]]> : vector<1x2xf32>} : () -> vector<1x2xf32>
  %c = "arith.constant"() {value = dense<[[1.0], [3.0]]> : vector<2x1xf32>} : () -> vector<2x1xf32>
  %u = "vector.broadcast"(%c) : (vector<2x1xf32>) -> vector<2x5xf32>
  %five = "arith.constant"() {value = dense<[5.0, 3.0]> : vector<2xf32>} : () -> vector<2xf32>
  %d = "vector.multi_reduction"(%u, %five) {kind = #vector.kind<add>, reduction_dims = array<i64: 1>} : (vector<2x5xf32>, vector<2xf32>) -> vector<2xf32>
  "func.return"(%b, %d) : (vector<2xf32>, vector<2xf32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// The largest, the accumulator included; NaN if any is, +0 over -0.
// expect 0: f32 3.0 5.0 nan 0.0 -inf nan
"func.func"() ({
  %a = "arith.constant"() {value = dense<[[1.0, 3.0], [-1.0, -2.0], [0x7FC00000, 1.0], [-0.0, 0.0], [0xFF800000, 0xFF800000], [1.0, 2.0]]> : vector<6x2xf32>} : () -> vector<6x2xf32>
  %acc = "arith.constant"() {value = dense<[0xFF800000, 5.0, 0xFF800000, 0xFF800000, 0xFF800000, 0x7FC00000]> : vector<6xf32>} : () -> vector<6xf32>
  %b = "vector.multi_reduction"(%a, %acc) {kind = #vector.kind<maximumf>, reduction_dims = array<i64: 1>} : (vector<6x2xf32>, vector<6xf32>) -> vector<6xf32>
  "func.return"(%b) : (vector<6xf32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Every undefined lane counts, in the accumulator too; other rows stay defined.
// operand: f32 3x2 = 1.0 undef 3.0 4.0 5.0 6.0
// operand: f32 3 = 0.0 0.0 undef
// expect 0: f32 undef 7.0 undef
// expect 1: f32 undef 4.0 undef
"func.func"() ({
^bb0(%m: memref<3x2xf32, #tpu.memory_space<vmem>>, %n: memref<3xf32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %a = "vector.load"(%m, %0, %0) : (memref<3x2xf32, #tpu.memory_space<vmem>>, index, index) -> vector<3x2xf32>
  %acc = "vector.load"(%n, %0) : (memref<3xf32, #tpu.memory_space<vmem>>, index) -> vector<3xf32>
  %b = "vector.multi_reduction"(%a, %acc) {kind = #vector.kind<add>, reduction_dims = array<i64: 1>} : (vector<3x2xf32>, vector<3xf32>) -> vector<3xf32>
  %c = "vector.multi_reduction"(%a, %acc) {kind = #vector.kind<maximumf>, reduction_dims = array<i64: 1>} : (vector<3x2xf32>, vector<3xf32>) -> vector<3xf32>
  "func.return"(%b, %c) : (vector<3xf32>, vector<3xf32>) -> ()
}) {window_params = [{}, {}], sym_name = "main"} : () -> ()
// -----
// Of 17 lanes: sums of whole numbers, exact in any order.
// expect 0: f32 136.0
"func.func"() ({
  %a = "tpu.iota"() {dimensions = array<i32: 1>} : () -> vector<1x17xi32>
  %f = "arith.sitofp"(%a) : (vector<1x17xi32>) -> vector<1x17xf32>
  %acc = "arith.constant"() {value = dense<0.0> : vector<1xf32>} : () -> vector<1xf32>
  %b = "vector.multi_reduction"(%f, %acc) {kind = #vector.kind<add>, reduction_dims = array<i64: 1>} : (vector<1x17xf32>, vector<1xf32>) -> vector<1xf32>
  "func.return"(%b) : (vector<1xf32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Where denormals flush, lanes (row 0), partial sums (row 1: 1.5 less 1 times the smallest normal) and the accumulator (row 2) do.
// denormals: flushed
// expect 0: f32 0.0 0.0 0x00800000
"func.func"() ({
  %a = "arith.constant"() {value = dense<[[0x007FFFFF, 0x007FFFFF], [0x00C00000, 0x80800000], [0x00800000, 0.0]]> : vector<3x2xf32>} : () -> vector<3x2xf32>
  %z = "arith.constant"() {value = dense<[0.0, 0.0, 0x00400000]> : vector<3xf32>} : () -> vector<3xf32>
  %c = "vector.multi_reduction"(%a, %z) {kind = #vector.kind<add>, reduction_dims = array<i64: 1>} : (vector<3x2xf32>, vector<3xf32>) -> vector<3xf32>
  "func.return"(%c) : (vector<3xf32>) -> ()
}) {sym_name = "main"} : () -> ()
