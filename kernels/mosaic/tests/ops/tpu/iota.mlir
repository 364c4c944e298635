// Counts along one dimension.
// expect 0: i32 0 0 0 1 1 1
// expect 1: i32 0 1 2 0 1 2
// expect 2: i32 0 0 1 1 0 0 1 1
"func.func"() ({
  %a = "tpu.iota"() {dimensions = array<i32: 0>} : () -> vector<2x3xi32>
  %b = "tpu.iota"() {dimensions = array<i32: 1>} : () -> vector<2x3xi32>
  %c = "tpu.iota"() {dimensions = array<i32: 1>} : () -> vector<2x2x2xi32>
  "func.return"(%a, %b, %c) : (vector<2x3xi32>, vector<2x3xi32>, vector<2x2x2xi32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// As JAX 0.6 writes it.
// expect 0: i32 0 1 2 0 1 2
"func.func"() ({
  %a = "tpu.iota"() {dimension = 1 : i32} : () -> vector<2x3xi32>
  "func.return"(%a) : (vector<2x3xi32>) -> ()
}) {sym_name = "main"} : () -> ()
