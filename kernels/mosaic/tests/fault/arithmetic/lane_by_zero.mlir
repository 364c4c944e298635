// Lane 3 of a vector's division.
// operand lens: i32 2 = 0 3
// operand pages: f32 4x8 = count
// output: f32 2x8
"func.func"() ({
  ^bb0(%i: i32, %lens: memref<2xi32, #tpu.memory_space<smem>>, %pages: memref<4x8xf32, #tpu.memory_space<any>>, %out: memref<1x8xf32, #tpu.memory_space<vmem>>, %buf: memref<1x8xf32, #tpu.memory_space<vmem>>, %other: memref<1x8xf32, #tpu.memory_space<vmem>>, %sems: memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>):
  %c0 = "arith.constant"() {value = 0 : index} : () -> index
  %c1 = "arith.constant"() {value = 1 : index} : () -> index
  %zero = "arith.constant"() {value = 0 : i32} : () -> i32
  %one = "arith.constant"() {value = 1 : i32} : () -> i32
  %m = "memref.load"(%lens, %c1) : (memref<2xi32, #tpu.memory_space<smem>>, index) -> i32 loc(callsite("kernel"("kernel.py":11:4) at "main"("main.py":3:0)))
  %lane = "tpu.iota"() {dimensions = array<i32: 1>} : () -> vector<1x8xi32> loc(callsite("kernel"("kernel.py":12:4) at "main"("main.py":3:0)))
  %ms = "vector.broadcast"(%m) : (i32) -> vector<1x8xi32> loc(callsite("kernel"("kernel.py":13:4) at "main"("main.py":3:0)))
  %less = "arith.subi"(%lane, %ms) : (vector<1x8xi32>, vector<1x8xi32>) -> vector<1x8xi32> loc(callsite("kernel"("kernel.py":14:4) at "main"("main.py":3:0)))
  %d = "arith.divsi"(%lane, %less) : (vector<1x8xi32>, vector<1x8xi32>) -> vector<1x8xi32> loc(callsite("kernel"("kernel.py":15:4) at "main"("main.py":3:0)))
  "func.return"() : () -> ()
}) {iteration_bounds = array<i64: 1>, scalar_prefetch = 1 : i64, scratch_operands = 3 : i64, sym_name = "kernel", window_params = [{}, {transform_indices = @block, window_bounds = array<i64: 1, 8>}]} : () -> ()
"func.func"() ({
  ^bb0(%i: i32, %lens: memref<2xi32, #tpu.memory_space<smem>>):
  %nought = "arith.constant"() {value = 0 : i32} : () -> i32
  %block = "arith.addi"(%i, %nought) : (i32, i32) -> i32 loc("block"("kernel.py":5:0))
  "func.return"(%block, %nought) : (i32, i32) -> ()
}) {sym_name = "block"} : () -> ()
