// Special values exactly, others within two units in the last place.
// expect 0: f32 0.0 -0.0 1.0 -1.0 nan ~0.7615942 ~-0.46211717 1.0 ~1.0e-10
"func.func"() ({
  %a = "arith.constant"() {value = dense<[0.0, -0.0, 0x7F800000, 0xFF800000, 0x7FC00000, 1.0, -0.5, 20.0, 1.0e-10]> : vector<9xf32>} : () -> vector<9xf32>
  %c = "math.tanh"(%a) {fastmath = #arith.fastmath<none>} : (vector<9xf32>) -> vector<9xf32>
  "func.return"(%c) : (vector<9xf32>) -> ()
}) {sym_name = "main"} : () -> ()
