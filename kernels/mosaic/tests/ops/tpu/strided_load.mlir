// Rows apart by the stride, from the indices on.
// operand: i32 6x2 = 0 1 10 11 20 21 30 31 40 41 50 51
// expect 0: i32 10 11 30 31 50 51
// expect 1: i32 20 50
// expect 2: i32 0 1 10 11
"func.func"() ({
^bb0(%m: memref<6x2xi32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %1 = "arith.constant"() {value = 1 : index} : () -> index
  %2 = "arith.constant"() {value = 2 : index} : () -> index
  %a = "tpu.strided_load"(%m, %1, %0) {strides = array<i32: 2, 1>} : (memref<6x2xi32, #tpu.memory_space<vmem>>, index, index) -> vector<3x2xi32>
  %b = "tpu.strided_load"(%m, %2, %0) {strides = array<i32: 3, 1>} : (memref<6x2xi32, #tpu.memory_space<vmem>>, index, index) -> vector<2x1xi32>
  %c = "tpu.strided_load"(%m, %0, %0) {strides = array<i32: 1, 1>} : (memref<6x2xi32, #tpu.memory_space<vmem>>, index, index) -> vector<2x2xi32>
  "func.return"(%a, %b, %c) : (vector<3x2xi32>, vector<2x1xi32>, vector<2x2xi32>) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
// -----
// The last row may be the last there is, but not one more.
// operand: i32 6x2 = 0 1 10 11 20 21 30 31 40 41 50 51
// fault: out-of-bounds in tpu.strided_load
"func.func"() ({
^bb0(%m: memref<6x2xi32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %2 = "arith.constant"() {value = 2 : index} : () -> index
  %a = "tpu.strided_load"(%m, %2, %0) {strides = array<i32: 2, 1>} : (memref<6x2xi32, #tpu.memory_space<vmem>>, index, index) -> vector<3x2xi32>
  "func.return"(%a) : (vector<3x2xi32>) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
// -----
// Of packed words, as kernels take one head of several: every second word row.
// operand: bf16 8x1 = 0x0000 0x0001 0x0002 0x0003 0x0004 0x0005 0x0006 0x0007
// expect 0: i32 196610 458758
"func.func"() ({
^bb0(%m: memref<8x1xbf16, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %1 = "arith.constant"() {value = 1 : index} : () -> index
  %w = "tpu.memref_bitcast"(%m) : (memref<8x1xbf16, #tpu.memory_space<vmem>>) -> memref<4x1xi32, #tpu.memory_space<vmem>>
  %a = "tpu.strided_load"(%w, %1, %0) {strides = array<i32: 2, 1>} : (memref<4x1xi32, #tpu.memory_space<vmem>>, index, index) -> vector<2x1xi32>
  "func.return"(%a) : (vector<2x1xi32>) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
// -----
// Rows in between may be undefined.
// operand: f32 3x1 = 1.0 undef 3.0
// expect 0: f32 1.0 3.0
// expect 1: f32 undef
"func.func"() ({
^bb0(%m: memref<3x1xf32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %1 = "arith.constant"() {value = 1 : index} : () -> index
  %a = "tpu.strided_load"(%m, %0, %0) {strides = array<i32: 2, 1>} : (memref<3x1xf32, #tpu.memory_space<vmem>>, index, index) -> vector<2x1xf32>
  %b = "tpu.strided_load"(%m, %1, %0) {strides = array<i32: 2, 1>} : (memref<3x1xf32, #tpu.memory_space<vmem>>, index, index) -> vector<1x1xf32>
  "func.return"(%a, %b) : (vector<2x1xf32>, vector<1x1xf32>) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
