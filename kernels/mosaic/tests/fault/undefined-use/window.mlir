// A block index that is undefined.
// operand lens: i32 2 = undef 0
// operand pages: f32 4x8 = count
// output: f32 2x8
"func.func"() ({
  ^bb0(%i: i32, %lens: memref<2xi32, #tpu.memory_space<smem>>, %pages: memref<4x8xf32, #tpu.memory_space<any>>, %out: memref<1x8xf32, #tpu.memory_space<vmem>>, %buf: memref<1x8xf32, #tpu.memory_space<vmem>>, %other: memref<1x8xf32, #tpu.memory_space<vmem>>, %sems: memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>):
  %c0 = "arith.constant"() {value = 0 : index} : () -> index
  %c1 = "arith.constant"() {value = 1 : index} : () -> index
  %zero = "arith.constant"() {value = 0 : i32} : () -> i32
  %one = "arith.constant"() {value = 1 : i32} : () -> i32
  "func.return"() : () -> ()
}) {iteration_bounds = array<i64: 1>, scalar_prefetch = 1 : i64, scratch_operands = 3 : i64, sym_name = "kernel", window_params = [{}, {transform_indices = @block, window_bounds = array<i64: 1, 8>}]} : () -> ()
"func.func"() ({
  ^bb0(%i: i32, %lens: memref<2xi32, #tpu.memory_space<smem>>):
  %nought = "arith.constant"() {value = 0 : i32} : () -> i32
  %first = "arith.constant"() {value = 0 : index} : () -> index
  %block = "memref.load"(%lens, %first) : (memref<2xi32, #tpu.memory_space<smem>>, index) -> i32 loc("block"("kernel.py":5:0))
  "func.return"(%block, %nought) : (i32, i32) -> ()
}) {sym_name = "block"} : () -> ()
