"""Values that change their shape: broadcasts, reshapes, concatenations, counting, reductions, products."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from countersign_export import arrays

from micro.micro import Micro, Operand, Part, generator, parts, read
from micro.values import FLOATS, INTEGERS, mixed, plain


def kernels(seed: int) -> Iterator[Micro]:
    """All of them."""
    for dtype in FLOATS + INTEGERS:
        yield shapes(seed, dtype)
        yield counting(seed, dtype)
        yield from reductions(seed, dtype)
    for left in FLOATS + INTEGERS:
        yield from products(seed, left)


def extents(seed: int, name: str) -> tuple[int, int]:
    """Rows and lanes."""
    stream = generator(seed, f"extents of {name}")
    return 2 * int(stream.integers(1, 9)), int(stream.choice([100, 128, 256]))


def shapes(seed: int, dtype: str) -> Micro:
    """Broadcasts, reshapes, concatenations."""
    m, n = extents(seed, f"shapes-{dtype}")
    more = int(generator(seed, f"shapes-{dtype}").integers(1, 9))
    operands = [Operand(dtype, shape, mixed(dtype)) for shape in ((m, n), (1, n), (m, 1), (more, n), (m, 128 * more))]
    outputs: list[Part] = [
        (read(lambda _x, row, *_: jnp.broadcast_to(row, (m, n))), dtype, (m, n)),
        (read(lambda _x, _r, column, *_: jnp.broadcast_to(column, (m, n))), dtype, (m, n)),
        (read(lambda x, *_: x[None, :, :]), dtype, (1, m, n)),
        (read(lambda x, *_: x.reshape(m // 2, 2 * n)), dtype, (m // 2, 2 * n)),
        (read(lambda x, _r, _c, below, _: jnp.concatenate([x, below], 0)), dtype, (m + more, n)),
        (read(lambda x, _r, _c, _b, beside: jnp.concatenate([x, beside, x], 1)), dtype, (m, 2 * n + 128 * more)),
    ]
    return parts(f"shapes-{dtype}", operands, outputs)


def counting(seed: int, dtype: str) -> Micro:
    """Something plus the index along either dimension."""
    m, n = extents(seed, f"iota-{dtype}")

    def counted(axis: int) -> Part:
        return lambda x: x[...] + lax.broadcasted_iota(arrays.dtype_of(dtype), (m, n), axis), dtype, (m, n)

    refused = "'tpu.iota' op result #0 must be vector of integer or index values" if dtype in FLOATS else None
    return parts(f"iota-{dtype}", [Operand(dtype, (1, 1), plain(dtype))], [counted(0), counted(1)], refused=refused)


def reductions(seed: int, dtype: str) -> Iterator[Micro]:
    """Sums and maxima over either dimension."""
    stream = generator(seed, f"reductions-{dtype}")
    m, n = int(stream.integers(2, 17)), int(stream.choice([100, 128, 256, 384]))
    for name, function in (("sum", jnp.sum), ("max", jnp.max)):
        values = plain(dtype) if name == "sum" else mixed(dtype)
        for axis, shape in ((0, (1, n)), (1, (m, 1))):
            taken = axis == 1 and dtype in (("f32", "bf16", "f16") if name == "sum" else ("f32",))
            refused = None
            if dtype in ("i16", "i8", "i4") and name == "max":
                refused = "Reductions over int"
            elif dtype == "i4":
                refused = "Invalid integer data type"
            yield parts(
                f"{name}-{axis}-{dtype}",
                [Operand(dtype, (m, n), values)],
                [(lambda x, function=function, axis=axis: function(x[...], axis=axis, keepdims=True), dtype, shape)],
                refused=refused,
                unsupported=None if taken or refused else "vector.multi_reduction",
            )


def products(seed: int, left: str) -> Iterator[Micro]:
    """A·B and A·Bᵀ with B of every type."""
    stream = generator(seed, f"products-{left}")
    m, k, n = (int(stream.choice(choices)) for choices in ([8, 16, 24], [128, 256], [128, 256]))

    def product(right: str, contracted: int, **options: Any) -> Part:
        to = "i32" if left in INTEGERS and right in INTEGERS else "f32"
        dimensions = (((1,), (contracted,)), ((), ()))

        def dot(x: Any, y: Any) -> jax.Array:
            return lax.dot_general(x[...], y[...], dimensions, preferred_element_type=arrays.dtype_of(to), **options)

        return dot, to, (m, n)

    x = Operand(left, (m, k), plain(left))
    taken = [right for right in FLOATS + INTEGERS if "i32" not in (left, right) and (left in FLOATS or right in FLOATS)]
    if taken:
        operands = [x] + [Operand(right, shape, plain(right)) for right in taken for shape in ((k, n), (n, k))]
        outputs: list[Part] = []
        for index, (right, contracted) in enumerate((right, contracted) for right in taken for contracted in (0, 1)):
            dot, to, shape = product(right, contracted)
            outputs.append((lambda *refs, dot=dot, index=index: dot(refs[0], refs[1 + index]), to, shape))
        yield parts(f"products-{left}", operands, outputs)
    for right in FLOATS + INTEGERS:
        if right not in taken:
            yield parts(
                f"product-{left}-{right}",
                [x, Operand(right, (k, n), plain(right))],
                [product(right, 0)],
                unsupported="tpu.matmul",
            )
    if left == "f32":
        highest = product("f32", 0, precision=lax.Precision.HIGHEST)
        yield parts("product-highest-f32", [x, Operand("f32", (k, n), plain("f32"))], [highest])
