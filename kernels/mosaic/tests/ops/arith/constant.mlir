// Scalars: decimal, hexadecimal bits, negative, truth values.
// expect 0: i32 -3
// expect 1: f32 -inf
// expect 2: f32 0x3727C5AC
// expect 3: i1 1
// expect 4: bf16 1.5
// expect 5: i32 12
// expect 6: i8 -1
"func.func"() ({
  %a = "arith.constant"() {value = -3 : i32} : () -> i32
  %b = "arith.constant"() {value = 0xFF800000 : f32} : () -> f32
  %c = "arith.constant"() {value = 1.000000e-05 : f32} : () -> f32
  %d = "arith.constant"() {value = true} : () -> i1
  %e = "arith.constant"() {value = 1.5 : bf16} : () -> bf16
  %f = "arith.constant"() {value = 12 : index} : () -> index
  %g = "arith.constant"() {value = 255 : i8} : () -> i8
  "func.return"(%a, %b, %c, %d, %e, %f, %g) : (i32, f32, f32, i1, bf16, index, i8) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// Vectors: one value for all, or each.
// expect 0: f32 0.5*6
// expect 1: i32 1 -2 3 4 5 6
// expect 2: i1 1 0 1
// expect 3: f8e4m3fn 448.0*2
// expect 4: i4 -8 7
"func.func"() ({
  %a = "arith.constant"() {value = dense<5.000000e-01> : vector<2x3xf32>} : () -> vector<2x3xf32>
  %b = "arith.constant"() {value = dense<[[1, -2], [3, 4], [5, 6]]> : vector<3x2xi32>} : () -> vector<3x2xi32>
  %c = "arith.constant"() {value = dense<[true, false, true]> : vector<3xi1>} : () -> vector<3xi1>
  %d = "arith.constant"() {value = dense<0x7E> : vector<2xf8E4M3FN>} : () -> vector<2xf8E4M3FN>
  %e = "arith.constant"() {value = dense<[-8, 7]> : vector<2xi4>} : () -> vector<2xi4>
  "func.return"(%a, %b, %c, %d, %e) : (vector<2x3xf32>, vector<3x2xi32>, vector<3xi1>, vector<2xf8E4M3FN>, vector<2xi4>) -> ()
}) {sym_name = "main"} : () -> ()
