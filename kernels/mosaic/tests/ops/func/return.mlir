// Returns values in order, none too.
// expect 0: i32 1
// expect 1: f32 2.0
// expect 2: i32 1
"func.func"() ({
  %a = "arith.constant"() {value = 1 : i32} : () -> i32
  %b = "arith.constant"() {value = 2.0 : f32} : () -> f32
  "func.return"(%a, %b, %a) : (i32, f32, i32) -> ()
}) {sym_name = "main"} : () -> ()
