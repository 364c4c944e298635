// Rounded to nearest even.
// expect 0: f32 -5.0 16777216.0 16777220.0 2147483648.0 -2147483648.0 0.0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[-5, 16777217, 16777219, 2147483647, -2147483648, 0]> : vector<6xi32>} : () -> vector<6xi32>
  %c = "arith.sitofp"(%a) : (vector<6xi32>) -> vector<6xf32>
  "func.return"(%c) : (vector<6xf32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// From 8 bits.
// expect 0: f32 -128.0 127.0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[-128, 127]> : vector<2xi8>} : () -> vector<2xi8>
  %c = "arith.sitofp"(%a) : (vector<2xi8>) -> vector<2xf32>
  "func.return"(%c) : (vector<2xf32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// From 4 bits.
// expect 0: f32 -8.0 7.0
"func.func"() ({
  %a = "arith.constant"() {value = dense<[-8, 7]> : vector<2xi4>} : () -> vector<2xi4>
  %c = "arith.sitofp"(%a) : (vector<2xi4>) -> vector<2xf32>
  "func.return"(%c) : (vector<2xf32>) -> ()
}) {sym_name = "main"} : () -> ()
// -----
// To bf16: through f32 it would be rounded twice, so it is refused until a kernel needs it.
// refused: conversion i32 to bf16
"func.func"() ({
  %a = "arith.constant"() {value = dense<[257, 259, -1]> : vector<3xi32>} : () -> vector<3xi32>
  %c = "arith.sitofp"(%a) : (vector<3xi32>) -> vector<3xbf16>
  "func.return"(%c) : (vector<3xbf16>) -> ()
}) {sym_name = "main"} : () -> ()
