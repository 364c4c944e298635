// Another shape over the same row-major elements.
// operand: i32 2x3x4 = 0 1 2 3 10 11 12 13 20 21 22 23 100 101 102 103 110 111 112 113 120 121 122 123
// expect 0: i32 20 21 22 23 100 101 102 103
// expect 1: i32 13 20
"func.func"() ({
^bb0(%m: memref<2x3x4xi32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %2 = "arith.constant"() {value = 2 : index} : () -> index
  %3 = "arith.constant"() {value = 3 : index} : () -> index
  %r = "tpu.memref_reshape"(%m) : (memref<2x3x4xi32, #tpu.memory_space<vmem>>) -> memref<6x4xi32, #tpu.memory_space<vmem>>
  %a = "vector.load"(%r, %2, %0) : (memref<6x4xi32, #tpu.memory_space<vmem>>, index, index) -> vector<2x4xi32>
  %q = "tpu.memref_reshape"(%r) : (memref<6x4xi32, #tpu.memory_space<vmem>>) -> memref<24xi32, #tpu.memory_space<vmem>>
  %i = "arith.constant"() {value = 7 : index} : () -> index
  %b = "vector.load"(%q, %i) : (memref<24xi32, #tpu.memory_space<vmem>>, index) -> vector<2xi32>
  "func.return"(%a, %b) : (vector<2x4xi32>, vector<2xi32>) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
// -----
// Of a slice: what is stored through it lands in the memref.
// operand: i32 2x3x4 = 0 1 2 3 10 11 12 13 20 21 22 23 100 101 102 103 110 111 112 113 120 121 122 123
// expect 0: i32 20 21 22 23 7 7 7 7 110
"func.func"() ({
^bb0(%m: memref<2x3x4xi32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %1 = "arith.constant"() {value = 1 : index} : () -> index
  %2 = "arith.constant"() {value = 2 : index} : () -> index
  %i = "arith.constant"() {value = 1 : i32} : () -> i32
  %z = "arith.constant"() {value = 0 : i32} : () -> i32
  %s = "tpu.memref_slice"(%m, %i, %z, %z) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x3x4xi32, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x3x4xi32, #tpu.memory_space<vmem>>
  %p = "tpu.memref_squeeze"(%s) : (memref<1x3x4xi32, #tpu.memory_space<vmem>>) -> memref<3x4xi32, #tpu.memory_space<vmem>>
  %r = "tpu.memref_reshape"(%p) : (memref<3x4xi32, #tpu.memory_space<vmem>>) -> memref<12xi32, #tpu.memory_space<vmem>>
  %7 = "arith.constant"() {value = dense<7> : vector<4xi32>} : () -> vector<4xi32>
  "tpu.vector_store"(%7, %r, %0) {add = false, operandSegmentSizes = array<i32: 1, 1, 1, 0>, strides = array<i32>} : (vector<4xi32>, memref<12xi32, #tpu.memory_space<vmem>>, index) -> ()
  %f = "tpu.memref_reshape"(%m) : (memref<2x3x4xi32, #tpu.memory_space<vmem>>) -> memref<24xi32, #tpu.memory_space<vmem>>
  %8 = "arith.constant"() {value = 8 : index} : () -> index
  %a = "vector.load"(%f, %8) : (memref<24xi32, #tpu.memory_space<vmem>>, index) -> vector<9xi32>
  "func.return"(%a) : (vector<9xi32>) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
