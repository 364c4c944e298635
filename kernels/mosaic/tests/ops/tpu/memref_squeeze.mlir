// Drops extents of 1, in front and in the middle.
// operand: i32 2x3x4 = 0 1 2 3 10 11 12 13 20 21 22 23 100 101 102 103 110 111 112 113 120 121 122 123
// expect 0: i32 100 101 102 103 110 111 112 113 120 121 122 123
// expect 1: i32 111 112
// expect 2: i32 123
"func.func"() ({
^bb0(%m: memref<2x3x4xi32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %1 = "arith.constant"() {value = 1 : index} : () -> index
  %i = "arith.constant"() {value = 1 : i32} : () -> i32
  %z = "arith.constant"() {value = 0 : i32} : () -> i32
  %2 = "arith.constant"() {value = 2 : i32} : () -> i32
  %3 = "arith.constant"() {value = 3 : i32} : () -> i32
  %s = "tpu.memref_slice"(%m, %i, %z, %z) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x3x4xi32, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x3x4xi32, #tpu.memory_space<vmem>>
  %p = "tpu.memref_squeeze"(%s) : (memref<1x3x4xi32, #tpu.memory_space<vmem>>) -> memref<3x4xi32, #tpu.memory_space<vmem>>
  %a = "vector.load"(%p, %0, %0) : (memref<3x4xi32, #tpu.memory_space<vmem>>, index, index) -> vector<3x4xi32>
  %t = "tpu.memref_slice"(%m, %z, %i, %i) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x3x4xi32, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<2x1x2xi32, #tpu.memory_space<vmem>>
  %q = "tpu.memref_squeeze"(%t) : (memref<2x1x2xi32, #tpu.memory_space<vmem>>) -> memref<2x2xi32, #tpu.memory_space<vmem>>
  %b = "vector.load"(%q, %1, %0) : (memref<2x2xi32, #tpu.memory_space<vmem>>, index, index) -> vector<1x2xi32>
  %v = "tpu.memref_slice"(%m, %i, %2, %3) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x3x4xi32, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x1x1xi32, #tpu.memory_space<vmem>>
  %r = "tpu.memref_squeeze"(%v) : (memref<1x1x1xi32, #tpu.memory_space<vmem>>) -> memref<i32, #tpu.memory_space<vmem>>
  %c = "memref.load"(%r) : (memref<i32, #tpu.memory_space<vmem>>) -> i32
  "func.return"(%a, %b, %c) : (vector<3x4xi32>, vector<1x2xi32>, i32) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
