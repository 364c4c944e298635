// Along either dimension; definedness moves along.
// operand: i32 1x2 = 7 undef
// expect 0: i32 1 2 3 4 7 undef
// expect 1: i32 1 2 1 3 4 3
// expect 2: i32 5*3
"func.func"() ({
^bb0(%m: memref<1x2xi32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %u = "vector.load"(%m, %0, %0) : (memref<1x2xi32, #tpu.memory_space<vmem>>, index, index) -> vector<1x2xi32>
  %a = "arith.constant"() {value = dense<[[1, 2], [3, 4]]> : vector<2x2xi32>} : () -> vector<2x2xi32>
  %b = "arith.constant"() {value = dense<[[1], [3]]> : vector<2x1xi32>} : () -> vector<2x1xi32>
  %c = "arith.constant"() {value = dense<5> : vector<1xi32>} : () -> vector<1xi32>
  %x = "tpu.concatenate"(%a, %u) {dimension = 0 : i32} : (vector<2x2xi32>, vector<1x2xi32>) -> vector<3x2xi32>
  %y = "tpu.concatenate"(%a, %b) {dimension = 1 : i32} : (vector<2x2xi32>, vector<2x1xi32>) -> vector<2x3xi32>
  %z = "tpu.concatenate"(%c, %c, %c) {dimension = 0 : i32} : (vector<1xi32>, vector<1xi32>, vector<1xi32>) -> vector<3xi32>
  "func.return"(%x, %y, %z) : (vector<3x2xi32>, vector<2x3xi32>, vector<3xi32>) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
