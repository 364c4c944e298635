// The sum of 10 i + 1 for i = 2, 5, 8: the upper bound is left out.
// expect 0: i32 153
"func.func"() ({
  %0 = "arith.constant"() {value = 0 : i32} : () -> i32
  %1 = "arith.constant"() {value = 1 : i32} : () -> i32
  %2 = "arith.constant"() {value = 2 : i32} : () -> i32
  %3 = "arith.constant"() {value = 3 : i32} : () -> i32
  %10 = "arith.constant"() {value = 10 : i32} : () -> i32
  %11 = "arith.constant"() {value = 11 : i32} : () -> i32
  %r = "scf.for"(%2, %11, %3, %0) ({
  ^bb0(%i: i32, %sum: i32):
    %tens = "arith.muli"(%i, %10) : (i32, i32) -> i32
    %x = "arith.addi"(%tens, %1) : (i32, i32) -> i32
    %s = "arith.addi"(%sum, %x) : (i32, i32) -> i32
    "scf.yield"(%s) : (i32) -> ()
  }) : (i32, i32, i32, i32) -> i32
  "func.return"(%r) : (i32) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Yields are copied at once: (a, b) becomes (b, a + b), ten times.
// expect 0: i32 55
// expect 1: i32 89
"func.func"() ({
  %0 = "arith.constant"() {value = 0 : i32} : () -> i32
  %1 = "arith.constant"() {value = 1 : i32} : () -> i32
  %10 = "arith.constant"() {value = 10 : i32} : () -> i32
  %r:2 = "scf.for"(%0, %10, %1, %0, %1) ({
  ^bb0(%i: i32, %a: i32, %b: i32):
    %s = "arith.addi"(%a, %b) : (i32, i32) -> i32
    "scf.yield"(%b, %s) : (i32, i32) -> ()
  }) : (i32, i32, i32, i32, i32) -> (i32, i32)
  "func.return"(%r#0, %r#1) : (i32, i32) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// No turn where the bounds are equal, or the lower one is above: the initial value comes back.
// expect 0: i32 7
// expect 1: i32 7
"func.func"() ({
  %1 = "arith.constant"() {value = 1 : i32} : () -> i32
  %m = "arith.constant"() {value = -2 : i32} : () -> i32
  %7 = "arith.constant"() {value = 7 : i32} : () -> i32
  %a = "scf.for"(%1, %1, %1, %7) ({
  ^bb0(%i: i32, %x: i32):
    "scf.yield"(%i) : (i32) -> ()
  }) : (i32, i32, i32, i32) -> i32
  %b = "scf.for"(%1, %m, %1, %7) ({
  ^bb0(%i: i32, %x: i32):
    "scf.yield"(%i) : (i32) -> ()
  }) : (i32, i32, i32, i32) -> i32
  "func.return"(%a, %b) : (i32, i32) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Nested, an index for a counter, with nothing carried by the outer loop: cell i of the scratch gets the sum of all j < i.
// expect 0: i32 3
"func.func"() ({
^bb0(%s: memref<4xi32, #tpu.memory_space<smem>>):
  %0 = "arith.constant"() {value = 0 : i32} : () -> i32
  %first = "arith.constant"() {value = 0 : index} : () -> index
  %step = "arith.constant"() {value = 1 : index} : () -> index
  %last = "arith.constant"() {value = 3 : index} : () -> index
  %four = "arith.constant"() {value = 4 : index} : () -> index
  "scf.for"(%first, %four, %step) ({
  ^bb0(%i: index):
    %sum = "scf.for"(%first, %i, %step, %0) ({
    ^bb0(%j: index, %part: i32):
      %n = "arith.index_cast"(%j) : (index) -> i32
      %y = "arith.addi"(%part, %n) : (i32, i32) -> i32
      "scf.yield"(%y) : (i32) -> ()
    }) : (index, index, index, i32) -> i32
    "memref.store"(%sum, %s, %i) : (i32, memref<4xi32, #tpu.memory_space<smem>>, index) -> ()
    "scf.yield"() : () -> ()
  }) : (index, index, index) -> ()
  %r = "memref.load"(%s, %last) : (memref<4xi32, #tpu.memory_space<smem>>, index) -> i32
  "func.return"(%r) : (i32) -> ()
}) {scratch_operands = 1 : i64, sym_name = "main"} : () -> ()
// -----
// An undefined bound.
// fault: undefined-use in scf.for
"func.func"() ({
^bb0(%s: memref<1xi32, #tpu.memory_space<smem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %1 = "arith.constant"() {value = 1 : i32} : () -> i32
  %u = "memref.load"(%s, %0) : (memref<1xi32, #tpu.memory_space<smem>>, index) -> i32
  %r = "scf.for"(%1, %u, %1, %1) ({
  ^bb0(%i: i32, %x: i32):
    "scf.yield"(%i) : (i32) -> ()
  }) : (i32, i32, i32, i32) -> i32
  "func.return"(%r) : (i32) -> ()
}) {scratch_operands = 1 : i64, sym_name = "main"} : () -> ()
// -----
// A step of 0 never gets there.
// out of fuel
"func.func"() ({
  %0 = "arith.constant"() {value = 0 : i32} : () -> i32
  %1 = "arith.constant"() {value = 1 : i32} : () -> i32
  "scf.for"(%0, %1, %0) ({
  ^bb0(%i: i32):
    "scf.yield"() : () -> ()
  }) : (i32, i32, i32) -> ()
  "func.return"() : () -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Bounds compared as unsigned.
// refused: unsignedCmp
"func.func"() ({
  %0 = "arith.constant"() {value = 0 : i32} : () -> i32
  "scf.for"(%0, %0, %0) ({
  ^bb0(%i: i32):
    "scf.yield"() : () -> ()
  }) {unsignedCmp} : (i32, i32, i32) -> ()
  "func.return"() : () -> ()
}) {sym_name = "main"} : () -> ()
