// Runs one side; results are what that side yields.
// expect 0: i32 1
// expect 1: f32 2.0
// expect 2: i32 3
// expect 3: f32 4.0
"func.func"() ({
  %t = "arith.constant"() {value = true} : () -> i1
  %f = "arith.constant"() {value = false} : () -> i1
  %a:2 = "scf.if"(%t) ({
    %0 = "arith.constant"() {value = 1 : i32} : () -> i32
    %1 = "arith.constant"() {value = 2.0 : f32} : () -> f32
    "scf.yield"(%0, %1) : (i32, f32) -> ()
  }, {
    %0 = "arith.constant"() {value = 3 : i32} : () -> i32
    %1 = "arith.constant"() {value = 4.0 : f32} : () -> f32
    "scf.yield"(%0, %1) : (i32, f32) -> ()
  }) : (i1) -> (i32, f32)
  %b:2 = "scf.if"(%f) ({
    %0 = "arith.constant"() {value = 1 : i32} : () -> i32
    %1 = "arith.constant"() {value = 2.0 : f32} : () -> f32
    "scf.yield"(%0, %1) : (i32, f32) -> ()
  }, {
    %0 = "arith.constant"() {value = 3 : i32} : () -> i32
    %1 = "arith.constant"() {value = 4.0 : f32} : () -> f32
    "scf.yield"(%0, %1) : (i32, f32) -> ()
  }) : (i1) -> (i32, f32)
  "func.return"(%a#0, %a#1, %b#0, %b#1) : (i32, f32, i32, f32) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// A side that isn't taken does nothing, and the second may be missing.
// expect 0: i32 10
"func.func"() ({
^bb0(%s: memref<1xi32, #tpu.memory_space<smem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %ten = "arith.constant"() {value = 10 : i32} : () -> i32
  %five = "arith.constant"() {value = 5 : i32} : () -> i32
  %t = "arith.constant"() {value = true} : () -> i1
  %f = "arith.constant"() {value = false} : () -> i1
  "scf.if"(%t) ({
    "memref.store"(%ten, %s, %0) : (i32, memref<1xi32, #tpu.memory_space<smem>>, index) -> ()
    "scf.yield"() : () -> ()
  }, {
  }) : (i1) -> ()
  "scf.if"(%f) ({
    "memref.store"(%five, %s, %0) : (i32, memref<1xi32, #tpu.memory_space<smem>>, index) -> ()
    "scf.yield"() : () -> ()
  }) : (i1) -> ()
  %r = "memref.load"(%s, %0) : (memref<1xi32, #tpu.memory_space<smem>>, index) -> i32
  "func.return"(%r) : (i32) -> ()
}) {scratch_operands = 1 : i64, sym_name = "main"} : () -> ()
// -----
// An undefined condition.
// fault: undefined-use in scf.if
"func.func"() ({
^bb0(%s: memref<1xi32, #tpu.memory_space<smem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %u = "memref.load"(%s, %0) : (memref<1xi32, #tpu.memory_space<smem>>, index) -> i32
  %c = "arith.cmpi"(%u, %u) {predicate = 1 : i64} : (i32, i32) -> i1
  "scf.if"(%c) ({
    "scf.yield"() : () -> ()
  }, {
  }) : (i1) -> ()
  "func.return"() : () -> ()
}) {scratch_operands = 1 : i64, sym_name = "main"} : () -> ()
