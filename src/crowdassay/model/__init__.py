"""The family of models: structures, penalties, simulation."""
