"""Plan caches: lowering a call to a plan, emitting the plan as Python source, and storing and looking up plans."""
