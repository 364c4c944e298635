# ---- the kernel's walk ----------------------------------------------------------------------------------------------------


class Found(Exception):
    """Something that must not happen: its class, what happens, and a piece of the line of the kernel that does it."""


class Scalars:
    """Metadata as the kernel reads it: an index outside the array, and an entry that the batch doesn't own, are noticed."""

    def __init__(self, name, array, owns):
        self.name, self.array, self.owns = name, array, owns

    def read(self, line, *index):
        place = f"{self.name}[{', '.join(map(str, index))}]"
        if not all(0 <= i < extent for i, extent in zip(index, self.array.shape, strict=True)):
            raise Found("out-of-bounds", f"{place} is read, and {self.name} has the shape {self.array.shape}", line)
        value = int(self.array[index])
        if not self.owns(*index):
            raise Found("undefined-use", f"{place} = {value} is used, and the batch doesn't own it", line)
        return value
