// Between i32 and index the number stays.
// expect 0: i32 -7
// expect 1: i32 2147483647
"func.func"() ({
  %a = "arith.constant"() {value = -7 : i32} : () -> i32
  %b = "arith.index_cast"(%a) : (i32) -> index
  %c = "arith.index_cast"(%b) : (index) -> i32
  %d = "arith.constant"() {value = 2147483647 : index} : () -> index
  %e = "arith.index_cast"(%d) : (index) -> i32
  "func.return"(%c, %e) : (i32, i32) -> ()
}) {sym_name = "main"} : () -> ()
