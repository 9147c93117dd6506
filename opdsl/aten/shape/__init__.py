"""Views, copies of views, and tensors put together."""
