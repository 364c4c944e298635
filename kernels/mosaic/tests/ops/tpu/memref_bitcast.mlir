// 16-bit pairs along the second-minor dimension: row 2r is the low half of word r.
// operand: i16 4x2 = 1 2 3 -1 5 6 -32768 8
// expect 0: i32 196609 -65534 -2147483643 524294
"func.func"() ({
^bb0(%m: memref<4x2xi16, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %w = "tpu.memref_bitcast"(%m) : (memref<4x2xi16, #tpu.memory_space<vmem>>) -> memref<2x2xi32, #tpu.memory_space<vmem>>
  %a = "vector.load"(%w, %0, %0) : (memref<2x2xi32, #tpu.memory_space<vmem>>, index, index) -> vector<2x2xi32>
  "func.return"(%a) : (vector<2x2xi32>) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
// -----
// bf16: 1.0 is 0x3F80, 2.0 is 0x4000, -2.0 is 0xC000, NaN 0x7FC0.
// operand: bf16 2x2 = 1.0 -2.0 2.0 0x7FC0
// expect 0: i32 1073758080 2143338496
"func.func"() ({
^bb0(%m: memref<2x2xbf16, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %w = "tpu.memref_bitcast"(%m) : (memref<2x2xbf16, #tpu.memory_space<vmem>>) -> memref<1x2xi32, #tpu.memory_space<vmem>>
  %a = "vector.load"(%w, %0, %0) : (memref<1x2xi32, #tpu.memory_space<vmem>>, index, index) -> vector<1x2xi32>
  "func.return"(%a) : (vector<1x2xi32>) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
// -----
// Four bytes to a word, first row lowest; e4m3fn the same.
// operand: i8 4x2 = 1 -1 2 0 3 0 4 -128
// operand: f8e4m3fn 4x1 = 0x01 0x80 0x7F 0xFF
// expect 0: i32 67305985 -2147483393
// expect 1: i32 -8421375
"func.func"() ({
^bb0(%m: memref<4x2xi8, #tpu.memory_space<vmem>>, %n: memref<4x1xf8E4M3FN, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %w = "tpu.memref_bitcast"(%m) : (memref<4x2xi8, #tpu.memory_space<vmem>>) -> memref<1x2xi32, #tpu.memory_space<vmem>>
  %a = "vector.load"(%w, %0, %0) : (memref<1x2xi32, #tpu.memory_space<vmem>>, index, index) -> vector<1x2xi32>
  %x = "tpu.memref_bitcast"(%n) : (memref<4x1xf8E4M3FN, #tpu.memory_space<vmem>>) -> memref<1x1xi32, #tpu.memory_space<vmem>>
  %b = "vector.load"(%x, %0, %0) : (memref<1x1xi32, #tpu.memory_space<vmem>>, index, index) -> vector<1x1xi32>
  "func.return"(%a, %b) : (vector<1x2xi32>, vector<1x1xi32>) -> ()
}) {window_params = [{}, {}], sym_name = "main"} : () -> ()
// -----
// Eight nibbles to a word, first row lowest.
// operand: i4 8x2 = 1 -1 2 0 3 0 4 0 5 0 6 0 7 0 -8 -8
// expect 0: i32 -2023406815 -2147483633
"func.func"() ({
^bb0(%m: memref<8x2xi4, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %w = "tpu.memref_bitcast"(%m) : (memref<8x2xi4, #tpu.memory_space<vmem>>) -> memref<1x2xi32, #tpu.memory_space<vmem>>
  %a = "vector.load"(%w, %0, %0) : (memref<1x2xi32, #tpu.memory_space<vmem>>, index, index) -> vector<1x2xi32>
  "func.return"(%a) : (vector<1x2xi32>) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
// -----
// Each half keeps its own definedness.
// operand: i16 2x3 = 1 undef 3 4 5 undef
// expect 0: i32 262145 undef undef
// expect 1: i16 1 undef 3
// expect 2: i32 4 5 undef
"func.func"() ({
^bb0(%m: memref<2x3xi16, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %w = "tpu.memref_bitcast"(%m) : (memref<2x3xi16, #tpu.memory_space<vmem>>) -> memref<1x3xi32, #tpu.memory_space<vmem>>
  %a = "vector.load"(%w, %0, %0) : (memref<1x3xi32, #tpu.memory_space<vmem>>, index, index) -> vector<1x3xi32>
  %low = "arith.trunci"(%a) : (vector<1x3xi32>) -> vector<1x3xi16>
  %n = "arith.constant"() {value = dense<16> : vector<1x3xi32>} : () -> vector<1x3xi32>
  %high = "arith.shrui"(%a, %n) : (vector<1x3xi32>, vector<1x3xi32>) -> vector<1x3xi32>
  "func.return"(%a, %low, %high) : (vector<1x3xi32>, vector<1x3xi16>, vector<1x3xi32>) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
// -----
// After a slice and a reshape, as kernels unpack a page: the second page of two, words of its row pairs.
// operand: i16 2x2x2x1 = 1 2 3 4 5 6 7 8
// expect 0: i32 393221 524295
"func.func"() ({
^bb0(%m: memref<2x2x2x1xi16, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %i = "arith.constant"() {value = 1 : i32} : () -> i32
  %z = "arith.constant"() {value = 0 : i32} : () -> i32
  %s = "tpu.memref_slice"(%m, %i, %z, %z, %z) {operandSegmentSizes = array<i32: 1, 4, 0>} : (memref<2x2x2x1xi16, #tpu.memory_space<vmem>>, i32, i32, i32, i32) -> memref<1x2x2x1xi16, #tpu.memory_space<vmem>>
  %p = "tpu.memref_squeeze"(%s) : (memref<1x2x2x1xi16, #tpu.memory_space<vmem>>) -> memref<2x2x1xi16, #tpu.memory_space<vmem>>
  %r = "tpu.memref_reshape"(%p) : (memref<2x2x1xi16, #tpu.memory_space<vmem>>) -> memref<4x1xi16, #tpu.memory_space<vmem>>
  %w = "tpu.memref_bitcast"(%r) : (memref<4x1xi16, #tpu.memory_space<vmem>>) -> memref<2x1xi32, #tpu.memory_space<vmem>>
  %a = "vector.load"(%w, %0, %0) : (memref<2x1xi32, #tpu.memory_space<vmem>>, index, index) -> vector<2x1xi32>
  "func.return"(%a) : (vector<2x1xi32>) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
// -----
// To another type of the same width.
// operand: f32 1x2 = 1.0 -0.0
// expect 0: i32 1065353216 -2147483648
"func.func"() ({
^bb0(%m: memref<1x2xf32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %w = "tpu.memref_bitcast"(%m) : (memref<1x2xf32, #tpu.memory_space<vmem>>) -> memref<1x2xi32, #tpu.memory_space<vmem>>
  %a = "vector.load"(%w, %0, %0) : (memref<1x2xi32, #tpu.memory_space<vmem>>, index, index) -> vector<1x2xi32>
  "func.return"(%a) : (vector<1x2xi32>) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
// -----
// A word stored through the cast lands in both of its rows.
// operand: i16 4x1 = 1 2 3 4
// expect 0: i16 1 2 -1 7
"func.func"() ({
^bb0(%m: memref<4x1xi16, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %1 = "arith.constant"() {value = 1 : index} : () -> index
  %w = "tpu.memref_bitcast"(%m) : (memref<4x1xi16, #tpu.memory_space<vmem>>) -> memref<2x1xi32, #tpu.memory_space<vmem>>
  %v = "arith.constant"() {value = dense<524287> : vector<1x1xi32>} : () -> vector<1x1xi32>
  "tpu.vector_store"(%v, %w, %1, %0) {add = false, operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>} : (vector<1x1xi32>, memref<2x1xi32, #tpu.memory_space<vmem>>, index, index) -> ()
  %a = "vector.load"(%m, %0, %0) : (memref<4x1xi16, #tpu.memory_space<vmem>>, index, index) -> vector<4x1xi16>
  "func.return"(%a) : (vector<4x1xi16>) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
// -----
// A scalar load and store through the cast.
// operand: i16 4x2 = 1 2 3 4 5 6 7 8
// expect 0: i32 524294
// expect 1: i16 1 2 3 4 9 6 10 8
"func.func"() ({
^bb0(%m: memref<4x2xi16, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %1 = "arith.constant"() {value = 1 : index} : () -> index
  %w = "tpu.memref_bitcast"(%m) : (memref<4x2xi16, #tpu.memory_space<vmem>>) -> memref<2x2xi32, #tpu.memory_space<vmem>>
  %a = "memref.load"(%w, %1, %1) : (memref<2x2xi32, #tpu.memory_space<vmem>>, index, index) -> i32
  %v = "arith.constant"() {value = 655369 : i32} : () -> i32
  "memref.store"(%v, %w, %1, %0) : (i32, memref<2x2xi32, #tpu.memory_space<vmem>>, index, index) -> ()
  %b = "vector.load"(%m, %0, %0) : (memref<4x2xi16, #tpu.memory_space<vmem>>, index, index) -> vector<4x2xi16>
  "func.return"(%a, %b) : (i32, vector<4x2xi16>) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
