// Stores one element and no other; an undefined value leaves it undefined.
// operand: i32 4 = 1 2 undef 4
// expect 0: i32 1 9 8 undef
"func.func"() ({
^bb0(%m: memref<4xi32, #tpu.memory_space<smem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %1 = "arith.constant"() {value = 1 : index} : () -> index
  %2 = "arith.constant"() {value = 2 : index} : () -> index
  %3 = "arith.constant"() {value = 3 : index} : () -> index
  %nine = "arith.constant"() {value = 9 : i32} : () -> i32
  %eight = "arith.constant"() {value = 8 : i32} : () -> i32
  %u = "memref.load"(%m, %2) : (memref<4xi32, #tpu.memory_space<smem>>, index) -> i32
  "memref.store"(%nine, %m, %1) : (i32, memref<4xi32, #tpu.memory_space<smem>>, index) -> ()
  "memref.store"(%u, %m, %3) : (i32, memref<4xi32, #tpu.memory_space<smem>>, index) -> ()
  "memref.store"(%eight, %m, %2) : (i32, memref<4xi32, #tpu.memory_space<smem>>, index) -> ()
  %a = "vector.load"(%m, %0) : (memref<4xi32, #tpu.memory_space<smem>>, index) -> vector<4xi32>
  "func.return"(%a) : (vector<4xi32>) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
// -----
// Past the end.
// operand: i32 4 = 1 2 3 4
// fault: out-of-bounds in memref.store
"func.func"() ({
^bb0(%m: memref<4xi32, #tpu.memory_space<smem>>):
  %4 = "arith.constant"() {value = 4 : index} : () -> index
  %nine = "arith.constant"() {value = 9 : i32} : () -> i32
  "memref.store"(%nine, %m, %4) : (i32, memref<4xi32, #tpu.memory_space<smem>>, index) -> ()
  "func.return"() : () -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
