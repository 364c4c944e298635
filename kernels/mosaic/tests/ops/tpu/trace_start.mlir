// Does nothing.
// expect 0: i32 1
"func.func"() ({
  %a = "arith.constant"() {value = 1 : i32} : () -> i32
  "tpu.trace_start"() {level = 10 : i32, message = "nd,md->nm"} : () -> ()
  "func.return"(%a) : (i32) -> ()
}) {sym_name = "main"} : () -> ()
