"""A builder of LLVM code on vectors of columns, for kernels that LLVM does not vectorise from plain loops."""

from __future__ import annotations

from functools import reduce

from optree.solvers.kernels.jit.llvm import cgutils, ir
from optree.solvers.kernels.simd import call, spread

WORD = ir.IntType(64)


class VectorCode:
    """A builder of instructions on vectors of ``lanes`` whole numbers of numba's type ``kind``.

    An address is a sum of indices into an array of ``kind``. A variable is a vector on the LLVM stack, which LLVM keeps
    in a register.
    """

    def __init__(self, builder, kind, lanes):
        self.builder, self.lanes = builder, lanes
        self.kind = ir.IntType(kind.bitwidth)
        self.vector = ir.VectorType(self.kind, lanes)

    def arrays(self, context, kinds, arrays):
        """Return pointers to the numbers of arrays of some of numba's types."""
        return [
            context.make_array(kind)(context, self.builder, array).data
            for kind, array in zip(kinds, arrays, strict=True)
        ]

    def number(self, value):
        """Return a constant of 64 bits."""
        return ir.Constant(WORD, value)

    def constant(self, value):
        """Return a constant in all lanes."""
        return ir.Constant(self.vector, [value] * self.lanes)

    def variable(self, value=0):
        """Return a variable that starts with a constant in all lanes."""
        return cgutils.alloca_once_value(self.builder, self.constant(value))

    def splat(self, value):
        """Return a number in all lanes."""
        return spread(self.builder, value, self.vector)

    def place(self, pointer, indices):
        """Return the address of a number."""
        return self.builder.gep(pointer, [reduce(self.builder.add, indices)])

    def load(self, pointer, *indices):
        """Load a vector."""
        at = self.builder.bitcast(self.place(pointer, indices), self.vector.as_pointer())
        return self.builder.load(at, align=2)

    def load_splat(self, pointer, *indices):
        """Load a number into all lanes."""
        return self.splat(self.builder.load(self.place(pointer, indices)))

    def store(self, value, pointer, *indices):
        """Store a vector."""
        at = self.builder.bitcast(self.place(pointer, indices), self.vector.as_pointer())
        self.builder.store(value, at, align=2)

    def x86(self, context, name, result, *args):
        """Call an instruction of AVX-512, named with its bits; return None if the processor does not have it."""
        if not {"+avx512f", "+avx512vl"} <= set(context.codegen().magic_tuple()[2].split(",")):
            return None
        kind, name = ir.FunctionType(result, [arg.type for arg in args]), f"llvm.x86.avx512.{name}"
        return self.builder.call(cgutils.get_or_insert_function(self.builder.module, kind, name), args)

    def call(self, name, *vectors):
        """Call an LLVM intrinsic, lane by lane."""
        return call(self.builder, name, self.vector, *vectors)

    def extreme(self, variable, value, name="smax"):
        """Replace a variable by the maximum of itself and a vector; by the minimum with "smin"."""
        self.builder.store(self.call(name, self.builder.load(variable), value), variable)

    def range(self, stop, step=1, start=0):
        """Open a loop: a context that yields the index."""
        start, step = (value if isinstance(value, ir.Value) else self.number(value) for value in (start, step))
        return cgutils.for_range_slice(self.builder, start, stop, step, WORD)
