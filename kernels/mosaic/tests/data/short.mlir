module attributes {stable_mosaic.version = 11 : i64} {
  "stable_mosaic.func.func"() ({
  ^bb0(%arg0: i32):
    %0 = "stable_mosaic.arith.addi"(%arg0, %arg0) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32
    %1 = "stable_mosaic.arith.cmpi"(%0, %arg0) {predicate = 1 : i64} : (i32, i32) -> i1
    "stable_mosaic.scf.if"(%1) ({
      %2 = "stable_mosaic.arith.sitofp"(%0) : (i32) -> f32
      "stable_mosaic.scf.yield"() : () -> ()
    }, {
      %2 = "stable_mosaic.arith.index_cast"(%0) : (i32) -> index
      "stable_mosaic.scf.yield"() : () -> ()
    }) : (i1) -> ()
    "stable_mosaic.func.return"() : () -> ()
  }) {function_type = (i32) -> (), sym_name = "main"} : () -> ()
}
