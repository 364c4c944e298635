// A window of the given sizes from the indices on; loads through it count from there.
// operand: i32 3x4 = 0 1 2 3 10 11 12 13 20 21 22 23
// expect 0: i32 11 12 21 22
// expect 1: i32 22
"func.func"() ({
^bb0(%m: memref<3x4xi32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %1 = "arith.constant"() {value = 1 : index} : () -> index
  %i = "arith.constant"() {value = 1 : i32} : () -> i32
  %s = "tpu.memref_slice"(%m, %i, %i) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<3x4xi32, #tpu.memory_space<vmem>>, i32, i32) -> memref<2x2xi32, #tpu.memory_space<vmem>>
  %a = "vector.load"(%s, %0, %0) : (memref<2x2xi32, #tpu.memory_space<vmem>>, index, index) -> vector<2x2xi32>
  %t = "tpu.memref_slice"(%s, %i, %i) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<2x2xi32, #tpu.memory_space<vmem>>, i32, i32) -> memref<1x1xi32, #tpu.memory_space<vmem>>
  %b = "vector.load"(%t, %0, %0) : (memref<1x1xi32, #tpu.memory_space<vmem>>, index, index) -> vector<1x1xi32>
  "func.return"(%a, %b) : (vector<2x2xi32>, vector<1x1xi32>) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
// -----
// Computing a slice outside is no access; loading through it is.
// operand: i32 3x4 = 0 1 2 3 10 11 12 13 20 21 22 23
// expect 0: i32 1
"func.func"() ({
^bb0(%m: memref<3x4xi32, #tpu.memory_space<vmem>>):
  %i = "arith.constant"() {value = 3 : i32} : () -> i32
  %s = "tpu.memref_slice"(%m, %i, %i) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<3x4xi32, #tpu.memory_space<vmem>>, i32, i32) -> memref<2x2xi32, #tpu.memory_space<vmem>>
  %a = "arith.constant"() {value = 1 : i32} : () -> i32
  "func.return"(%a) : (i32) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
// -----
// Loading through a slice that lies outside, at a place that would lie inside.
// operand: i32 3x4 = 0 1 2 3 10 11 12 13 20 21 22 23
// fault: out-of-bounds in vector.load
"func.func"() ({
^bb0(%m: memref<3x4xi32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %1 = "arith.constant"() {value = 1 : index} : () -> index
  %z = "arith.constant"() {value = 0 : i32} : () -> i32
  %i = "arith.constant"() {value = 2 : i32} : () -> i32
  %s = "tpu.memref_slice"(%m, %i, %z) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<3x4xi32, #tpu.memory_space<vmem>>, i32, i32) -> memref<2x4xi32, #tpu.memory_space<vmem>>
  %a = "vector.load"(%s, %0, %0) : (memref<2x4xi32, #tpu.memory_space<vmem>>, index, index) -> vector<1x4xi32>
  "func.return"(%a) : (vector<1x4xi32>) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
// -----
// A load that leaves the slice but not what it was cut from.
// operand: i32 3x4 = 0 1 2 3 10 11 12 13 20 21 22 23
// fault: out-of-bounds in vector.load
"func.func"() ({
^bb0(%m: memref<3x4xi32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %1 = "arith.constant"() {value = 1 : index} : () -> index
  %z = "arith.constant"() {value = 0 : i32} : () -> i32
  %s = "tpu.memref_slice"(%m, %z, %z) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<3x4xi32, #tpu.memory_space<vmem>>, i32, i32) -> memref<2x4xi32, #tpu.memory_space<vmem>>
  %a = "vector.load"(%s, %1, %0) : (memref<2x4xi32, #tpu.memory_space<vmem>>, index, index) -> vector<2x4xi32>
  "func.return"(%a) : (vector<2x4xi32>) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
// -----
// An undefined index faults where the slice is accessed.
// operand: i32 3x4 = 0 1 2 3 undef 11 12 13 20 21 22 23
// fault: undefined-use in vector.load
"func.func"() ({
^bb0(%m: memref<3x4xi32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %1 = "arith.constant"() {value = 1 : index} : () -> index
  %u = "memref.load"(%m, %1, %0) : (memref<3x4xi32, #tpu.memory_space<vmem>>, index, index) -> i32
  %s = "tpu.memref_slice"(%m, %u, %u) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<3x4xi32, #tpu.memory_space<vmem>>, i32, i32) -> memref<2x2xi32, #tpu.memory_space<vmem>>
  %a = "vector.load"(%s, %0, %0) : (memref<2x2xi32, #tpu.memory_space<vmem>>, index, index) -> vector<2x2xi32>
  "func.return"(%a) : (vector<2x2xi32>) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
// -----
// As JAX before 0.9 writes views: with the strides that slicing leaves.
// operand: i32 3x4 = 0 1 2 3 10 11 12 13 20 21 22 23
// expect 0: i32 11 12 21 22
"func.func"() ({
^bb0(%m: memref<3x4xi32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %i = "arith.constant"() {value = 1 : i32} : () -> i32
  %s = "tpu.memref_slice"(%m, %i, %i) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<3x4xi32, #tpu.memory_space<vmem>>, i32, i32) -> memref<2x2xi32, strided<[4, 1], offset: ?>, #tpu.memory_space<vmem>>
  %a = "vector.load"(%s, %0, %0) : (memref<2x2xi32, strided<[4, 1], offset: ?>, #tpu.memory_space<vmem>>, index, index) -> vector<2x2xi32>
  "func.return"(%a) : (vector<2x2xi32>) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
