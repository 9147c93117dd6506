"""Neural networks: activations, normalization, convolution, pooling, attention, losses."""
