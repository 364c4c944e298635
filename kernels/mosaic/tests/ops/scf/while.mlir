// Yields are copied at once: (a, b) becomes (b, a + b), ten times.
// expect 0: i32 55
// expect 1: i32 89
// expect 2: i32 10
"func.func"() ({
  %0 = "arith.constant"() {value = 0 : i32} : () -> i32
  %1 = "arith.constant"() {value = 1 : i32} : () -> i32
  %10 = "arith.constant"() {value = 10 : i32} : () -> i32
  %r:3 = "scf.while"(%0, %1, %0) ({
  ^bb0(%a: i32, %b: i32, %i: i32):
    %c = "arith.cmpi"(%i, %10) {predicate = 2 : i64} : (i32, i32) -> i1
    "scf.condition"(%c, %a, %b, %i) : (i1, i32, i32, i32) -> ()
  }, {
  ^bb0(%a: i32, %b: i32, %i: i32):
    %s = "arith.addi"(%a, %b) : (i32, i32) -> i32
    %n = "arith.addi"(%i, %1) : (i32, i32) -> i32
    "scf.yield"(%b, %s, %n) : (i32, i32, i32) -> ()
  }) : (i32, i32, i32) -> (i32, i32, i32)
  "func.return"(%r#0, %r#1, %r#2) : (i32, i32, i32) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// The condition forwards other values than it got, in another order and number, to the body and to the results.
// expect 0: i32 16
// expect 1: i32 4
"func.func"() ({
  %1 = "arith.constant"() {value = 1 : i32} : () -> i32
  %10 = "arith.constant"() {value = 10 : i32} : () -> i32
  %r:2 = "scf.while"(%1) ({
  ^bb0(%a: i32):
    %square = "arith.muli"(%a, %a) : (i32, i32) -> i32
    %c = "arith.cmpi"(%square, %10) {predicate = 2 : i64} : (i32, i32) -> i1
    "scf.condition"(%c, %square, %a) : (i1, i32, i32) -> ()
  }, {
  ^bb0(%square: i32, %a: i32):
    %n = "arith.addi"(%a, %1) : (i32, i32) -> i32
    "scf.yield"(%n) : (i32) -> ()
  }) : (i32) -> (i32, i32)
  "func.return"(%r#0, %r#1) : (i32, i32) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// No trip at all: the initial values come back, swapped by the condition.
// expect 0: i32 2
// expect 1: i32 1
"func.func"() ({
  %1 = "arith.constant"() {value = 1 : i32} : () -> i32
  %2 = "arith.constant"() {value = 2 : i32} : () -> i32
  %f = "arith.constant"() {value = false} : () -> i1
  %r:2 = "scf.while"(%1, %2) ({
  ^bb0(%a: i32, %b: i32):
    "scf.condition"(%f, %b, %a) : (i1, i32, i32) -> ()
  }, {
  ^bb0(%a: i32, %b: i32):
    "scf.yield"(%a, %b) : (i32, i32) -> ()
  }) : (i32, i32) -> (i32, i32)
  "func.return"(%r#0, %r#1) : (i32, i32) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Nested loops, with values from outside both: the sum over i < 4 of the sum over j < i of 10 i + j.
// expect 0: i32 144
"func.func"() ({
  %0 = "arith.constant"() {value = 0 : i32} : () -> i32
  %1 = "arith.constant"() {value = 1 : i32} : () -> i32
  %4 = "arith.constant"() {value = 4 : i32} : () -> i32
  %10 = "arith.constant"() {value = 10 : i32} : () -> i32
  %r:2 = "scf.while"(%0, %0) ({
  ^bb0(%i: i32, %sum: i32):
    %c = "arith.cmpi"(%i, %4) {predicate = 2 : i64} : (i32, i32) -> i1
    "scf.condition"(%c, %i, %sum) : (i1, i32, i32) -> ()
  }, {
  ^bb0(%i: i32, %sum: i32):
    %tens = "arith.muli"(%i, %10) : (i32, i32) -> i32
    %q:2 = "scf.while"(%0, %sum) ({
    ^bb0(%j: i32, %part: i32):
      %c = "arith.cmpi"(%j, %i) {predicate = 2 : i64} : (i32, i32) -> i1
      "scf.condition"(%c, %j, %part) : (i1, i32, i32) -> ()
    }, {
    ^bb0(%j: i32, %part: i32):
      %x = "arith.addi"(%tens, %j) : (i32, i32) -> i32
      %y = "arith.addi"(%part, %x) : (i32, i32) -> i32
      %n = "arith.addi"(%j, %1) : (i32, i32) -> i32
      "scf.yield"(%n, %y) : (i32, i32) -> ()
    }) : (i32, i32) -> (i32, i32)
    %n = "arith.addi"(%i, %1) : (i32, i32) -> i32
    "scf.yield"(%n, %q#1) : (i32, i32) -> ()
  }) : (i32, i32) -> (i32, i32)
  "func.return"(%r#1) : (i32) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Vectors as loop values, swapped at every trip, an odd number of times.
// expect 0: f32 3.0 4.0
// expect 1: f32 1.0 2.0
"func.func"() ({
  %0 = "arith.constant"() {value = 0 : i32} : () -> i32
  %1 = "arith.constant"() {value = 1 : i32} : () -> i32
  %3 = "arith.constant"() {value = 3 : i32} : () -> i32
  %v = "arith.constant"() {value = dense<[1.0, 2.0]> : vector<2xf32>} : () -> vector<2xf32>
  %w = "arith.constant"() {value = dense<[3.0, 4.0]> : vector<2xf32>} : () -> vector<2xf32>
  %r:3 = "scf.while"(%0, %v, %w) ({
  ^bb0(%i: i32, %a: vector<2xf32>, %b: vector<2xf32>):
    %c = "arith.cmpi"(%i, %3) {predicate = 2 : i64} : (i32, i32) -> i1
    "scf.condition"(%c, %i, %a, %b) : (i1, i32, vector<2xf32>, vector<2xf32>) -> ()
  }, {
  ^bb0(%i: i32, %a: vector<2xf32>, %b: vector<2xf32>):
    %n = "arith.addi"(%i, %1) : (i32, i32) -> i32
    "scf.yield"(%n, %b, %a) : (i32, vector<2xf32>, vector<2xf32>) -> ()
  }) : (i32, vector<2xf32>, vector<2xf32>) -> (i32, vector<2xf32>, vector<2xf32>)
  "func.return"(%r#1, %r#2) : (vector<2xf32>, vector<2xf32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// An undefined condition.
// fault: undefined-use in scf.while
"func.func"() ({
^bb0(%s: memref<1xi32, #tpu.memory_space<smem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %u = "memref.load"(%s, %0) : (memref<1xi32, #tpu.memory_space<smem>>, index) -> i32
  %r = "scf.while"(%u) ({
  ^bb0(%a: i32):
    %c = "arith.cmpi"(%a, %a) {predicate = 1 : i64} : (i32, i32) -> i1
    "scf.condition"(%c, %a) : (i1, i32) -> ()
  }, {
  ^bb0(%a: i32):
    "scf.yield"(%a) : (i32) -> ()
  }) : (i32) -> i32
  "func.return"(%r) : (i32) -> ()
}) {scratch_operands = 1 : i64, sym_name = "main"} : () -> ()
// -----
// A loop that never ends.
// out of fuel
"func.func"() ({
  %0 = "arith.constant"() {value = 0 : i32} : () -> i32
  %r = "scf.while"(%0) ({
  ^bb0(%a: i32):
    %c = "arith.cmpi"(%a, %a) {predicate = 0 : i64} : (i32, i32) -> i1
    "scf.condition"(%c, %a) : (i1, i32) -> ()
  }, {
  ^bb0(%a: i32):
    "scf.yield"(%a) : (i32) -> ()
  }) : (i32) -> i32
  "func.return"(%r) : (i32) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// A loop that never ends and does nothing.
// out of fuel
"func.func"() ({
  %t = "arith.constant"() {value = true} : () -> i1
  "scf.while"() ({
    "scf.condition"(%t) : (i1) -> ()
  }, {
    "scf.yield"() : () -> ()
  }) : () -> ()
  "func.return"() : () -> ()
}) {sym_name = "main"} : () -> ()
