// Every form of the grammar once, in the generic form that the exporter prints with locations.
#loc = loc(unknown)
#mask = dense<[true, false, true]> : vector<3xi1>
!row = vector<4x128xf32>
#loc5 = loc("/kernel.py":30:4 to 32:7)
#loc6 = loc("kernel.<locals>.body"(#loc5))
"builtin.module"() ({
  "stable_mosaic.func.func"() ({
  ^bb0(%arg0: i32 loc(unknown), %arg1: memref<8x?xf32, #tpu.memory_space<vmem>> loc("x"(#loc6)), %arg2: memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, %arg3: memref<32x16x8x128xbf16, #tpu.memory_space<any>>, %arg4: memref<4xi32, #tpu.memory_space<smem>>, %arg5: memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, %arg6: memref<f32>, %arg7: memref<4xf64, #tpu.memory_space<hbm>>):
    %0 = "stable_mosaic.arith.constant"() {value = -3 : i32} : () -> i32 loc(#loc12)
    %1 = "stable_mosaic.arith.constant"() {value = 0xFF800000 : f32} : () -> f32 loc(#loc13)
    %2:3 = "stable_mosaic.scf.while"(%0, %0, %1) ({
    ^bb0(%arg8: i32, %arg9: i32, %arg10: f32):
      %3 = "stable_mosaic.arith.cmpi"(%arg8, %arg9) {predicate = 2 : i64} : (i32, i32) -> i1 loc(#loc17)
      "stable_mosaic.scf.condition"(%3, %arg8, %arg9, %arg10) : (i1, i32, i32, f32) -> ()
    }, {
    ^bb0(%arg8: i32, %arg9: i32, %arg10: f32):
      %3 = "stable_mosaic.arith.addi"(%arg8, %0) {overflowFlags = #arith.overflow<none>} : (i32, i32) -> i32 loc(#loc20)
      "stable_mosaic.scf.yield"(%3, %arg9, %arg10) : (i32, i32, f32) -> ()
    }) : (i32, i32, f32) -> (i32, i32, f32) loc("while:"(#loc6))
    %3, %4 = "test.two"(%2#2, %2) <{kept = 1 : i32}> ({
    }, {
    }) {other} : (f32, i32) -> (index, !row) loc(fused<"why">[unknown, #loc13])
    %5 = "test.opaque"(%4) : (vector<4x128xf32>) -> !llvm.ptr<1> loc(callsite(#loc6 at callsite(#loc13 at "top"("/main.py":1:1))))
    "test.attributes"() {
      unit, also = unit, yes = true, no = false, mask = #mask, "a key" = "quote \22 slash \\ line\n\09 ü",
      ints = [1, -2 : i8, 0x7F : i8, 255 : i8, 3 : index, -9223372036854775808], nothing = array<i64>, array = array<i32: -1, 2>,
      floats = [1.5 : bf16, 0x7F : f8E4M3FN, -0.0 : f16, 1.000000e-05 : f32, 2.0, 1 : f32, 0x7FC00001 : f32],
      symbol = @transform_0, quoted = @"with space", inner = @outer::@inner, dict = {transform_indices = @t, empty = {}},
      type = (i32, vector<4xi4>) -> (tensor<2x3xf8E5M2>, f64), single = () -> i16, none = () -> (),
      splat = dense<0.000000e+00> : vector<4x1x128xf32>, bits = dense<0xFF800000> : vector<2xf32>,
      dense = dense<[[1, -2, 3], [4, 5, 6]]> : tensor<2x3xi32>, wide = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>,
      bytes = dense<"0x000080BF0000C07F"> : tensor<2xf32>, hollow = dense<> : tensor<0x2xi32>, scalar = dense<7> : tensor<i8>,
      numbers = #tpu.dot_dimension_numbers<[1], [1], [0], [0], [0, 0, 1, 0], [], []>, kind = #vector.kind<maximumf>,
      map = affine_map<(d0, d1) -> (d1, d0)>, arrow = #test.fn<"a > b" -> (c)>, bare = #tpu.core
    } : () -> () loc(#loc21)
    "stable_mosaic.func.return"() : () -> () loc(#loc)
  }) {function_type = (i32) -> (), sym_name = "main"} : () -> () loc(#loc)
}) {stable_mosaic.version = 11 : i64} : () -> () loc(#loc)
#loc10 = loc("/kernel.py":7:1)
#loc11 = loc("helper"(#loc10))
#loc12 = loc("add:"(#loc14))
#loc13 = loc("outer"("/kernel.py":321:13 to :28))
#loc14 = loc("mask/add"(#loc15))
#loc15 = loc(callsite(#loc11 at #loc6))
#loc16 = loc("lt"("/kernel.py":9:9))
#loc17 = loc("lt:"(#loc16))
#loc18 = loc("outer"("/kernel.py":330:1))
#loc19 = loc(callsite(#loc11 at #loc18))
#loc20 = loc(callsite(#loc19 at #loc13))
#loc21 = loc(callsite(#loc15 at #loc13))
