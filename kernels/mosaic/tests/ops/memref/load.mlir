// Scalars by index, row-major; loading an undefined one is no fault.
// operand: i32 2x3 = 1 2 3 4 undef 6
// expect 0: i32 1
// expect 1: i32 6
// expect 2: i32 undef
// expect 3: i32 4
"func.func"() ({
^bb0(%m: memref<2x3xi32, #tpu.memory_space<smem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %1 = "arith.constant"() {value = 1 : index} : () -> index
  %2 = "arith.constant"() {value = 2 : index} : () -> index
  %a = "memref.load"(%m, %0, %0) : (memref<2x3xi32, #tpu.memory_space<smem>>, index, index) -> i32
  %b = "memref.load"(%m, %1, %2) : (memref<2x3xi32, #tpu.memory_space<smem>>, index, index) -> i32
  %c = "memref.load"(%m, %1, %1) : (memref<2x3xi32, #tpu.memory_space<smem>>, index, index) -> i32
  %d = "memref.load"(%m, %1, %0) : (memref<2x3xi32, #tpu.memory_space<smem>>, index, index) -> i32
  "func.return"(%a, %b, %c, %d) : (i32, i32, i32, i32) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
// -----
// One past the end.
// operand: i32 2x3 = 1 2 3 4 5 6
// fault: out-of-bounds in memref.load
"func.func"() ({
^bb0(%m: memref<2x3xi32, #tpu.memory_space<smem>>):
  %i = "arith.constant"() {value = 0 : index} : () -> index
  %j = "arith.constant"() {value = 3 : index} : () -> index
  %a = "memref.load"(%m, %i, %j) : (memref<2x3xi32, #tpu.memory_space<smem>>, index, index) -> i32
  "func.return"(%a) : (i32) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
// -----
// A negative index, though the address lies inside.
// operand: i32 2x3 = 1 2 3 4 5 6
// fault: out-of-bounds in memref.load
"func.func"() ({
^bb0(%m: memref<2x3xi32, #tpu.memory_space<smem>>):
  %i = "arith.constant"() {value = 1 : index} : () -> index
  %j = "arith.constant"() {value = -1 : index} : () -> index
  %a = "memref.load"(%m, %i, %j) : (memref<2x3xi32, #tpu.memory_space<smem>>, index, index) -> i32
  "func.return"(%a) : (i32) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
// -----
// One row past the end.
// operand: i32 2x3 = 1 2 3 4 5 6
// fault: out-of-bounds in memref.load
"func.func"() ({
^bb0(%m: memref<2x3xi32, #tpu.memory_space<smem>>):
  %i = "arith.constant"() {value = 2 : index} : () -> index
  %j = "arith.constant"() {value = 0 : index} : () -> index
  %a = "memref.load"(%m, %i, %j) : (memref<2x3xi32, #tpu.memory_space<smem>>, index, index) -> i32
  "func.return"(%a) : (i32) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
// -----
// An undefined index.
// operand: i32 2 = 0 undef
// fault: undefined-use in memref.load
"func.func"() ({
^bb0(%m: memref<2xi32, #tpu.memory_space<smem>>):
  %1 = "arith.constant"() {value = 1 : index} : () -> index
  %u = "memref.load"(%m, %1) : (memref<2xi32, #tpu.memory_space<smem>>, index) -> i32
  %i = "arith.index_cast"(%u) : (i32) -> index
  %a = "memref.load"(%m, %i) : (memref<2xi32, #tpu.memory_space<smem>>, index) -> i32
  "func.return"(%a) : (i32) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
