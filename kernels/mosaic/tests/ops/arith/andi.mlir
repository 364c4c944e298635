// Bit by bit.
// expect 0: i32 8 1234567 0 256
"func.func"() ({
  %a = "arith.constant"() {value = dense<[12, -1, 0, -256]> : vector<4xi32>} : () -> vector<4xi32>
  %b = "arith.constant"() {value = dense<[10, 1234567, -1, 511]> : vector<4xi32>} : () -> vector<4xi32>
  %c = "arith.andi"(%a, %b) : (vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  "func.return"(%c) : (vector<4xi32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Of masks.
// expect 0: i1 1 0 0 0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[true, true, false, false]> : vector<4xi1>} : () -> vector<4xi1>
  %b = "arith.constant"() {value = dense<[true, false, true, false]> : vector<4xi1>} : () -> vector<4xi1>
  %c = "arith.andi"(%a, %b) : (vector<4xi1>, vector<4xi1>) -> vector<4xi1>
  "func.return"(%c) : (vector<4xi1>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// A defined zero bit decides; other bits of an undefined value stay undefined.
// expect 0: i32 0 undef undef undef
"func.func"() ({
^bb0(%s: memref<4xi32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %u = "vector.load"(%s, %0) : (memref<4xi32, #tpu.memory_space<vmem>>, index) -> vector<4xi32>
  %b = "arith.constant"() {value = dense<[0, -1, 1, 65535]> : vector<4xi32>} : () -> vector<4xi32>
  %c = "arith.andi"(%u, %b) : (vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  "func.return"(%c) : (vector<4xi32>) -> ()
}) {scratch_operands = 1 : i64, sym_name = "main"} : () -> ()
// -----
// The bits that a mask keeps of a half defined word are defined: narrowing shows which.
// operand: i16 2x2 = undef undef 7 -8
// expect 0: i32 undef undef
// expect 1: i32 undef undef
// expect 2: i16 7 -8
"func.func"() ({
^bb0(%m: memref<2x2xi16, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %w = "tpu.memref_bitcast"(%m) : (memref<2x2xi16, #tpu.memory_space<vmem>>) -> memref<1x2xi32, #tpu.memory_space<vmem>>
  %v = "vector.load"(%w, %0, %0) : (memref<1x2xi32, #tpu.memory_space<vmem>>, index, index) -> vector<1x2xi32>
  %low = "arith.constant"() {value = dense<65535> : vector<1x2xi32>} : () -> vector<1x2xi32>
  %sixteen = "arith.constant"() {value = dense<16> : vector<1x2xi32>} : () -> vector<1x2xi32>
  %a = "arith.andi"(%v, %low) : (vector<1x2xi32>, vector<1x2xi32>) -> vector<1x2xi32>
  %b = "arith.shrui"(%v, %sixteen) : (vector<1x2xi32>, vector<1x2xi32>) -> vector<1x2xi32>
  %c = "arith.trunci"(%b) : (vector<1x2xi32>) -> vector<1x2xi16>
  "func.return"(%v, %a, %c) : (vector<1x2xi32>, vector<1x2xi32>, vector<1x2xi16>) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
