"""What several rooms need: what entries say alike, checks, index tensors."""
