"""Choose between estimators by labels held out, or by known truths."""
