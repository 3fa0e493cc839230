"""The family of models: the equation, its structures and penalties, and the constants of the default."""
