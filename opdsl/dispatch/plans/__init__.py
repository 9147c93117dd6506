"""Plans: how calls are lowered, printed as functions, kept and found again."""
