// Copies, definedness included; undefined elements are copied without a fault.
// operand: i32 4 = 1 2 undef 4
// expect 0: i32 1 2 undef 4
"func.func"() ({
^bb0(%h: memref<4xi32, #tpu.memory_space<any>>, %t: memref<4xi32, #tpu.memory_space<vmem>>, %s: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  "tpu.enqueue_dma"(%h, %t, %s) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<4xi32, #tpu.memory_space<any>>, memref<4xi32, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
  "tpu.wait_dma2"(%s, %h, %t) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<4xi32, #tpu.memory_space<any>>, memref<4xi32, #tpu.memory_space<vmem>>) -> ()
  %r = "vector.load"(%t, %0) : (memref<4xi32, #tpu.memory_space<vmem>>, index) -> vector<4xi32>
  "func.return"(%r) : (vector<4xi32>) -> ()
}) {window_params = [{}], scratch_operands = 2 : i64, sym_name = "main"} : () -> ()
// -----
// From a slice of one array to a slice of another, strided on both sides: the middle columns of the last two rows.
// operand: i32 3x4 = 0 1 2 3 10 11 12 13 20 21 22 23
// expect 0: i32 undef 11 12 undef undef 21 22 undef
"func.func"() ({
^bb0(%h: memref<3x4xi32, #tpu.memory_space<any>>, %t: memref<2x4xi32, #tpu.memory_space<vmem>>, %s: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %i = "arith.constant"() {value = 1 : i32} : () -> i32
  %z = "arith.constant"() {value = 0 : i32} : () -> i32
  %a = "tpu.memref_slice"(%h, %i, %i) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<3x4xi32, #tpu.memory_space<any>>, i32, i32) -> memref<2x2xi32, #tpu.memory_space<any>>
  %b = "tpu.memref_slice"(%t, %z, %i) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<2x4xi32, #tpu.memory_space<vmem>>, i32, i32) -> memref<2x2xi32, #tpu.memory_space<vmem>>
  "tpu.enqueue_dma"(%a, %b, %s) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<2x2xi32, #tpu.memory_space<any>>, memref<2x2xi32, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
  "tpu.wait_dma2"(%s, %a, %b) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<2x2xi32, #tpu.memory_space<any>>, memref<2x2xi32, #tpu.memory_space<vmem>>) -> ()
  %r = "vector.load"(%t, %0, %0) : (memref<2x4xi32, #tpu.memory_space<vmem>>, index, index) -> vector<2x4xi32>
  "func.return"(%r) : (vector<2x4xi32>) -> ()
}) {window_params = [{}], scratch_operands = 2 : i64, sym_name = "main"} : () -> ()
// -----
// Nibbles, from an odd place to an odd place.
// operand: i4 5 = 1 2 -3 4 5
// expect 0: i4 undef 2 -3 undef
"func.func"() ({
^bb0(%h: memref<5xi4, #tpu.memory_space<any>>, %t: memref<4xi4, #tpu.memory_space<vmem>>, %s: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %i = "arith.constant"() {value = 1 : i32} : () -> i32
  %a = "tpu.memref_slice"(%h, %i) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<5xi4, #tpu.memory_space<any>>, i32) -> memref<2xi4, #tpu.memory_space<any>>
  %b = "tpu.memref_slice"(%t, %i) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<4xi4, #tpu.memory_space<vmem>>, i32) -> memref<2xi4, #tpu.memory_space<vmem>>
  "tpu.enqueue_dma"(%a, %b, %s) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<2xi4, #tpu.memory_space<any>>, memref<2xi4, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
  "tpu.wait_dma2"(%s, %a, %b) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<2xi4, #tpu.memory_space<any>>, memref<2xi4, #tpu.memory_space<vmem>>) -> ()
  %r = "vector.load"(%t, %0) : (memref<4xi4, #tpu.memory_space<vmem>>, index) -> vector<4xi4>
  "func.return"(%r) : (vector<4xi4>) -> ()
}) {window_params = [{}], scratch_operands = 2 : i64, sym_name = "main"} : () -> ()
// -----
// Reading the target before the wait is a race, whenever the bytes land.
// operand: i32 4 = 1 2 undef 4
// fault: race in vector.load
"func.func"() ({
^bb0(%h: memref<4xi32, #tpu.memory_space<any>>, %t: memref<4xi32, #tpu.memory_space<vmem>>, %s: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  "tpu.enqueue_dma"(%h, %t, %s) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<4xi32, #tpu.memory_space<any>>, memref<4xi32, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
  %r = "vector.load"(%t, %0) : (memref<4xi32, #tpu.memory_space<vmem>>, index) -> vector<4xi32>
  "tpu.wait_dma2"(%s, %h, %t) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<4xi32, #tpu.memory_space<any>>, memref<4xi32, #tpu.memory_space<vmem>>) -> ()
  "func.return"(%r) : (vector<4xi32>) -> ()
}) {window_params = [{}], scratch_operands = 2 : i64, sym_name = "main"} : () -> ()
// -----
// Reading it to throw the value away is one too.
// operand: i32 4 = 1 2 undef 4
// fault: race in vector.load
"func.func"() ({
^bb0(%h: memref<4xi32, #tpu.memory_space<any>>, %t: memref<4xi32, #tpu.memory_space<vmem>>, %s: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  "tpu.enqueue_dma"(%h, %t, %s) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<4xi32, #tpu.memory_space<any>>, memref<4xi32, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
  %r = "vector.load"(%t, %0) : (memref<4xi32, #tpu.memory_space<vmem>>, index) -> vector<4xi32>
  "tpu.wait_dma2"(%s, %h, %t) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<4xi32, #tpu.memory_space<any>>, memref<4xi32, #tpu.memory_space<vmem>>) -> ()
  "func.return"() : () -> ()
}) {window_params = [{}], scratch_operands = 2 : i64, sym_name = "main"} : () -> ()
// -----
// Writing the target before the wait.
// operand: i32 4 = 1 2 undef 4
// fault: race in tpu.vector_store
"func.func"() ({
^bb0(%h: memref<4xi32, #tpu.memory_space<any>>, %t: memref<4xi32, #tpu.memory_space<vmem>>, %s: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %v = "arith.constant"() {value = dense<7> : vector<1xi32>} : () -> vector<1xi32>
  "tpu.enqueue_dma"(%h, %t, %s) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<4xi32, #tpu.memory_space<any>>, memref<4xi32, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
  "tpu.vector_store"(%v, %t, %0) {add = false, operandSegmentSizes = array<i32: 1, 1, 1, 0>, strides = array<i32>} : (vector<1xi32>, memref<4xi32, #tpu.memory_space<vmem>>, index) -> ()
  "tpu.wait_dma2"(%s, %h, %t) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<4xi32, #tpu.memory_space<any>>, memref<4xi32, #tpu.memory_space<vmem>>) -> ()
  "func.return"() : () -> ()
}) {window_params = [{}], scratch_operands = 2 : i64, sym_name = "main"} : () -> ()
// -----
// Writing the source before the wait.
// operand: i32 4 = 1 2 undef 4
// fault: race in memref.store
"func.func"() ({
^bb0(%h: memref<4xi32, #tpu.memory_space<any>>, %t: memref<4xi32, #tpu.memory_space<vmem>>, %s: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %v = "arith.constant"() {value = 7 : i32} : () -> i32
  "tpu.enqueue_dma"(%h, %t, %s) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<4xi32, #tpu.memory_space<any>>, memref<4xi32, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
  "memref.store"(%v, %h, %0) : (i32, memref<4xi32, #tpu.memory_space<any>>, index) -> ()
  "tpu.wait_dma2"(%s, %h, %t) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<4xi32, #tpu.memory_space<any>>, memref<4xi32, #tpu.memory_space<vmem>>) -> ()
  "func.return"() : () -> ()
}) {window_params = [{}], scratch_operands = 2 : i64, sym_name = "main"} : () -> ()
// -----
// Reading the source meanwhile is none, and writing beside the target is none.
// operand: i32 4 = 1 2 undef 4
// expect 0: i32 1
// expect 1: i32 7 1 2
"func.func"() ({
^bb0(%h: memref<4xi32, #tpu.memory_space<any>>, %t: memref<3xi32, #tpu.memory_space<vmem>>, %s: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %z = "arith.constant"() {value = 0 : i32} : () -> i32
  %i = "arith.constant"() {value = 1 : i32} : () -> i32
  %v = "arith.constant"() {value = dense<7> : vector<1xi32>} : () -> vector<1xi32>
  %a = "tpu.memref_slice"(%h, %z) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<4xi32, #tpu.memory_space<any>>, i32) -> memref<2xi32, #tpu.memory_space<any>>
  %b = "tpu.memref_slice"(%t, %i) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<3xi32, #tpu.memory_space<vmem>>, i32) -> memref<2xi32, #tpu.memory_space<vmem>>
  "tpu.enqueue_dma"(%a, %b, %s) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<2xi32, #tpu.memory_space<any>>, memref<2xi32, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
  %x = "memref.load"(%h, %0) : (memref<4xi32, #tpu.memory_space<any>>, index) -> i32
  "tpu.vector_store"(%v, %t, %0) {add = false, operandSegmentSizes = array<i32: 1, 1, 1, 0>, strides = array<i32>} : (vector<1xi32>, memref<3xi32, #tpu.memory_space<vmem>>, index) -> ()
  "tpu.wait_dma2"(%s, %a, %b) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<2xi32, #tpu.memory_space<any>>, memref<2xi32, #tpu.memory_space<vmem>>) -> ()
  %r = "vector.load"(%t, %0) : (memref<3xi32, #tpu.memory_space<vmem>>, index) -> vector<3xi32>
  "func.return"(%x, %r) : (i32, vector<3xi32>) -> ()
}) {window_params = [{}], scratch_operands = 2 : i64, sym_name = "main"} : () -> ()
// -----
// Two copies to one target.
// operand: i32 4 = 1 2 undef 4
// fault: race in tpu.enqueue_dma
"func.func"() ({
^bb0(%h: memref<4xi32, #tpu.memory_space<any>>, %t: memref<4xi32, #tpu.memory_space<vmem>>, %s: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>):
  "tpu.enqueue_dma"(%h, %t, %s) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<4xi32, #tpu.memory_space<any>>, memref<4xi32, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
  "tpu.enqueue_dma"(%h, %t, %s) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<4xi32, #tpu.memory_space<any>>, memref<4xi32, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
  "tpu.wait_dma2"(%s, %h, %t) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<4xi32, #tpu.memory_space<any>>, memref<4xi32, #tpu.memory_space<vmem>>) -> ()
  "tpu.wait_dma2"(%s, %h, %t) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<4xi32, #tpu.memory_space<any>>, memref<4xi32, #tpu.memory_space<vmem>>) -> ()
  "func.return"() : () -> ()
}) {window_params = [{}], scratch_operands = 2 : i64, sym_name = "main"} : () -> ()
// -----
// A source outside its array.
// operand: i32 4 = 1 2 undef 4
// fault: out-of-bounds in tpu.enqueue_dma
"func.func"() ({
^bb0(%h: memref<4xi32, #tpu.memory_space<any>>, %t: memref<4xi32, #tpu.memory_space<vmem>>, %s: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>):
  %i = "arith.constant"() {value = 3 : i32} : () -> i32
  %z = "arith.constant"() {value = 0 : i32} : () -> i32
  %a = "tpu.memref_slice"(%h, %i) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<4xi32, #tpu.memory_space<any>>, i32) -> memref<2xi32, #tpu.memory_space<any>>
  %b = "tpu.memref_slice"(%t, %z) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<4xi32, #tpu.memory_space<vmem>>, i32) -> memref<2xi32, #tpu.memory_space<vmem>>
  "tpu.enqueue_dma"(%a, %b, %s) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<2xi32, #tpu.memory_space<any>>, memref<2xi32, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
  "tpu.wait_dma2"(%s, %a, %b) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<2xi32, #tpu.memory_space<any>>, memref<2xi32, #tpu.memory_space<vmem>>) -> ()
  "func.return"() : () -> ()
}) {window_params = [{}], scratch_operands = 2 : i64, sym_name = "main"} : () -> ()
// -----
// An undefined page index.
// operand: i32 4 = 1 2 undef 4
// fault: undefined-use in tpu.enqueue_dma
"func.func"() ({
^bb0(%h: memref<4xi32, #tpu.memory_space<any>>, %t: memref<4xi32, #tpu.memory_space<vmem>>, %s: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>):
  %2 = "arith.constant"() {value = 2 : index} : () -> index
  %z = "arith.constant"() {value = 0 : i32} : () -> i32
  %i = "memref.load"(%h, %2) : (memref<4xi32, #tpu.memory_space<any>>, index) -> i32
  %a = "tpu.memref_slice"(%h, %i) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<4xi32, #tpu.memory_space<any>>, i32) -> memref<2xi32, #tpu.memory_space<any>>
  %b = "tpu.memref_slice"(%t, %z) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<4xi32, #tpu.memory_space<vmem>>, i32) -> memref<2xi32, #tpu.memory_space<vmem>>
  "tpu.enqueue_dma"(%a, %b, %s) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<2xi32, #tpu.memory_space<any>>, memref<2xi32, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
  "tpu.wait_dma2"(%s, %a, %b) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<2xi32, #tpu.memory_space<any>>, memref<2xi32, #tpu.memory_space<vmem>>) -> ()
  "func.return"() : () -> ()
}) {window_params = [{}], scratch_operands = 2 : i64, sym_name = "main"} : () -> ()
// -----
// The words of a cast memref: both halves are copied.
// operand: i16 4x1 = 1 2 3 4
// expect 0: i16 3 4
"func.func"() ({
^bb0(%h: memref<4x1xi16, #tpu.memory_space<any>>, %t: memref<2x1xi16, #tpu.memory_space<vmem>>, %s: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %i = "arith.constant"() {value = 1 : i32} : () -> i32
  %z = "arith.constant"() {value = 0 : i32} : () -> i32
  %w = "tpu.memref_bitcast"(%h) : (memref<4x1xi16, #tpu.memory_space<any>>) -> memref<2x1xi32, #tpu.memory_space<any>>
  %a = "tpu.memref_slice"(%w, %i, %z) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<2x1xi32, #tpu.memory_space<any>>, i32, i32) -> memref<1x1xi32, #tpu.memory_space<any>>
  %b = "tpu.memref_bitcast"(%t) : (memref<2x1xi16, #tpu.memory_space<vmem>>) -> memref<1x1xi32, #tpu.memory_space<vmem>>
  "tpu.enqueue_dma"(%a, %b, %s) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<1x1xi32, #tpu.memory_space<any>>, memref<1x1xi32, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
  "tpu.wait_dma2"(%s, %a, %b) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<1x1xi32, #tpu.memory_space<any>>, memref<1x1xi32, #tpu.memory_space<vmem>>) -> ()
  %r = "vector.load"(%t, %0, %0) : (memref<2x1xi16, #tpu.memory_space<vmem>>, index, index) -> vector<2x1xi16>
  "func.return"(%r) : (vector<2x1xi16>) -> ()
}) {window_params = [{}], scratch_operands = 2 : i64, sym_name = "main"} : () -> ()
// -----
// Source and target of different shapes.
// operand: i32 4 = 1 2 undef 4
// refused: shape
"func.func"() ({
^bb0(%h: memref<4xi32, #tpu.memory_space<any>>, %t: memref<4xi32, #tpu.memory_space<vmem>>, %s: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>):
  %z = "arith.constant"() {value = 0 : i32} : () -> i32
  %b = "tpu.memref_slice"(%t, %z) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<4xi32, #tpu.memory_space<vmem>>, i32) -> memref<2xi32, #tpu.memory_space<vmem>>
  "tpu.enqueue_dma"(%h, %b, %s) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<4xi32, #tpu.memory_space<any>>, memref<2xi32, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
  "tpu.wait_dma2"(%s, %h, %b) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<4xi32, #tpu.memory_space<any>>, memref<2xi32, #tpu.memory_space<vmem>>) -> ()
  "func.return"() : () -> ()
}) {window_params = [{}], scratch_operands = 2 : i64, sym_name = "main"} : () -> ()
