"""A builder of LLVM code on vectors of columns, for kernels that LLVM does not vectorise from plain loops."""

from __future__ import annotations

from optree.solvers.kernels.jit.llvm import cgutils, ir

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

    def pointer(self, address, kind=None):
        """Return an address (an integer) as a pointer to numbers of LLVM's type ``kind``."""
        return self.builder.inttoptr(address, (kind or self.kind).as_pointer())

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
        one = self.builder.insert_element(ir.Constant(self.vector, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
        first = ir.Constant(ir.VectorType(ir.IntType(32), self.lanes), [0] * self.lanes)
        return self.builder.shuffle_vector(one, ir.Constant(self.vector, ir.Undefined), first)

    def place(self, pointer, indices):
        """Return the address of a number."""
        total = indices[0]
        for index in indices[1:]:
            total = self.builder.add(total, index)
        return self.builder.gep(pointer, [total])

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

    def call(self, name, *vectors):
        """Call an LLVM intrinsic, lane by lane."""
        kind = ir.FunctionType(self.vector, [self.vector] * len(vectors))
        name = f"llvm.{name}.v{self.lanes}i{self.kind.width}"
        return self.builder.call(cgutils.get_or_insert_function(self.builder.module, kind, name), vectors)

    def extreme(self, variable, value, name="smax"):
        """Replace a variable by the maximum of itself and a vector; by the minimum with "smin"."""
        self.builder.store(self.call(name, self.builder.load(variable), value), variable)

    def range(self, stop, step=1, start=0):
        """Open a loop: a context that yields the index."""
        start, step = (value if isinstance(value, ir.Value) else self.number(value) for value in (start, step))
        return cgutils.for_range_slice(self.builder, start, stop, step, WORD)
