// Predicate 0: eq.
// expect 0: i1 0 0 1 0 0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1, 2, 2, -1, -2147483648]> : vector<5xi32>} : () -> vector<5xi32>
  %b = "arith.constant"() {value = dense<[2, 1, 2, 1, 2147483647]> : vector<5xi32>} : () -> vector<5xi32>
  %c = "arith.cmpi"(%a, %b) {predicate = 0 : i64} : (vector<5xi32>, vector<5xi32>) -> vector<5xi1>
  "func.return"(%c) : (vector<5xi1>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Predicate 1: ne.
// expect 0: i1 1 1 0 1 1
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1, 2, 2, -1, -2147483648]> : vector<5xi32>} : () -> vector<5xi32>
  %b = "arith.constant"() {value = dense<[2, 1, 2, 1, 2147483647]> : vector<5xi32>} : () -> vector<5xi32>
  %c = "arith.cmpi"(%a, %b) {predicate = 1 : i64} : (vector<5xi32>, vector<5xi32>) -> vector<5xi1>
  "func.return"(%c) : (vector<5xi1>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Predicate 2: slt.
// expect 0: i1 1 0 0 1 1
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1, 2, 2, -1, -2147483648]> : vector<5xi32>} : () -> vector<5xi32>
  %b = "arith.constant"() {value = dense<[2, 1, 2, 1, 2147483647]> : vector<5xi32>} : () -> vector<5xi32>
  %c = "arith.cmpi"(%a, %b) {predicate = 2 : i64} : (vector<5xi32>, vector<5xi32>) -> vector<5xi1>
  "func.return"(%c) : (vector<5xi1>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Predicate 3: sle.
// expect 0: i1 1 0 1 1 1
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1, 2, 2, -1, -2147483648]> : vector<5xi32>} : () -> vector<5xi32>
  %b = "arith.constant"() {value = dense<[2, 1, 2, 1, 2147483647]> : vector<5xi32>} : () -> vector<5xi32>
  %c = "arith.cmpi"(%a, %b) {predicate = 3 : i64} : (vector<5xi32>, vector<5xi32>) -> vector<5xi1>
  "func.return"(%c) : (vector<5xi1>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Predicate 4: sgt.
// expect 0: i1 0 1 0 0 0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1, 2, 2, -1, -2147483648]> : vector<5xi32>} : () -> vector<5xi32>
  %b = "arith.constant"() {value = dense<[2, 1, 2, 1, 2147483647]> : vector<5xi32>} : () -> vector<5xi32>
  %c = "arith.cmpi"(%a, %b) {predicate = 4 : i64} : (vector<5xi32>, vector<5xi32>) -> vector<5xi1>
  "func.return"(%c) : (vector<5xi1>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Predicate 5: sge.
// expect 0: i1 0 1 1 0 0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1, 2, 2, -1, -2147483648]> : vector<5xi32>} : () -> vector<5xi32>
  %b = "arith.constant"() {value = dense<[2, 1, 2, 1, 2147483647]> : vector<5xi32>} : () -> vector<5xi32>
  %c = "arith.cmpi"(%a, %b) {predicate = 5 : i64} : (vector<5xi32>, vector<5xi32>) -> vector<5xi1>
  "func.return"(%c) : (vector<5xi1>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Predicate 6: ult.
// expect 0: i1 1 0 0 0 0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1, 2, 2, -1, -2147483648]> : vector<5xi32>} : () -> vector<5xi32>
  %b = "arith.constant"() {value = dense<[2, 1, 2, 1, 2147483647]> : vector<5xi32>} : () -> vector<5xi32>
  %c = "arith.cmpi"(%a, %b) {predicate = 6 : i64} : (vector<5xi32>, vector<5xi32>) -> vector<5xi1>
  "func.return"(%c) : (vector<5xi1>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Predicate 7: ule.
// expect 0: i1 1 0 1 0 0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1, 2, 2, -1, -2147483648]> : vector<5xi32>} : () -> vector<5xi32>
  %b = "arith.constant"() {value = dense<[2, 1, 2, 1, 2147483647]> : vector<5xi32>} : () -> vector<5xi32>
  %c = "arith.cmpi"(%a, %b) {predicate = 7 : i64} : (vector<5xi32>, vector<5xi32>) -> vector<5xi1>
  "func.return"(%c) : (vector<5xi1>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Predicate 8: ugt.
// expect 0: i1 0 1 0 1 1
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1, 2, 2, -1, -2147483648]> : vector<5xi32>} : () -> vector<5xi32>
  %b = "arith.constant"() {value = dense<[2, 1, 2, 1, 2147483647]> : vector<5xi32>} : () -> vector<5xi32>
  %c = "arith.cmpi"(%a, %b) {predicate = 8 : i64} : (vector<5xi32>, vector<5xi32>) -> vector<5xi1>
  "func.return"(%c) : (vector<5xi1>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Predicate 9: uge.
// expect 0: i1 0 1 1 1 1
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1, 2, 2, -1, -2147483648]> : vector<5xi32>} : () -> vector<5xi32>
  %b = "arith.constant"() {value = dense<[2, 1, 2, 1, 2147483647]> : vector<5xi32>} : () -> vector<5xi32>
  %c = "arith.cmpi"(%a, %b) {predicate = 9 : i64} : (vector<5xi32>, vector<5xi32>) -> vector<5xi1>
  "func.return"(%c) : (vector<5xi1>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// ult in 8 bits: -128 is 128.
// expect 0: i1 0 0 1
"func.func"() ({
  %a = "arith.constant"() {value = dense<[-128, -1, 127]> : vector<3xi8>} : () -> vector<3xi8>
  %b = "arith.constant"() {value = dense<[127, 1, -128]> : vector<3xi8>} : () -> vector<3xi8>
  %c = "arith.cmpi"(%a, %b) {predicate = 6 : i64} : (vector<3xi8>, vector<3xi8>) -> vector<3xi1>
  "func.return"(%c) : (vector<3xi1>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// slt of masks: as a signed number true is -1.
// expect 0: i1 0 1 0 0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[true, true, false, false]> : vector<4xi1>} : () -> vector<4xi1>
  %b = "arith.constant"() {value = dense<[true, false, true, false]> : vector<4xi1>} : () -> vector<4xi1>
  %c = "arith.cmpi"(%a, %b) {predicate = 2 : i64} : (vector<4xi1>, vector<4xi1>) -> vector<4xi1>
  "func.return"(%c) : (vector<4xi1>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// ne of masks.
// expect 0: i1 0 1 1 0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[true, true, false, false]> : vector<4xi1>} : () -> vector<4xi1>
  %b = "arith.constant"() {value = dense<[true, false, true, false]> : vector<4xi1>} : () -> vector<4xi1>
  %c = "arith.cmpi"(%a, %b) {predicate = 1 : i64} : (vector<4xi1>, vector<4xi1>) -> vector<4xi1>
  "func.return"(%c) : (vector<4xi1>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// With an undefined lane.
// expect 0: i1 undef*4
"func.func"() ({
^bb0(%s: memref<4xi32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %u = "vector.load"(%s, %0) : (memref<4xi32, #tpu.memory_space<vmem>>, index) -> vector<4xi32>
  %b = "arith.constant"() {value = dense<[0, 1, 2, 3]> : vector<4xi32>} : () -> vector<4xi32>
  %c = "arith.cmpi"(%u, %b) {predicate = 0 : i64} : (vector<4xi32>, vector<4xi32>) -> vector<4xi1>
  "func.return"(%c) : (vector<4xi1>) -> ()
}) {scratch_operands = 1 : i64, sym_name = "main"} : () -> ()
