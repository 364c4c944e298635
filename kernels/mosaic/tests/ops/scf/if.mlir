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
// -----
// Branches within branches: each side yields through all of them.
// expect 0: i32 1
// expect 1: i32 2
// expect 2: i32 3
"func.func"() ({
  %t = "arith.constant"() {value = true} : () -> i1
  %f = "arith.constant"() {value = false} : () -> i1
  %1 = "arith.constant"() {value = 1 : i32} : () -> i32
  %a = "scf.if"(%t) ({
    %0 = "scf.if"(%t) ({
      "scf.yield"(%1) : (i32) -> ()
    }, {
      %2 = "arith.constant"() {value = 2 : i32} : () -> i32
      "scf.yield"(%2) : (i32) -> ()
    }) : (i1) -> i32
    "scf.yield"(%0) : (i32) -> ()
  }, {
    %3 = "arith.constant"() {value = 3 : i32} : () -> i32
    "scf.yield"(%3) : (i32) -> ()
  }) : (i1) -> i32
  %b = "scf.if"(%t) ({
    %0 = "scf.if"(%f) ({
      "scf.yield"(%1) : (i32) -> ()
    }, {
      %2 = "arith.constant"() {value = 2 : i32} : () -> i32
      "scf.yield"(%2) : (i32) -> ()
    }) : (i1) -> i32
    "scf.yield"(%0) : (i32) -> ()
  }, {
    %3 = "arith.constant"() {value = 3 : i32} : () -> i32
    "scf.yield"(%3) : (i32) -> ()
  }) : (i1) -> i32
  %c = "scf.if"(%f) ({
    %0 = "scf.if"(%t) ({
      "scf.yield"(%1) : (i32) -> ()
    }, {
      %2 = "arith.constant"() {value = 2 : i32} : () -> i32
      "scf.yield"(%2) : (i32) -> ()
    }) : (i1) -> i32
    "scf.yield"(%0) : (i32) -> ()
  }, {
    %3 = "arith.constant"() {value = 3 : i32} : () -> i32
    "scf.yield"(%3) : (i32) -> ()
  }) : (i1) -> i32
  "func.return"(%a, %b, %c) : (i32, i32, i32) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// The same in a loop that runs two turns in each of three: what the branches yield is carried on, and an inner one without results stores.
// The number 10 i + j is added where i is 1, twice where j is 1 too; the place is stored where both are 1.
// expect 0: i32 32
// expect 1: i32 11
"func.func"() ({
^bb0(%s: memref<1xi32, #tpu.memory_space<smem>>):
  %at = "arith.constant"() {value = 0 : index} : () -> index
  %0 = "arith.constant"() {value = 0 : i32} : () -> i32
  %1 = "arith.constant"() {value = 1 : i32} : () -> i32
  %2 = "arith.constant"() {value = 2 : i32} : () -> i32
  %3 = "arith.constant"() {value = 3 : i32} : () -> i32
  %10 = "arith.constant"() {value = 10 : i32} : () -> i32
  %r:2 = "scf.while"(%0, %0) ({
  ^bb0(%i: i32, %sum: i32):
    %go = "arith.cmpi"(%i, %3) {predicate = 2 : i64} : (i32, i32) -> i1
    "scf.condition"(%go, %i, %sum) : (i1, i32, i32) -> ()
  }, {
  ^bb0(%i: i32, %sum: i32):
    %tens = "arith.muli"(%i, %10) : (i32, i32) -> i32
    %inner = "scf.for"(%0, %2, %1, %sum) ({
    ^bb0(%j: i32, %so: i32):
      %place = "arith.addi"(%tens, %j) : (i32, i32) -> i32
      %i1 = "arith.cmpi"(%i, %1) {predicate = 0 : i64} : (i32, i32) -> i1
      %j1 = "arith.cmpi"(%j, %1) {predicate = 0 : i64} : (i32, i32) -> i1
      %add = "scf.if"(%i1) ({
        %more = "scf.if"(%j1) ({
          "scf.if"(%i1) ({
            "memref.store"(%place, %s, %at) : (i32, memref<1xi32, #tpu.memory_space<smem>>, index) -> ()
            "scf.yield"() : () -> ()
          }, {
          }) : (i1) -> ()
          %twice = "arith.addi"(%place, %place) : (i32, i32) -> i32
          "scf.yield"(%twice) : (i32) -> ()
        }, {
          "scf.yield"(%place) : (i32) -> ()
        }) : (i1) -> i32
        "scf.yield"(%more) : (i32) -> ()
      }, {
        "scf.yield"(%0) : (i32) -> ()
      }) : (i1) -> i32
      %next = "arith.addi"(%so, %add) : (i32, i32) -> i32
      "scf.yield"(%next) : (i32) -> ()
    }) : (i32, i32, i32, i32) -> i32
    %n = "arith.addi"(%i, %1) : (i32, i32) -> i32
    "scf.yield"(%n, %inner) : (i32, i32) -> ()
  }) : (i32, i32) -> (i32, i32)
  %stored = "memref.load"(%s, %at) : (memref<1xi32, #tpu.memory_space<smem>>, index) -> i32
  "func.return"(%r#1, %stored) : (i32, i32) -> ()
}) {scratch_operands = 1 : i64, sym_name = "main"} : () -> ()
