// Special values exactly, others within two units in the last place; denormal results are kept.
// expect 0: f32 1.0 1.0 0.0 inf nan ~2.7182817 ~0.36787945 ~4.539993e-5 ~2.723088e38 inf ~3.783506e-44 0.0 ~1.6458115e-38
"func.func"() ({
  %a = "arith.constant"() {value = dense<[0.0, -0.0, 0xFF800000, 0x7F800000, 0x7FC00000, 1.0, -1.0, -10.0, 88.5, 89.0, -100.0, -104.0, -87.0]> : vector<13xf32>} : () -> vector<13xf32>
  %c = "math.exp"(%a) {fastmath = #arith.fastmath<none>} : (vector<13xf32>) -> vector<13xf32>
  "func.return"(%c) : (vector<13xf32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Of undefined lanes.
// expect 0: f32 undef*2
"func.func"() ({
^bb0(%s: memref<2xf32, #tpu.memory_space<vmem>>):
  %0 = "arith.constant"() {value = 0 : index} : () -> index
  %u = "vector.load"(%s, %0) : (memref<2xf32, #tpu.memory_space<vmem>>, index) -> vector<2xf32>
  %c = "math.exp"(%u) {fastmath = #arith.fastmath<none>} : (vector<2xf32>) -> vector<2xf32>
  "func.return"(%c) : (vector<2xf32>) -> ()
}) {scratch_operands = 1 : i64, sym_name = "main"} : () -> ()
