// Keeps the low bits.
// expect 0: i8 44 -128 127 -1 0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[300, 128, -129, 255, -256]> : vector<5xi32>} : () -> vector<5xi32>
  %c = "arith.trunci"(%a) {overflowFlags = #arith.overflow<none>} : (vector<5xi32>) -> vector<5xi8>
  "func.return"(%c) : (vector<5xi8>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// To 4 bits.
// expect 0: i4 -8 7 7 -1
"func.func"() ({
  %a = "arith.constant"() {value = dense<[8, 23, -9, 15]> : vector<4xi32>} : () -> vector<4xi32>
  %c = "arith.trunci"(%a) {overflowFlags = #arith.overflow<none>} : (vector<4xi32>) -> vector<4xi4>
  "func.return"(%c) : (vector<4xi4>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// To 16 bits.
// expect 0: i16 -32768 -1 32767
"func.func"() ({
  %a = "arith.constant"() {value = dense<[32768, 65535, -32769]> : vector<3xi32>} : () -> vector<3xi32>
  %c = "arith.trunci"(%a) {overflowFlags = #arith.overflow<none>} : (vector<3xi32>) -> vector<3xi16>
  "func.return"(%c) : (vector<3xi16>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// To a mask.
// expect 0: i1 0 1 1
"func.func"() ({
  %a = "arith.constant"() {value = dense<[2, 3, -1]> : vector<3xi32>} : () -> vector<3xi32>
  %c = "arith.trunci"(%a) {overflowFlags = #arith.overflow<none>} : (vector<3xi32>) -> vector<3xi1>
  "func.return"(%c) : (vector<3xi1>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Undefined bits above what is kept don't matter.
// operand: i8 4x1 = 1 -2 undef undef
// expect 0: i16 -511
// expect 1: i8 1
// expect 2: i32 undef
"func.func"() ({
^bb0(%m: memref<4x1xi8, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %w = "tpu.memref_bitcast"(%m) : (memref<4x1xi8, #tpu.memory_space<vmem>>) -> memref<1x1xi32, #tpu.memory_space<vmem>>
  %v = "vector.load"(%w, %0, %0) : (memref<1x1xi32, #tpu.memory_space<vmem>>, index, index) -> vector<1x1xi32>
  %a = "arith.trunci"(%v) {overflowFlags = #arith.overflow<none>} : (vector<1x1xi32>) -> vector<1x1xi16>
  %b = "arith.trunci"(%v) {overflowFlags = #arith.overflow<none>} : (vector<1x1xi32>) -> vector<1x1xi8>
  "func.return"(%a, %b, %v) : (vector<1x1xi16>, vector<1x1xi8>, vector<1x1xi32>) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
