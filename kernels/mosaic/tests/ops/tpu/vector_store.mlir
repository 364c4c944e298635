// Stores a window and nothing beside it.
// operand: i32 3x4 = 0 1 2 3 10 11 12 13 20 21 22 23
// expect 0: i32 0 1 2 3 10 91 92 13 20 93 94 23
"func.func"() ({
^bb0(%m: memref<3x4xi32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %1 = "arith.constant"() {value = 1 : index} : () -> index
  %v = "arith.constant"() {value = dense<[[91, 92], [93, 94]]> : vector<2x2xi32>} : () -> vector<2x2xi32>
  "tpu.vector_store"(%v, %m, %1, %1) {add = false, operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>} : (vector<2x2xi32>, memref<3x4xi32, #tpu.memory_space<vmem>>, index, index) -> ()
  %r = "vector.load"(%m, %0, %0) : (memref<3x4xi32, #tpu.memory_space<vmem>>, index, index) -> vector<3x4xi32>
  "func.return"(%r) : (vector<3x4xi32>) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
// -----
// Stores where the mask is set; other elements stay, undefined ones too.
// operand: i32 3x4 = undef undef 2 3 10 11 12 13 20 21 22 23
// expect 0: i32 undef 92 2 3 10 94 12 13 20 21 22 23
"func.func"() ({
^bb0(%m: memref<3x4xi32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %v = "arith.constant"() {value = dense<[[91, 92], [93, 94]]> : vector<2x2xi32>} : () -> vector<2x2xi32>
  %k = "arith.constant"() {value = dense<[[false, true], [false, true]]> : vector<2x2xi1>} : () -> vector<2x2xi1>
  "tpu.vector_store"(%v, %m, %0, %0, %k) {add = false, operandSegmentSizes = array<i32: 1, 1, 2, 1>, strides = array<i32>} : (vector<2x2xi32>, memref<3x4xi32, #tpu.memory_space<vmem>>, index, index, vector<2x2xi1>) -> ()
  %r = "vector.load"(%m, %0, %0) : (memref<3x4xi32, #tpu.memory_space<vmem>>, index, index) -> vector<3x4xi32>
  "func.return"(%r) : (vector<3x4xi32>) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
// -----
// A mask that is set nowhere and one that is set everywhere.
// operand: i32 3x4 = 0 1 2 3 10 11 12 13 20 21 22 23
// expect 0: i32 0 1 2 3 7 7 12 13 20 21 22 23
"func.func"() ({
^bb0(%m: memref<3x4xi32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %1 = "arith.constant"() {value = 1 : index} : () -> index
  %v = "arith.constant"() {value = dense<9> : vector<1x2xi32>} : () -> vector<1x2xi32>
  %w = "arith.constant"() {value = dense<7> : vector<1x2xi32>} : () -> vector<1x2xi32>
  %f = "arith.constant"() {value = dense<false> : vector<1x2xi1>} : () -> vector<1x2xi1>
  %t = "arith.constant"() {value = dense<true> : vector<1x2xi1>} : () -> vector<1x2xi1>
  "tpu.vector_store"(%v, %m, %0, %0, %f) {add = false, operandSegmentSizes = array<i32: 1, 1, 2, 1>, strides = array<i32>} : (vector<1x2xi32>, memref<3x4xi32, #tpu.memory_space<vmem>>, index, index, vector<1x2xi1>) -> ()
  "tpu.vector_store"(%w, %m, %1, %0, %t) {add = false, operandSegmentSizes = array<i32: 1, 1, 2, 1>, strides = array<i32>} : (vector<1x2xi32>, memref<3x4xi32, #tpu.memory_space<vmem>>, index, index, vector<1x2xi1>) -> ()
  %r = "vector.load"(%m, %0, %0) : (memref<3x4xi32, #tpu.memory_space<vmem>>, index, index) -> vector<3x4xi32>
  "func.return"(%r) : (vector<3x4xi32>) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
// -----
// Undefined lanes make what they are stored to undefined, others defined.
// operand: i32 3x4 = 0 undef 2 3 10 11 12 13 20 21 22 23
// expect 0: i32 0 undef 2 3 0 undef 12 13 20 21 22 23
"func.func"() ({
^bb0(%m: memref<3x4xi32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %1 = "arith.constant"() {value = 1 : index} : () -> index
  %u = "vector.load"(%m, %0, %0) : (memref<3x4xi32, #tpu.memory_space<vmem>>, index, index) -> vector<1x2xi32>
  "tpu.vector_store"(%u, %m, %1, %0) {add = false, operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>} : (vector<1x2xi32>, memref<3x4xi32, #tpu.memory_space<vmem>>, index, index) -> ()
  %r = "vector.load"(%m, %0, %0) : (memref<3x4xi32, #tpu.memory_space<vmem>>, index, index) -> vector<3x4xi32>
  "func.return"(%r) : (vector<3x4xi32>) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
// -----
// An undefined mask lane leaves its element undefined: nobody knows whether it was written.
// operand: i32 3x4 = 0 undef 2 3 10 11 12 13 20 21 22 23
// expect 0: i32 0 undef 2 3 9 undef 12 13 20 21 22 23
"func.func"() ({
^bb0(%m: memref<3x4xi32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %1 = "arith.constant"() {value = 1 : index} : () -> index
  %u = "vector.load"(%m, %0, %0) : (memref<3x4xi32, #tpu.memory_space<vmem>>, index, index) -> vector<1x2xi32>
  %z = "arith.constant"() {value = dense<0> : vector<1x2xi32>} : () -> vector<1x2xi32>
  %k = "arith.cmpi"(%u, %z) {predicate = 0 : i64} : (vector<1x2xi32>, vector<1x2xi32>) -> vector<1x2xi1>
  %v = "arith.constant"() {value = dense<9> : vector<1x2xi32>} : () -> vector<1x2xi32>
  "tpu.vector_store"(%v, %m, %1, %0, %k) {add = false, operandSegmentSizes = array<i32: 1, 1, 2, 1>, strides = array<i32>} : (vector<1x2xi32>, memref<3x4xi32, #tpu.memory_space<vmem>>, index, index, vector<1x2xi1>) -> ()
  %r = "vector.load"(%m, %0, %0) : (memref<3x4xi32, #tpu.memory_space<vmem>>, index, index) -> vector<3x4xi32>
  "func.return"(%r) : (vector<3x4xi32>) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
// -----
// A window that leaves the memref.
// operand: i32 3x4 = 0 1 2 3 10 11 12 13 20 21 22 23
// fault: out-of-bounds in tpu.vector_store
"func.func"() ({
^bb0(%m: memref<3x4xi32, #tpu.memory_space<vmem>>):
  %2 = "arith.constant"() {value = 2 : index} : () -> index
  %3 = "arith.constant"() {value = 3 : index} : () -> index
  %v = "arith.constant"() {value = dense<9> : vector<1x2xi32>} : () -> vector<1x2xi32>
  "tpu.vector_store"(%v, %m, %2, %3) {add = false, operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>} : (vector<1x2xi32>, memref<3x4xi32, #tpu.memory_space<vmem>>, index, index) -> ()
  "func.return"() : () -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
// -----
// Lanes that the mask switches off may lie outside.
// operand: i32 3x4 = 0 1 2 3 10 11 12 13 20 21 22 23
// expect 0: i32 0 1 2 3 10 11 12 13 20 21 22 9
"func.func"() ({
^bb0(%m: memref<3x4xi32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %2 = "arith.constant"() {value = 2 : index} : () -> index
  %3 = "arith.constant"() {value = 3 : index} : () -> index
  %v = "arith.constant"() {value = dense<9> : vector<1x2xi32>} : () -> vector<1x2xi32>
  %k = "arith.constant"() {value = dense<[[true, false]]> : vector<1x2xi1>} : () -> vector<1x2xi1>
  "tpu.vector_store"(%v, %m, %2, %3, %k) {add = false, operandSegmentSizes = array<i32: 1, 1, 2, 1>, strides = array<i32>} : (vector<1x2xi32>, memref<3x4xi32, #tpu.memory_space<vmem>>, index, index, vector<1x2xi1>) -> ()
  %r = "vector.load"(%m, %0, %0) : (memref<3x4xi32, #tpu.memory_space<vmem>>, index, index) -> vector<3x4xi32>
  "func.return"(%r) : (vector<3x4xi32>) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
// -----
// A lane outside that the mask leaves on.
// operand: i32 3x4 = 0 1 2 3 10 11 12 13 20 21 22 23
// fault: out-of-bounds in tpu.vector_store
"func.func"() ({
^bb0(%m: memref<3x4xi32, #tpu.memory_space<vmem>>):
  %2 = "arith.constant"() {value = 2 : index} : () -> index
  %3 = "arith.constant"() {value = 3 : index} : () -> index
  %v = "arith.constant"() {value = dense<9> : vector<1x2xi32>} : () -> vector<1x2xi32>
  %k = "arith.constant"() {value = dense<[[false, true]]> : vector<1x2xi1>} : () -> vector<1x2xi1>
  "tpu.vector_store"(%v, %m, %2, %3, %k) {add = false, operandSegmentSizes = array<i32: 1, 1, 2, 1>, strides = array<i32>} : (vector<1x2xi32>, memref<3x4xi32, #tpu.memory_space<vmem>>, index, index, vector<1x2xi1>) -> ()
  "func.return"() : () -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
// -----
// Of narrow types, nibbles of one byte apart.
// operand: bf16 2 = 1.0 2.0
// operand: i4 4 = 1 2 3 4
// expect 0: bf16 1.0 -inf
// expect 1: i4 1 -8 3 4
"func.func"() ({
^bb0(%m: memref<2xbf16, #tpu.memory_space<vmem>>, %n: memref<4xi4, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %1 = "arith.constant"() {value = 1 : index} : () -> index
  %v = "arith.constant"() {value = dense<0xFF80> : vector<1xbf16>} : () -> vector<1xbf16>
  %w = "arith.constant"() {value = dense<-8> : vector<1xi4>} : () -> vector<1xi4>
  "tpu.vector_store"(%v, %m, %1) {add = false, operandSegmentSizes = array<i32: 1, 1, 1, 0>, strides = array<i32>} : (vector<1xbf16>, memref<2xbf16, #tpu.memory_space<vmem>>, index) -> ()
  "tpu.vector_store"(%w, %n, %1) {add = false, operandSegmentSizes = array<i32: 1, 1, 1, 0>, strides = array<i32>} : (vector<1xi4>, memref<4xi4, #tpu.memory_space<vmem>>, index) -> ()
  %a = "vector.load"(%m, %0) : (memref<2xbf16, #tpu.memory_space<vmem>>, index) -> vector<2xbf16>
  %b = "vector.load"(%n, %0) : (memref<4xi4, #tpu.memory_space<vmem>>, index) -> vector<4xi4>
  "func.return"(%a, %b) : (vector<2xbf16>, vector<4xi4>) -> ()
}) {window_params = [{}, {}], sym_name = "main"} : () -> ()
// -----
// A value of lower rank covers the last dimensions.
// operand: i32 2x2 = 1 2 3 4
// expect 0: i32 1 2 8 9
"func.func"() ({
^bb0(%m: memref<2x2xi32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %1 = "arith.constant"() {value = 1 : index} : () -> index
  %v = "arith.constant"() {value = dense<[8, 9]> : vector<2xi32>} : () -> vector<2xi32>
  "tpu.vector_store"(%v, %m, %1, %0) {add = false, operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>} : (vector<2xi32>, memref<2x2xi32, #tpu.memory_space<vmem>>, index, index) -> ()
  %a = "vector.load"(%m, %0, %0) : (memref<2x2xi32, #tpu.memory_space<vmem>>, index, index) -> vector<2x2xi32>
  "func.return"(%a) : (vector<2x2xi32>) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
// -----
// Adding to memory isn't known.
// operand: i32 2 = 1 2
// refused: accumulating
"func.func"() ({
^bb0(%m: memref<2xi32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %v = "arith.constant"() {value = dense<[8, 9]> : vector<2xi32>} : () -> vector<2xi32>
  "tpu.vector_store"(%v, %m, %0) {add = true, operandSegmentSizes = array<i32: 1, 1, 1, 0>, strides = array<i32>} : (vector<2xi32>, memref<2xi32, #tpu.memory_space<vmem>>, index) -> ()
  "func.return"() : () -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
