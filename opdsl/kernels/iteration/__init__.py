"""From operands to one loop nest: dtypes, broadcast shapes, strides, coalesced dimensions."""
