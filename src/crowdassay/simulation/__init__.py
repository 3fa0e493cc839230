"""Labels drawn at random from known workers and items."""
