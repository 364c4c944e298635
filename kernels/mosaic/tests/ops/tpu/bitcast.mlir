// Between types of one width the bits stay, lane by lane.
// expect 0: f32 1.0 -inf 0x7F800001
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1065353216, -8388608, 2139095041]> : vector<3xi32>} : () -> vector<3xi32>
  %c = "tpu.bitcast"(%a) : (vector<3xi32>) -> vector<3xf32>
  "func.return"(%c) : (vector<3xf32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// To e4m3fn.
// expect 0: f8e4m3fn 1.0 nan 0x81
"func.func"() ({
  %a = "arith.constant"() {value = dense<[56, 127, -127]> : vector<3xi8>} : () -> vector<3xi8>
  %c = "tpu.bitcast"(%a) : (vector<3xi8>) -> vector<3xf8E4M3FN>
  "func.return"(%c) : (vector<3xf8E4M3FN>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// To the same type.
// expect 0: i8 -3 3
"func.func"() ({
  %a = "arith.constant"() {value = dense<[-3, 3]> : vector<2xi8>} : () -> vector<2xi8>
  %c = "tpu.bitcast"(%a) : (vector<2xi8>) -> vector<2xi8>
  "func.return"(%c) : (vector<2xi8>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Of four bits.
// expect 0: i4 -8 7
"func.func"() ({
  %a = "arith.constant"() {value = dense<[-8, 7]> : vector<2xi4>} : () -> vector<2xi4>
  %c = "tpu.bitcast"(%a) : (vector<2xi4>) -> vector<2xi4>
  "func.return"(%c) : (vector<2xi4>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Definedness stays.
// operand: i32 2 = undef 1065353216
// expect 0: f32 undef 1.0
"func.func"() ({
^bb0(%m: memref<2xi32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %a = "vector.load"(%m, %0) : (memref<2xi32, #tpu.memory_space<vmem>>, index) -> vector<2xi32>
  %b = "tpu.bitcast"(%a) : (vector<2xi32>) -> vector<2xf32>
  "func.return"(%b) : (vector<2xf32>) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
