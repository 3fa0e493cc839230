"""Labels that lie elsewhere than in files: standard input, databases, object stores."""
