// Does nothing.
// expect 0: i32 1
"func.func"() ({
  %a = "arith.constant"() {value = 1 : i32} : () -> i32
  "tpu.trace_stop"() : () -> ()
  "func.return"(%a) : (i32) -> ()
}) {sym_name = "main"} : () -> ()
