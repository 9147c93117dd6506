"""Neural networks: activations, normalisation, convolution, pooling, attention, losses."""
