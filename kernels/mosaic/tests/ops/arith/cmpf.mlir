// Predicate 1: oeq; +0 equals -0, every ordered comparison with NaN is false.
// expect 0: i1 0 0 1 1 0 0 1 0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1.0, 2.0, 2.0, 0.0, 0x7FC00000, 0x7FC00000, 0x7F800000, 0xFF800000]> : vector<8xf32>} : () -> vector<8xf32>
  %b = "arith.constant"() {value = dense<[2.0, 1.0, 2.0, -0.0, 1.0, 0x7FC00000, 0x7F800000, -1.0]> : vector<8xf32>} : () -> vector<8xf32>
  %c = "arith.cmpf"(%a, %b) {fastmath = #arith.fastmath<none>, predicate = 1 : i64} : (vector<8xf32>, vector<8xf32>) -> vector<8xi1>
  "func.return"(%c) : (vector<8xi1>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Predicate 2: ogt; +0 equals -0, every ordered comparison with NaN is false.
// expect 0: i1 0 1 0 0 0 0 0 0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1.0, 2.0, 2.0, 0.0, 0x7FC00000, 0x7FC00000, 0x7F800000, 0xFF800000]> : vector<8xf32>} : () -> vector<8xf32>
  %b = "arith.constant"() {value = dense<[2.0, 1.0, 2.0, -0.0, 1.0, 0x7FC00000, 0x7F800000, -1.0]> : vector<8xf32>} : () -> vector<8xf32>
  %c = "arith.cmpf"(%a, %b) {fastmath = #arith.fastmath<none>, predicate = 2 : i64} : (vector<8xf32>, vector<8xf32>) -> vector<8xi1>
  "func.return"(%c) : (vector<8xi1>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Predicate 3: oge; +0 equals -0, every ordered comparison with NaN is false.
// expect 0: i1 0 1 1 1 0 0 1 0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1.0, 2.0, 2.0, 0.0, 0x7FC00000, 0x7FC00000, 0x7F800000, 0xFF800000]> : vector<8xf32>} : () -> vector<8xf32>
  %b = "arith.constant"() {value = dense<[2.0, 1.0, 2.0, -0.0, 1.0, 0x7FC00000, 0x7F800000, -1.0]> : vector<8xf32>} : () -> vector<8xf32>
  %c = "arith.cmpf"(%a, %b) {fastmath = #arith.fastmath<none>, predicate = 3 : i64} : (vector<8xf32>, vector<8xf32>) -> vector<8xi1>
  "func.return"(%c) : (vector<8xi1>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Predicate 4: olt; +0 equals -0, every ordered comparison with NaN is false.
// expect 0: i1 1 0 0 0 0 0 0 1
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1.0, 2.0, 2.0, 0.0, 0x7FC00000, 0x7FC00000, 0x7F800000, 0xFF800000]> : vector<8xf32>} : () -> vector<8xf32>
  %b = "arith.constant"() {value = dense<[2.0, 1.0, 2.0, -0.0, 1.0, 0x7FC00000, 0x7F800000, -1.0]> : vector<8xf32>} : () -> vector<8xf32>
  %c = "arith.cmpf"(%a, %b) {fastmath = #arith.fastmath<none>, predicate = 4 : i64} : (vector<8xf32>, vector<8xf32>) -> vector<8xi1>
  "func.return"(%c) : (vector<8xi1>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Predicate 5: ole; +0 equals -0, every ordered comparison with NaN is false.
// expect 0: i1 1 0 1 1 0 0 1 1
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1.0, 2.0, 2.0, 0.0, 0x7FC00000, 0x7FC00000, 0x7F800000, 0xFF800000]> : vector<8xf32>} : () -> vector<8xf32>
  %b = "arith.constant"() {value = dense<[2.0, 1.0, 2.0, -0.0, 1.0, 0x7FC00000, 0x7F800000, -1.0]> : vector<8xf32>} : () -> vector<8xf32>
  %c = "arith.cmpf"(%a, %b) {fastmath = #arith.fastmath<none>, predicate = 5 : i64} : (vector<8xf32>, vector<8xf32>) -> vector<8xi1>
  "func.return"(%c) : (vector<8xi1>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Predicate 6: one; +0 equals -0, every ordered comparison with NaN is false.
// expect 0: i1 1 1 0 0 0 0 0 1
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1.0, 2.0, 2.0, 0.0, 0x7FC00000, 0x7FC00000, 0x7F800000, 0xFF800000]> : vector<8xf32>} : () -> vector<8xf32>
  %b = "arith.constant"() {value = dense<[2.0, 1.0, 2.0, -0.0, 1.0, 0x7FC00000, 0x7F800000, -1.0]> : vector<8xf32>} : () -> vector<8xf32>
  %c = "arith.cmpf"(%a, %b) {fastmath = #arith.fastmath<none>, predicate = 6 : i64} : (vector<8xf32>, vector<8xf32>) -> vector<8xi1>
  "func.return"(%c) : (vector<8xi1>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Predicate 13: une; +0 equals -0, every ordered comparison with NaN is false.
// expect 0: i1 1 1 0 0 1 1 0 1
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1.0, 2.0, 2.0, 0.0, 0x7FC00000, 0x7FC00000, 0x7F800000, 0xFF800000]> : vector<8xf32>} : () -> vector<8xf32>
  %b = "arith.constant"() {value = dense<[2.0, 1.0, 2.0, -0.0, 1.0, 0x7FC00000, 0x7F800000, -1.0]> : vector<8xf32>} : () -> vector<8xf32>
  %c = "arith.cmpf"(%a, %b) {fastmath = #arith.fastmath<none>, predicate = 13 : i64} : (vector<8xf32>, vector<8xf32>) -> vector<8xi1>
  "func.return"(%c) : (vector<8xi1>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// A comparison with an undefined lane.
// expect 0: i1 undef*4
"func.func"() ({
^bb0(%s: memref<4xf32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %u = "vector.load"(%s, %0) : (memref<4xf32, #tpu.memory_space<vmem>>, index) -> vector<4xf32>
  %b = "arith.constant"() {value = dense<[1.0, 0.0, 2.0, 0x7FC00000]> : vector<4xf32>} : () -> vector<4xf32>
  %c = "arith.cmpf"(%u, %b) {fastmath = #arith.fastmath<none>, predicate = 1 : i64} : (vector<4xf32>, vector<4xf32>) -> vector<4xi1>
  "func.return"(%c) : (vector<4xi1>) -> ()
}) {scratch_operands = 1 : i64, sym_name = "main"} : () -> ()
// -----
// A comparison sees denormals where they flush in arithmetic.
// denormals: flushed
// expect 0: i1 1 0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[0x00000001, 0x00000001]> : vector<2xf32>} : () -> vector<2xf32>
  %b = "arith.constant"() {value = dense<[0.0, 0x00000001]> : vector<2xf32>} : () -> vector<2xf32>
  %c = "arith.cmpf"(%a, %b) {fastmath = #arith.fastmath<none>, predicate = 2 : i64} : (vector<2xf32>, vector<2xf32>) -> vector<2xi1>
  "func.return"(%c) : (vector<2xi1>) -> ()
}) {sym_name = "main"} : () -> ()
