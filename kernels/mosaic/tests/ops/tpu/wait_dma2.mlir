// Two copies on one semaphore, a wait for each: after both, both are there.
// operand: i32 4 = 1 2 3 4
// expect 0: i32 1 2 3 4
"func.func"() ({
^bb0(%h: memref<4xi32, #tpu.memory_space<any>>, %t: memref<4xi32, #tpu.memory_space<vmem>>, %s: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %z = "arith.constant"() {value = 0 : i32} : () -> i32
  %two = "arith.constant"() {value = 2 : i32} : () -> i32
  %a = "tpu.memref_slice"(%h, %z) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<4xi32, #tpu.memory_space<any>>, i32) -> memref<2xi32, #tpu.memory_space<any>>
  %b = "tpu.memref_slice"(%h, %two) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<4xi32, #tpu.memory_space<any>>, i32) -> memref<2xi32, #tpu.memory_space<any>>
  %c = "tpu.memref_slice"(%t, %z) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<4xi32, #tpu.memory_space<vmem>>, i32) -> memref<2xi32, #tpu.memory_space<vmem>>
  %d = "tpu.memref_slice"(%t, %two) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<4xi32, #tpu.memory_space<vmem>>, i32) -> memref<2xi32, #tpu.memory_space<vmem>>
  "tpu.enqueue_dma"(%a, %c, %s) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<2xi32, #tpu.memory_space<any>>, memref<2xi32, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
  "tpu.enqueue_dma"(%b, %d, %s) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<2xi32, #tpu.memory_space<any>>, memref<2xi32, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
  "tpu.wait_dma2"(%s, %a, %c) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<2xi32, #tpu.memory_space<any>>, memref<2xi32, #tpu.memory_space<vmem>>) -> ()
  "tpu.wait_dma2"(%s, %b, %d) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<2xi32, #tpu.memory_space<any>>, memref<2xi32, #tpu.memory_space<vmem>>) -> ()
  %r = "vector.load"(%t, %0) : (memref<4xi32, #tpu.memory_space<vmem>>, index) -> vector<4xi32>
  "func.return"(%r) : (vector<4xi32>) -> ()
}) {window_params = [{}], scratch_operands = 2 : i64, sym_name = "main"} : () -> ()
// -----
// Two copies on one semaphore, one wait for the bytes of both: bytes are counted, not copies.
// operand: i32 4 = 1 2 3 4
// expect 0: i32 1 2 3 4
"func.func"() ({
^bb0(%h: memref<4xi32, #tpu.memory_space<any>>, %t: memref<4xi32, #tpu.memory_space<vmem>>, %s: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %z = "arith.constant"() {value = 0 : i32} : () -> i32
  %two = "arith.constant"() {value = 2 : i32} : () -> i32
  %a = "tpu.memref_slice"(%h, %z) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<4xi32, #tpu.memory_space<any>>, i32) -> memref<2xi32, #tpu.memory_space<any>>
  %b = "tpu.memref_slice"(%h, %two) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<4xi32, #tpu.memory_space<any>>, i32) -> memref<2xi32, #tpu.memory_space<any>>
  %c = "tpu.memref_slice"(%t, %z) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<4xi32, #tpu.memory_space<vmem>>, i32) -> memref<2xi32, #tpu.memory_space<vmem>>
  %d = "tpu.memref_slice"(%t, %two) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<4xi32, #tpu.memory_space<vmem>>, i32) -> memref<2xi32, #tpu.memory_space<vmem>>
  "tpu.enqueue_dma"(%a, %c, %s) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<2xi32, #tpu.memory_space<any>>, memref<2xi32, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
  "tpu.enqueue_dma"(%b, %d, %s) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<2xi32, #tpu.memory_space<any>>, memref<2xi32, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
  "tpu.wait_dma2"(%s, %h, %t) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<4xi32, #tpu.memory_space<any>>, memref<4xi32, #tpu.memory_space<vmem>>) -> ()
  %r = "vector.load"(%t, %0) : (memref<4xi32, #tpu.memory_space<vmem>>, index) -> vector<4xi32>
  "func.return"(%r) : (vector<4xi32>) -> ()
}) {window_params = [{}], scratch_operands = 2 : i64, sym_name = "main"} : () -> ()
// -----
// Two semaphores of an array: a wait on one leaves the other's copy in flight.
// operand: i32 4 = 1 2 3 4
// expect 0: i32 3 4
// expect 1: i32 1 2
"func.func"() ({
^bb0(%h: memref<4xi32, #tpu.memory_space<any>>, %t: memref<4xi32, #tpu.memory_space<vmem>>, %s: memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %pi = "arith.constant"() {value = 0 : i32} : () -> i32
  %p1 = "tpu.memref_slice"(%s, %pi) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
  %p = "tpu.memref_squeeze"(%p1) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
  %qi = "arith.constant"() {value = 1 : i32} : () -> i32
  %q1 = "tpu.memref_slice"(%s, %qi) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
  %q = "tpu.memref_squeeze"(%q1) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
  %z = "arith.constant"() {value = 0 : i32} : () -> i32
  %two = "arith.constant"() {value = 2 : i32} : () -> i32
  %a = "tpu.memref_slice"(%h, %z) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<4xi32, #tpu.memory_space<any>>, i32) -> memref<2xi32, #tpu.memory_space<any>>
  %b = "tpu.memref_slice"(%h, %two) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<4xi32, #tpu.memory_space<any>>, i32) -> memref<2xi32, #tpu.memory_space<any>>
  %c = "tpu.memref_slice"(%t, %z) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<4xi32, #tpu.memory_space<vmem>>, i32) -> memref<2xi32, #tpu.memory_space<vmem>>
  %d = "tpu.memref_slice"(%t, %two) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<4xi32, #tpu.memory_space<vmem>>, i32) -> memref<2xi32, #tpu.memory_space<vmem>>
  "tpu.enqueue_dma"(%a, %c, %p) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<2xi32, #tpu.memory_space<any>>, memref<2xi32, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
  "tpu.enqueue_dma"(%b, %d, %q) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<2xi32, #tpu.memory_space<any>>, memref<2xi32, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
  "tpu.wait_dma2"(%q, %b, %d) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<2xi32, #tpu.memory_space<any>>, memref<2xi32, #tpu.memory_space<vmem>>) -> ()
  %x = "vector.load"(%d, %0) : (memref<2xi32, #tpu.memory_space<vmem>>, index) -> vector<2xi32>
  "tpu.wait_dma2"(%p, %a, %c) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<2xi32, #tpu.memory_space<any>>, memref<2xi32, #tpu.memory_space<vmem>>) -> ()
  %y = "vector.load"(%c, %0) : (memref<2xi32, #tpu.memory_space<vmem>>, index) -> vector<2xi32>
  "func.return"(%x, %y) : (vector<2xi32>, vector<2xi32>) -> ()
}) {window_params = [{}], scratch_operands = 2 : i64, sym_name = "main"} : () -> ()
// -----
// The other's target may not be read yet.
// operand: i32 4 = 1 2 3 4
// fault: race in vector.load
"func.func"() ({
^bb0(%h: memref<4xi32, #tpu.memory_space<any>>, %t: memref<4xi32, #tpu.memory_space<vmem>>, %s: memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %pi = "arith.constant"() {value = 0 : i32} : () -> i32
  %p1 = "tpu.memref_slice"(%s, %pi) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
  %p = "tpu.memref_squeeze"(%p1) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
  %qi = "arith.constant"() {value = 1 : i32} : () -> i32
  %q1 = "tpu.memref_slice"(%s, %qi) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
  %q = "tpu.memref_squeeze"(%q1) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
  %z = "arith.constant"() {value = 0 : i32} : () -> i32
  %two = "arith.constant"() {value = 2 : i32} : () -> i32
  %a = "tpu.memref_slice"(%h, %z) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<4xi32, #tpu.memory_space<any>>, i32) -> memref<2xi32, #tpu.memory_space<any>>
  %b = "tpu.memref_slice"(%h, %two) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<4xi32, #tpu.memory_space<any>>, i32) -> memref<2xi32, #tpu.memory_space<any>>
  %c = "tpu.memref_slice"(%t, %z) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<4xi32, #tpu.memory_space<vmem>>, i32) -> memref<2xi32, #tpu.memory_space<vmem>>
  %d = "tpu.memref_slice"(%t, %two) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<4xi32, #tpu.memory_space<vmem>>, i32) -> memref<2xi32, #tpu.memory_space<vmem>>
  "tpu.enqueue_dma"(%a, %c, %p) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<2xi32, #tpu.memory_space<any>>, memref<2xi32, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
  "tpu.enqueue_dma"(%b, %d, %q) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<2xi32, #tpu.memory_space<any>>, memref<2xi32, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
  "tpu.wait_dma2"(%q, %b, %d) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<2xi32, #tpu.memory_space<any>>, memref<2xi32, #tpu.memory_space<vmem>>) -> ()
  %x = "vector.load"(%c, %0) : (memref<2xi32, #tpu.memory_space<vmem>>, index) -> vector<2xi32>
  "tpu.wait_dma2"(%p, %a, %c) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<2xi32, #tpu.memory_space<any>>, memref<2xi32, #tpu.memory_space<vmem>>) -> ()
  "func.return"(%x) : (vector<2xi32>) -> ()
}) {window_params = [{}], scratch_operands = 2 : i64, sym_name = "main"} : () -> ()
// -----
// A wait for a copy that was never started.
// operand: i32 4 = 1 2 3 4
// fault: deadlock in tpu.wait_dma2
"func.func"() ({
^bb0(%h: memref<4xi32, #tpu.memory_space<any>>, %t: memref<4xi32, #tpu.memory_space<vmem>>, %s: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>):
  "tpu.wait_dma2"(%s, %h, %t) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<4xi32, #tpu.memory_space<any>>, memref<4xi32, #tpu.memory_space<vmem>>) -> ()
  "func.return"() : () -> ()
}) {window_params = [{}], scratch_operands = 2 : i64, sym_name = "main"} : () -> ()
// -----
// A wait for more bytes than were started.
// operand: i32 4 = 1 2 3 4
// fault: deadlock in tpu.wait_dma2
"func.func"() ({
^bb0(%h: memref<4xi32, #tpu.memory_space<any>>, %t: memref<4xi32, #tpu.memory_space<vmem>>, %s: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>):
  %z = "arith.constant"() {value = 0 : i32} : () -> i32
  %two = "arith.constant"() {value = 2 : i32} : () -> i32
  %a = "tpu.memref_slice"(%h, %z) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<4xi32, #tpu.memory_space<any>>, i32) -> memref<2xi32, #tpu.memory_space<any>>
  %b = "tpu.memref_slice"(%h, %two) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<4xi32, #tpu.memory_space<any>>, i32) -> memref<2xi32, #tpu.memory_space<any>>
  %c = "tpu.memref_slice"(%t, %z) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<4xi32, #tpu.memory_space<vmem>>, i32) -> memref<2xi32, #tpu.memory_space<vmem>>
  %d = "tpu.memref_slice"(%t, %two) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<4xi32, #tpu.memory_space<vmem>>, i32) -> memref<2xi32, #tpu.memory_space<vmem>>
  "tpu.enqueue_dma"(%a, %c, %s) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<2xi32, #tpu.memory_space<any>>, memref<2xi32, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
  "tpu.wait_dma2"(%s, %h, %t) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<4xi32, #tpu.memory_space<any>>, memref<4xi32, #tpu.memory_space<vmem>>) -> ()
  "func.return"() : () -> ()
}) {window_params = [{}], scratch_operands = 2 : i64, sym_name = "main"} : () -> ()
// -----
// A wait on another semaphore.
// operand: i32 4 = 1 2 3 4
// fault: deadlock in tpu.wait_dma2
"func.func"() ({
^bb0(%h: memref<4xi32, #tpu.memory_space<any>>, %t: memref<4xi32, #tpu.memory_space<vmem>>, %s: memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>):
  %pi = "arith.constant"() {value = 0 : i32} : () -> i32
  %p1 = "tpu.memref_slice"(%s, %pi) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
  %p = "tpu.memref_squeeze"(%p1) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
  %qi = "arith.constant"() {value = 1 : i32} : () -> i32
  %q1 = "tpu.memref_slice"(%s, %qi) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
  %q = "tpu.memref_squeeze"(%q1) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
  "tpu.enqueue_dma"(%h, %t, %p) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<4xi32, #tpu.memory_space<any>>, memref<4xi32, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
  "tpu.wait_dma2"(%q, %h, %t) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<4xi32, #tpu.memory_space<any>>, memref<4xi32, #tpu.memory_space<vmem>>) -> ()
  "func.return"() : () -> ()
}) {window_params = [{}], scratch_operands = 2 : i64, sym_name = "main"} : () -> ()
// -----
// A copy that nobody waits for.
// operand: i32 4 = 1 2 3 4
// fault: residue in tpu.enqueue_dma
"func.func"() ({
^bb0(%h: memref<4xi32, #tpu.memory_space<any>>, %t: memref<4xi32, #tpu.memory_space<vmem>>, %s: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>):
  "tpu.enqueue_dma"(%h, %t, %s) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<4xi32, #tpu.memory_space<any>>, memref<4xi32, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
  "func.return"() : () -> ()
}) {window_params = [{}], scratch_operands = 2 : i64, sym_name = "main"} : () -> ()
// -----
// A wait for fewer bytes than were started leaves some on the semaphore.
// operand: i32 4 = 1 2 3 4
// fault: residue in tpu.wait_dma2
"func.func"() ({
^bb0(%h: memref<4xi32, #tpu.memory_space<any>>, %t: memref<4xi32, #tpu.memory_space<vmem>>, %s: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>):
  %z = "arith.constant"() {value = 0 : i32} : () -> i32
  %two = "arith.constant"() {value = 2 : i32} : () -> i32
  %a = "tpu.memref_slice"(%h, %z) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<4xi32, #tpu.memory_space<any>>, i32) -> memref<2xi32, #tpu.memory_space<any>>
  %b = "tpu.memref_slice"(%h, %two) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<4xi32, #tpu.memory_space<any>>, i32) -> memref<2xi32, #tpu.memory_space<any>>
  %c = "tpu.memref_slice"(%t, %z) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<4xi32, #tpu.memory_space<vmem>>, i32) -> memref<2xi32, #tpu.memory_space<vmem>>
  %d = "tpu.memref_slice"(%t, %two) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<4xi32, #tpu.memory_space<vmem>>, i32) -> memref<2xi32, #tpu.memory_space<vmem>>
  "tpu.enqueue_dma"(%h, %t, %s) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<4xi32, #tpu.memory_space<any>>, memref<4xi32, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
  "tpu.wait_dma2"(%s, %a, %c) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<2xi32, #tpu.memory_space<any>>, memref<2xi32, #tpu.memory_space<vmem>>) -> ()
  "func.return"() : () -> ()
}) {window_params = [{}], scratch_operands = 2 : i64, sym_name = "main"} : () -> ()
// -----
// A semaphore outside its array.
// operand: i32 4 = 1 2 3 4
// fault: out-of-bounds in tpu.wait_dma2
"func.func"() ({
^bb0(%h: memref<4xi32, #tpu.memory_space<any>>, %t: memref<4xi32, #tpu.memory_space<vmem>>, %s: memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>):
  %pi = "arith.constant"() {value = 2 : i32} : () -> i32
  %p1 = "tpu.memref_slice"(%s, %pi) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
  %p = "tpu.memref_squeeze"(%p1) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
  "tpu.wait_dma2"(%p, %h, %t) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<4xi32, #tpu.memory_space<any>>, memref<4xi32, #tpu.memory_space<vmem>>) -> ()
  "func.return"() : () -> ()
}) {window_params = [{}], scratch_operands = 2 : i64, sym_name = "main"} : () -> ()
// -----
// As JAX 0.6 writes it: semaphore, source and target, without segments.
// operand: i32 2 = 1 2
// expect 0: i32 1 2
"func.func"() ({
^bb0(%h: memref<2xi32, #tpu.memory_space<any>>, %t: memref<2xi32, #tpu.memory_space<vmem>>, %s: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  "tpu.enqueue_dma"(%h, %t, %s) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32} : (memref<2xi32, #tpu.memory_space<any>>, memref<2xi32, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
  "tpu.wait_dma2"(%s, %h, %t) : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<2xi32, #tpu.memory_space<any>>, memref<2xi32, #tpu.memory_space<vmem>>) -> ()
  %r = "vector.load"(%t, %0) : (memref<2xi32, #tpu.memory_space<vmem>>, index) -> vector<2xi32>
  "func.return"(%r) : (vector<2xi32>) -> ()
}) {window_params = [{}], scratch_operands = 2 : i64, sym_name = "main"} : () -> ()
