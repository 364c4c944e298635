// A window from the indices on; undefined lanes stay so, and loading them is no fault.
// operand: i32 3x4 = 0 1 2 3 10 11 undef 13 20 21 22 23
// expect 0: i32 11 undef 21 22
// expect 1: i32 20 21 22 23
// expect 2: i32 13
"func.func"() ({
^bb0(%m: memref<3x4xi32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %1 = "arith.constant"() {value = 1 : index} : () -> index
  %2 = "arith.constant"() {value = 2 : index} : () -> index
  %3 = "arith.constant"() {value = 3 : index} : () -> index
  %a = "vector.load"(%m, %1, %1) : (memref<3x4xi32, #tpu.memory_space<vmem>>, index, index) -> vector<2x2xi32>
  %b = "vector.load"(%m, %2, %0) : (memref<3x4xi32, #tpu.memory_space<vmem>>, index, index) -> vector<4xi32>
  %c = "vector.load"(%m, %1, %3) : (memref<3x4xi32, #tpu.memory_space<vmem>>, index, index) -> vector<1x1xi32>
  "func.return"(%a, %b, %c) : (vector<2x2xi32>, vector<4xi32>, vector<1x1xi32>) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
// -----
// Of narrow types.
// operand: bf16 2x2 = 1.5 0x7FC0 -2.0 0xFF80
// operand: i8 4 = -128 127 -1 0
// operand: f8e4m3fn 2 = 448.0 0x7F
// expect 0: bf16 1.5 nan -2.0 -inf
// expect 1: i8 127 -1
// expect 2: f8e4m3fn 448.0 nan
"func.func"() ({
^bb0(%m: memref<2x2xbf16, #tpu.memory_space<vmem>>, %n: memref<4xi8, #tpu.memory_space<vmem>>, %p: memref<2xf8E4M3FN, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %1 = "arith.constant"() {value = 1 : index} : () -> index
  %a = "vector.load"(%m, %0, %0) : (memref<2x2xbf16, #tpu.memory_space<vmem>>, index, index) -> vector<2x2xbf16>
  %b = "vector.load"(%n, %1) : (memref<4xi8, #tpu.memory_space<vmem>>, index) -> vector<2xi8>
  %c = "vector.load"(%p, %0) : (memref<2xf8E4M3FN, #tpu.memory_space<vmem>>, index) -> vector<2xf8E4M3FN>
  "func.return"(%a, %b, %c) : (vector<2x2xbf16>, vector<2xi8>, vector<2xf8E4M3FN>) -> ()
}) {window_params = [{}, {}, {}], sym_name = "main"} : () -> ()
// -----
// A window that leaves the memref by one column, though not the memory.
// operand: i32 3x4 = 0 1 2 3 10 11 12 13 20 21 22 23
// fault: out-of-bounds in vector.load
"func.func"() ({
^bb0(%m: memref<3x4xi32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %3 = "arith.constant"() {value = 3 : index} : () -> index
  %a = "vector.load"(%m, %0, %3) : (memref<3x4xi32, #tpu.memory_space<vmem>>, index, index) -> vector<2x2xi32>
  "func.return"(%a) : (vector<2x2xi32>) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
// -----
// A negative index.
// operand: i32 3x4 = 0 1 2 3 10 11 12 13 20 21 22 23
// fault: out-of-bounds in vector.load
"func.func"() ({
^bb0(%m: memref<3x4xi32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %neg = "arith.constant"() {value = -1 : index} : () -> index
  %a = "vector.load"(%m, %0, %neg) : (memref<3x4xi32, #tpu.memory_space<vmem>>, index, index) -> vector<1x2xi32>
  "func.return"(%a) : (vector<1x2xi32>) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
// -----
// A load that leaves its memref faults even where nobody uses the result.
// operand: i32 3x4 = 0 1 2 3 10 11 12 13 20 21 22 23
// fault: out-of-bounds in vector.load
"func.func"() ({
^bb0(%m: memref<3x4xi32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %3 = "arith.constant"() {value = 3 : index} : () -> index
  %a = "vector.load"(%m, %3, %0) : (memref<3x4xi32, #tpu.memory_space<vmem>>, index, index) -> vector<1x4xi32>
  "func.return"() : () -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
// -----
// An undefined index.
// operand: i32 2 = 0 undef
// fault: undefined-use in vector.load
"func.func"() ({
^bb0(%m: memref<2xi32, #tpu.memory_space<vmem>>):
  %1 = "arith.constant"() {value = 1 : index} : () -> index
  %u = "memref.load"(%m, %1) : (memref<2xi32, #tpu.memory_space<vmem>>, index) -> i32
  %i = "arith.index_cast"(%u) : (i32) -> index
  %a = "vector.load"(%m, %i) : (memref<2xi32, #tpu.memory_space<vmem>>, index) -> vector<1xi32>
  "func.return"(%a) : (vector<1xi32>) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
