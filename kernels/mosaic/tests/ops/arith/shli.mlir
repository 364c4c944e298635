// Low bits come in as zeros, high bits go.
// expect 0: i32 1 -2147483648 -16 -2147483648 40
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1, 1, -1, 1073741824, 5]> : vector<5xi32>} : () -> vector<5xi32>
  %b = "arith.constant"() {value = dense<[0, 31, 4, 1, 3]> : vector<5xi32>} : () -> vector<5xi32>
  %c = "arith.shli"(%a, %b) {overflowFlags = #arith.overflow<none>} : (vector<5xi32>, vector<5xi32>) -> vector<5xi32>
  "func.return"(%c) : (vector<5xi32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// In 8 bits.
// expect 0: i8 -128 -16 -126
"func.func"() ({
  %a = "arith.constant"() {value = dense<[1, -1, 65]> : vector<3xi8>} : () -> vector<3xi8>
  %b = "arith.constant"() {value = dense<[7, 4, 1]> : vector<3xi8>} : () -> vector<3xi8>
  %c = "arith.shli"(%a, %b) {overflowFlags = #arith.overflow<none>} : (vector<3xi8>, vector<3xi8>) -> vector<3xi8>
  "func.return"(%c) : (vector<3xi8>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Undefined bits move up.
// expect 0: i32 undef*4
"func.func"() ({
^bb0(%s: memref<4xi32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %u = "vector.load"(%s, %0) : (memref<4xi32, #tpu.memory_space<vmem>>, index) -> vector<4xi32>
  %b = "arith.constant"() {value = dense<[0, 16, 31, 4]> : vector<4xi32>} : () -> vector<4xi32>
  %c = "arith.shli"(%u, %b) {overflowFlags = #arith.overflow<none>} : (vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  "func.return"(%c) : (vector<4xi32>) -> ()
}) {scratch_operands = 1 : i64, sym_name = "main"} : () -> ()
// -----
// Undefined bits that are shifted out leave a defined word.
// operand: i16 2x1 = 5 undef
// expect 0: i32 327680
"func.func"() ({
^bb0(%m: memref<2x1xi16, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %w = "tpu.memref_bitcast"(%m) : (memref<2x1xi16, #tpu.memory_space<vmem>>) -> memref<1x1xi32, #tpu.memory_space<vmem>>
  %v = "vector.load"(%w, %0, %0) : (memref<1x1xi32, #tpu.memory_space<vmem>>, index, index) -> vector<1x1xi32>
  %n = "arith.constant"() {value = dense<16> : vector<1x1xi32>} : () -> vector<1x1xi32>
  %a = "arith.shli"(%v, %n) {overflowFlags = #arith.overflow<none>} : (vector<1x1xi32>, vector<1x1xi32>) -> vector<1x1xi32>
  "func.return"(%a) : (vector<1x1xi32>) -> ()
}) {window_params = [{}], sym_name = "main"} : () -> ()
