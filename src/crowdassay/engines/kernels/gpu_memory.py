"""Loads of several floats at once from a GPU's memory, which numba does not offer."""

from __future__ import annotations

from typing import Any

from numba import config

if config.ENABLE_CUDASIM:

    def load2(array: Any, index: Any) -> Any:
        """Return two neighbouring floats."""
        return array[index], array[index + 1]

    def load4(array: Any, index: Any) -> Any:
        """Return four neighbouring floats."""
        return array[index], array[index + 1], array[index + 2], array[index + 3]

else:
    from llvmlite import ir
    from numba import types
    from numba.cuda.extending import intrinsic

    def _loader(count: int) -> Any:
        def load(typingctx: Any, array: Any, index: Any) -> Any:
            """Return neighbouring floats, read at once; ``index`` must be a multiple of their number."""

            def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                struct = context.make_array(signature.args[0])(context, builder, arguments[0])
                vector = ir.VectorType(ir.FloatType(), count)
                pointer = builder.bitcast(builder.gep(struct.data, [arguments[1]]), vector.as_pointer())
                several = builder.load(pointer)
                several.align = 4 * count
                parts = [builder.extract_element(several, ir.Constant(ir.IntType(32), n)) for n in range(count)]
                return context.make_tuple(builder, signature.return_type, parts)

            return types.UniTuple(types.float32, count)(array, types.int64), codegen

        loader = intrinsic(load)
        # Its name in pickles, random otherwise, is part of the key under which compiled kernels are found again on disk.
        if hasattr(loader, "_set_uuid"):
            loader._set_uuid(f"crowdassay load {count}")
        return loader

    load2, load4 = _loader(2), _loader(4)
